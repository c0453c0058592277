//! The openib BTL of Open MPI up to 4.1. The vendor code is decimal, the work request hexadecimal.

use super::Found;
use crate::explain::record::{ErrorRecord, Producer};
use crate::explain::status::WcStatus;
use crate::explain::text::{after, between, decimal_after, hexadecimal_after, signed, word};

/// `from host-a to: host-b error polling LP CQ with status RETRY EXCEEDED ERROR status number 12 for wr_id bdba80 opcode 128  vendor
/// error 129 qp_idx 3`.
pub(super) fn parse(message: &str) -> Option<Found> {
    let (head, rest) = message.split_once(" status number ")?;
    let (hosts, polling) = head.split_once("error polling ")?;
    let words = after(polling, " with status ")?;
    let mut record = ErrorRecord::new(Producer::Ompi);
    record.producer_format = Some("Open MPI openib");
    if let Some((from, to)) = after(hosts, "from ").and_then(|hosts| hosts.split_once(" to: ")) {
        record.host = Some(word(from).to_owned());
        record.peer.host = Some(word(to).to_owned());
    }
    let code = crate::explain::text::decimal(rest);
    record.status = code.and_then(WcStatus::new).or_else(|| WcStatus::from_words(words));
    record.vendor_err = decimal_after(rest, "vendor error ").map(|code| code as u32);
    record.wr_id = hexadecimal_after(rest, "wr_id ");
    record.opcode_raw = between(rest, "opcode ", " ").and_then(signed);
    Some(Found::whole(record))
}
