//! NVMe over RDMA in the kernel, host and target. No vendor codes.

use super::Found;
use crate::explain::event::Event;
use crate::explain::record::{ErrorRecord, Producer};
use crate::explain::status::WcStatus;
use crate::explain::text::{after, decimal, hexadecimal, word};

pub(super) fn parse(message: &str) -> Option<Found> {
    let mut record = ErrorRecord::new(Producer::Nvme);
    if let Some(rest) = after(message, "nvmet_rdma: ") {
        record.producer_format = Some("nvmet-rdma");
        return completion(rest, record.clone()).or_else(|| target_event(rest, record));
    }
    let rest = after(message, "nvme nvme")?;
    record.producer_format = Some("nvme-rdma");
    record.device = Some(format!("nvme{}", word(rest).trim_end_matches(':')));
    let rest = after(rest, ": ")?;
    if rest.contains(" failed with status ") {
        return completion(rest, record);
    }
    record.local.qp = after(rest, " on QP ").and_then(hexadecimal).map(|qp| qp as u32);
    record.event = Some(event(rest)?);
    Some(Found::whole(record))
}

/// `received IB QP event: QP access error (3)`: the words are the kernel's own, the number is that of
/// libibverbs.
fn target_event(rest: &str, mut record: ErrorRecord) -> Option<Found> {
    record.event = Some(if let Some(event) = after(rest, "received IB QP event: ") {
        let (words, code) = event.rsplit_once(" (")?;
        Event::verbs(words, decimal(code).map(|code| code as u32))
    } else if rest.starts_with("Ctrl Fatal Error: capsule size less than 64 bytes") {
        Event::connection_error()
    } else {
        return None;
    });
    Some(Found::whole(record))
}

/// `SEND for CQE 0x1 failed with status remote access error (10)`.
fn completion(rest: &str, mut record: ErrorRecord) -> Option<Found> {
    let (request, outcome) = rest.split_once(" failed with status ")?;
    let (words, code) = outcome.rsplit_once(" (")?;
    record.status = WcStatus::new(decimal(code)?).or_else(|| WcStatus::from_words(words));
    record.operation = request.split(" for ").next().map(str::to_owned);
    Some(Found::whole(record))
}

fn event(rest: &str) -> Option<Event> {
    const FAILED: [&str; 3] = [
        "Connect rejected: status",
        "rdma connection establishment failed",
        "failed to connect queue",
    ];
    const RECOVERY: [&str; 4] = [
        "starting error recovery",
        "Reconnecting in ",
        "Failed reconnect attempt",
        "Successfully reconnected",
    ];
    // `tag 0x1 on QP 0x2 not found`: an answer to a request that nobody sent.
    let is_stray = rest.starts_with("tag 0x") && rest.ends_with(" not found");
    if is_stray || FAILED.iter().any(|words| rest.starts_with(words)) {
        return Some(Event::connection_error());
    }
    // A disk on PCIe says what it does next in the same line.
    if rest.starts_with("I/O ") && rest.contains(" QID ") && rest.ends_with(" timeout") {
        return Some(Event::request_timeout());
    }
    RECOVERY.iter().any(|words| rest.starts_with(words)).then(Event::recovery)
}
