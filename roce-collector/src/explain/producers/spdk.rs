//! SPDK's NVMe over RDMA, target and initiator. No vendor codes; lines are cut at a fixed length.

use super::Found;
use crate::explain::event::Event;
use crate::explain::record::{ErrorRecord, Producer};
use crate::explain::status::WcStatus;
use crate::explain::text::{after, decimal, signed, word};

pub(super) fn parse(message: &str) -> Option<Found> {
    if let Some((head, event)) = message.split_once(" Async event: ") {
        let is_ours = head.contains("nvmf") || head.contains("rdma.c");
        let mut record = ErrorRecord::new(Producer::Spdk);
        record.event = Some(Event::verbs_at_start(event)?);
        return is_ours.then(|| Found::whole(record));
    }
    let is_target = message.contains("Error on CQ ") || message.contains("CQ error on CQ ");
    let is_initiator =
        message.contains("WC error, q") || message.contains("CQ error on Queue Pair ");
    if !is_target && !is_initiator {
        return None;
    }
    let mut record = ErrorRecord::new(Producer::Spdk);
    record.producer_format = Some(if is_target { "SPDK target" } else { "SPDK initiator" });
    let (code, words) = status(message)?;
    record.status = WcStatus::new(code);
    record.is_truncated = record.status.is_some_and(|status| is_cut(words, status));
    record.queue = ["rqpair ", "Queue Pair ", " on CQ "]
        .into_iter()
        .find_map(|name| after(message, name))
        .map(|queue| word(queue).to_owned());
    record.operation = after(message, ", type ")
        .map(word)
        .filter(|kind| kind.bytes().all(|b| b.is_ascii_uppercase() || b == b'_'))
        .map(str::to_owned);
    record.opcode_raw = after(message, ", opcode ").and_then(signed);
    record.len_raw = after(words, "byte_len ").and_then(signed);
    Some(Found::whole(record))
}

/// `status: (12): words`, and in older versions `Request 0x1 (12): words`.
fn status(message: &str) -> Option<(u64, &str)> {
    let rest = if let Some(rest) = after(message, "status: (") {
        rest
    } else {
        let end = message.find("): ")?;
        &message[message[..end].rfind('(')? + 1..]
    };
    let (code, words) = rest.split_once(')')?;
    Some((decimal(code)?, words.trim_start_matches([':', ' '])))
}

/// The words of the status were cut before their end.
fn is_cut(words: &str, status: WcStatus) -> bool {
    let full = status.words();
    words.len() < full.len()
        && full.is_char_boundary(words.len())
        && full[..words.len()].eq_ignore_ascii_case(words)
}
