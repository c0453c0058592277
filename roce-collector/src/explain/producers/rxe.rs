//! Soft-RoCE in the kernel's log.

use super::Found;
use crate::explain::event::Event;
use crate::explain::record::{ErrorRecord, Producer};
use crate::explain::status::WcStatus;
use crate::explain::text::{address, after, decimal, decimal_after, word};

pub(super) fn parse(message: &str) -> Option<Found> {
    let mut record = ErrorRecord::new(Producer::Rxe);
    if let Some(peer) = after(message, "bad ICRC from ") {
        record.peer.ip = address(word(peer).trim_matches(['[', ']']));
        record.event = Some(Event::icrc_error());
        return Some(Found::whole(record));
    }
    let rest = after(message, "qp#")?;
    record.local.qp = Some(decimal(rest)? as u32);
    if rest.contains("moved to error state") {
        // `rdma_rxe: qp#17 moved to error state`
        record.event = Some(Event::qp_error());
    } else {
        // `qp#17 rxe_completer: non-flush error status = 12`
        record.status = WcStatus::new(decimal_after(rest, "non-flush error status = ")?);
        record.status?;
    }
    Some(Found::whole(record))
}
