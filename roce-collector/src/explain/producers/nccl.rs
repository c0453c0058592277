//! NCCL, RCCL and their network plugins.
//!
//! From the sources of NCCL 2.3 to 2.30 (`transport/net_ib*`). Vendor codes are decimal. The peer is the
//! TCP address of the bootstrap.

use super::{Found, Sequel};
use crate::explain::event::Event;
use crate::explain::record::{ErrorRecord, Producer};
use crate::explain::status::WcStatus;
use crate::explain::text::{address, after, decimal, gid, signed, word};

pub(super) fn parse(message: &str) -> Option<Found> {
    let rest = after(message, "NET/")?;
    let end = rest.find([':', ' '])?;
    let (plugin, mut rest) = (&rest[..end], rest[end..].trim_start_matches([':', ' ']));
    if !plugin.contains("IB") {
        return None;
    }
    // A function's name stands before some messages.
    if let Some((name, message)) = rest.split_once(": Got completion with error (") {
        let is_function = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if is_function {
            return Some(Found::whole(resiliency(message)));
        }
    }
    if let Some(values) = after(rest, "Got completion with error (") {
        return Some(Found::whole(resiliency(values)));
    }
    if let Some(values) = after(rest, "Got CQE with error") {
        return Some(Found::whole(cqe(values)).then(Sequel::NcclCompletion));
    }
    if let Some(values) = after(rest, "Got completion") {
        let mut record = completion(values)?;
        record.producer_format = Some(format(message, plugin, values));
        return Some(Found::whole(record).continuing(Sequel::NcclCompletion));
    }
    let mut record = ErrorRecord::new(Producer::Nccl);
    rest = rest.trim_start();
    let device = word(rest);
    if let Some((name, port)) = device.split_once(':') {
        record.device = Some(name.to_owned());
        record.port = port.parse().ok();
        rest = rest[device.len()..].trim_start();
    }
    record.event = Some(event(rest)?);
    record.local.qp = after(rest, "qpn=").and_then(decimal).map(|qp| qp as u32);
    Some(Found::whole(record))
}

/// `devIndex=0, req=0x7f00, comm=0x7f00 (send), wr_id=66, qp_num=5121`.
fn cqe(values: &str) -> ErrorRecord {
    let mut record = ErrorRecord::new(Producer::Nccl);
    record.producer_format = Some("2.29.7+");
    record.local.qp = after(values, "qp_num=").and_then(decimal).map(|qp| qp as u32);
    record.wr_id = after(values, "wr_id=").and_then(decimal);
    record.request = [("(send)", "Send"), ("(recv)", "Recv")]
        .into_iter()
        .find_map(|(printed, request)| values.contains(printed).then_some(request));
    record
}

/// `devIndex=0, wc->status=(IBV_WC_RETRY_EXC_ERR)12, wc->opcode=(...)1, wc->wr_id=66, wc->qp_num=5121, ...`.
fn resiliency(values: &str) -> ErrorRecord {
    let value = |name: &str| after(after(values, name)?, ")");
    let mut record = ErrorRecord::new(Producer::Nccl);
    record.producer_format = Some("2.29+ resiliency");
    record.status = value("status=(").and_then(decimal).and_then(WcStatus::new);
    record.opcode_raw = value("opcode=(").and_then(signed);
    record.len_raw = after(values, "byte_len=").and_then(signed);
    record.local.qp = after(values, "qp_num=").and_then(decimal).map(|qp| qp as u32);
    record.wr_id = after(values, "wr_id=").and_then(decimal);
    record
}

/// What follows `Got completion`, in any version.
fn completion(values: &str) -> Option<ErrorRecord> {
    let mut record = ErrorRecord::new(Producer::Nccl);
    if let Some(peer) = after(values, "from peer ").map(word) {
        let (ip, port) = peer.split_once('<').unwrap_or((peer, ""));
        record.peer.ip = address(ip);
        record.peer.port = decimal(port).and_then(|port| u16::try_from(port).ok());
    }
    let status = value(values, "status").or_else(|| value(values, "with error"))?;
    record.status = WcStatus::new(number(status)?.try_into().ok()?);
    record.opcode_raw = value(values, "opcode").and_then(number);
    record.len_raw = value(values, "len").and_then(number);
    record.vendor_err = ["vendor err", "vendor_err"]
        .into_iter()
        .find_map(|name| value(values, name))
        .and_then(decimal)
        .and_then(|code| u32::try_from(code).ok());
    record.request = ["Send", "Recv", "Flush", "Unused"].into_iter().find(|request| {
        values.contains(&format!("({request})")) || values.contains(&format!("req_type={request}"))
    });
    record.local.gid = after(values, "localGid").and_then(gid);
    // Newer versions print no blank between label and value.
    record.peer.gid =
        after(values, "remoteGids").or_else(|| after(values, "remoteGid")).and_then(gid);
    record.device =
        after(values, " hca ").map(word).filter(|hca| !hca.is_empty()).map(str::to_owned);
    Some(record)
}

/// Behind `name` and its ` `, `=` or ` = `.
fn value<'a>(values: &'a str, name: &str) -> Option<&'a str> {
    after(values, name).map(|rest| rest.trim_start_matches([' ', '=']))
}

/// `12` or `IBV_WC_RETRY_EXC_ERR(12)`.
fn number(text: &str) -> Option<i64> {
    signed(text).or_else(|| signed(text.strip_prefix(word(text).split_once('(')?.0)?.get(1..)?))
}

/// Versions that print this form.
fn format(message: &str, plugin: &str, values: &str) -> &'static str {
    if plugin.ends_with("GIN") {
        "GIN"
    } else if plugin == "gIB" {
        "gIB plugin"
    } else if plugin == "IBP" || message.contains("ib_plugin.c") {
        "nccl-rdma-sharp-plugins"
    } else if values.contains("reqSize=") {
        "2.28.7-2.28.9"
    } else if values.contains("status=IBV") {
        "2.29+"
    } else if values.contains("status=") {
        if message.contains("NET/IB :") { "2.20-2.21" } else { "2.22-2.28" }
    } else if values.contains("localGid") {
        "2.18-2.19"
    } else if values.contains("from peer") {
        "2.10-2.17"
    } else {
        "<=2.9"
    }
}

/// `Got async event : port error`, `async fatal event on QP (0x1): local access violation ...`,
/// `Got non-fatal async event: port error(10)`, `GID table changed`.
fn event(text: &str) -> Option<Event> {
    if text.starts_with("GID table changed") {
        return Some(Event::verbs("GID table change", None));
    }
    let rest = after(text, "async event").or_else(|| after(text, "async fatal event"))?;
    let words = after(rest, ":")?.trim_start();
    let end = words.find(['(', ',']).or_else(|| words.find(" qpn=")).unwrap_or(words.len());
    let code = words[end..].strip_prefix('(').and_then(decimal).map(|code| code as u32);
    Some(Event::verbs(&words[..end], code))
}
