//! Lustre's o2iblnd.

use super::Found;
use crate::explain::event::Event;
use crate::explain::record::{ErrorRecord, Producer};
use crate::explain::status::WcStatus;
use crate::explain::text::{address, after, decimal_after};

pub(super) fn parse(message: &str) -> Option<Found> {
    let (_, rest) = message.split_once("LNet")?;
    let mut record = ErrorRecord::new(Producer::Lustre);
    if let Some(peer) = after(rest, "Timed out RDMA with ") {
        // The number behind the peer is seconds, not a status.
        record.peer.ip = nid(peer);
        record.event = Some(Event::lnet_timeout());
        return Some(Found::whole(record));
    }
    // `Tx -> 10.0.0.12@o2ib cookie 0x1 sending 1 waiting 0: failed 12`, `Rx from 10.0.0.12@o2ib failed: 5`
    let peer = after(rest, "Tx -> ").or_else(|| after(rest, "Rx from "))?;
    record.peer.ip = nid(peer);
    let code = decimal_after(rest, "failed: ").or_else(|| decimal_after(rest, ": failed "))?;
    record.status = Some(WcStatus::new(code)?);
    Some(Found::whole(record))
}

/// `10.0.0.12@o2ib`.
fn nid(text: &str) -> Option<std::net::IpAddr> {
    address(text.split_once('@')?.0)
}
