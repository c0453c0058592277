//! UCX: two lines for a failure since 1.6, one before. Everything is hexadecimal.
//!
//! From `ib_mlx5_log.c`, `rc_verbs` and `ib_device.c` of UCX 1.3 to 1.18. WR flushes are printed only at
//! the trace level.

use super::{Found, Sequel};
use crate::explain::event::Event;
use crate::explain::record::{ErrorRecord, Producer};
use crate::explain::status::WcStatus;
use crate::explain::text::{after, between, decimal, gid, hexadecimal, hexadecimal_after, word};

pub(super) fn parse(message: &str) -> Option<Found> {
    if let Some((head, syndromes)) = message.split_once(" (synd 0x") {
        return completion(head, syndromes);
    }
    if message.contains(" wqe[") || message.contains("[rqpn 0x") {
        return Some(work_request(message));
    }
    if message.contains("completion")
        && message.contains(" with error")
        && message.contains("vendor_err 0x")
    {
        return verbs_completion(message);
    }
    if let Some(rest) = after(message, "IB Async event on ") {
        return async_event(rest);
    }
    if let Some(qp) = hexadecimal_after(message, "SRQ-attached QP ") {
        let mut record = ErrorRecord::new(Producer::Ucx);
        record.status = Some(WcStatus::WR_FLUSH);
        record.local.qp = Some(qp as u32);
        return Some(Found::whole(record));
    }
    None
}

/// `Transport retry count exceeded on mlx5_0:1/RoCE (synd 0x15 vend 0x81 hw_synd 0/0)`, and before 1.6
/// `Error on mlx5_3:1 QP 0xe6d7 wqe[7821]: Transport retry count exceeded (synd 0x15 vend 0x81) opcode SEND`.
fn completion(head: &str, syndromes: &str) -> Option<Found> {
    let mut record = ErrorRecord::new(Producer::Ucx);
    let syndrome = u8::try_from(hexadecimal(syndromes)?).ok()?;
    record.syndrome = Some(syndrome);
    record.vendor_err = hexadecimal_after(syndromes, "vend ").map(|code| code as u32);
    let old = after(head, "Error on ");
    let words = if let Some(old) = old {
        record.producer_format = Some("UCX 1.3-1.5");
        set_device(&mut record, word(old));
        record.local.qp = hexadecimal_after(old, "QP ").map(|qp| qp as u32);
        record.operation = after(syndromes, "opcode ").map(|text| word(text).to_owned());
        after(old, "]: ").unwrap_or_default()
    } else {
        record.producer_format = Some("UCX 1.6+");
        let (words, device) = head.rsplit_once(" on ").unwrap_or((head, ""));
        set_device(&mut record, device.split('/').next().unwrap_or_default());
        words
    };
    record.status =
        WcStatus::from_mlx5_syndrome(syndrome).or_else(|| WcStatus::mentioned_in(words));
    let found = Found::whole(record);
    Some(if old.is_some() { found } else { found.then(Sequel::UcxWorkRequest) })
}

/// `RC QP 0x1a2 wqe[7]: RDMA_WRITE s-- [rqpn 0x3b dlid=0 sgix 3 dgid ::ffff:10.0.0.7 tc 106]`.
fn work_request(message: &str) -> Found {
    let mut record = ErrorRecord::new(Producer::Ucx);
    if let Some((head, rest)) = message.split_once(" wqe[") {
        record.local.qp = hexadecimal_after(head, "QP ").map(|qp| qp as u32);
        record.operation = after(rest, "]: ").map(|text| word(text).to_owned());
    }
    let value = |names: [&str; 2]| names.into_iter().find_map(|name| after(message, name));
    record.peer.qp = hexadecimal_after(message, "rqpn ").map(|qp| qp as u32);
    record.peer.gid = value([" dgid ", " dgid="]).and_then(gid);
    record.local.gid_index =
        value([" sgix ", " sgid_index="]).and_then(decimal).map(|index| index as u32);
    record.traffic_class = value([" tc ", " traffic_class="])
        .and_then(decimal)
        .and_then(|class| u8::try_from(class).ok());
    Found::whole(record).tail_of(Sequel::UcxWorkRequest)
}

/// `send completion with error: transport retry counter exceeded [qpn 0x1a2 wrid 0x10 vendor_err 0x81]`,
/// in some versions without a blank before `vendor_err`, and
/// `send completion[0] with error on mlx5_0/0x55: remote access error, vendor_err 0x88 wr_id 0x1`.
fn verbs_completion(message: &str) -> Option<Found> {
    let mut record = ErrorRecord::new(Producer::Ucx);
    record.producer_format = Some("UCX verbs");
    let rest = after(message, " with error")?;
    let words = match rest.strip_prefix(" on ") {
        Some(on) => {
            set_device(&mut record, word(on).split('/').next().unwrap_or_default());
            between(on, ": ", ",")
        }
        None => between(rest, ": ", " ["),
    }?;
    record.status = Some(WcStatus::from_words(words)?);
    record.vendor_err = hexadecimal_after(rest, "vendor_err ").map(|code| code as u32);
    record.local.qp = hexadecimal_after(rest, "[qpn ").map(|qp| qp as u32);
    record.wr_id = hexadecimal_after(rest, "wrid ").or_else(|| hexadecimal_after(rest, "wr_id "));
    Some(Found::whole(record).then(Sequel::UcxWorkRequest))
}

/// `mlx5_0: GID table change on port 1`, `mlx5_0: ... on QPN 0x1a2`.
fn async_event(rest: &str) -> Option<Found> {
    let (device, words) = rest.split_once(": ")?;
    let mut record = ErrorRecord::new(Producer::Ucx);
    record.device = Some(device.to_owned());
    record.port =
        after(words, "on port ").and_then(decimal).and_then(|port| u8::try_from(port).ok());
    record.local.qp = hexadecimal_after(words, "on QPN ").map(|qp| qp as u32);
    let end = words.rfind(" on ").unwrap_or(words.len());
    record.event = Some(Event::verbs(&words[..end], None));
    Some(Found::whole(record))
}

/// `mlx5_0:1`.
fn set_device(record: &mut ErrorRecord, name: &str) {
    let (device, port) = name.split_once(':').unwrap_or((name, ""));
    if !device.is_empty() && device != "QP" {
        record.device = Some(device.to_owned());
        record.port = port.parse().ok();
    }
}
