//! Programs of all kinds that print the status of a work completion.

use super::Found;
use crate::explain::record::{ErrorRecord, Producer};
use crate::explain::status::WcStatus;
use crate::explain::text::{
    address, after, between, decimal, decimal_after, hexadecimal_after, signed, word,
};

pub(super) fn parse(message: &str) -> Option<Found> {
    let record = dapl(message)
        .or_else(|| hexadecimal_status(message))
        .or_else(|| rtrs(message))
        .or_else(|| ksmbd(message))
        .or_else(|| rpcrdma(message))
        .or_else(|| pingpong(message))
        .or_else(|| words(message))?;
    Some(Found::whole(record))
}

fn record(format: Option<&'static str>) -> ErrorRecord {
    ErrorRecord { producer_format: format, ..ErrorRecord::new(Producer::Other) }
}

/// `DTO completion ERR: status 10, op OP_RDMA_READ, vendor_err 0x88 - 10.0.0.12`: Intel MPI over DAPL.
fn dapl(message: &str) -> Option<ErrorRecord> {
    let rest = after(message, "DTO completion ERR: status ")?;
    let mut record = record(Some("DAPL"));
    record.status = WcStatus::new(decimal(rest)?);
    record.operation = after(rest, "op OP_").map(|text| word(text).to_owned());
    record.vendor_err = hexadecimal_after(rest, "vendor_err ").map(|code| code as u32);
    record.peer.ip = after(rest, " - ").map(word).and_then(address);
    Some(record)
}

/// `got bad completion with status: 0xc, vendor syndrome: 0x81`: programs made from NVIDIA's RC example.
fn hexadecimal_status(message: &str) -> Option<ErrorRecord> {
    let rest = after(message, "bad completion with status: ")?;
    let mut record = record(Some("RDMA_RC_example"));
    record.status = WcStatus::new(crate::explain::text::hexadecimal(rest)?);
    record.vendor_err = hexadecimal_after(rest, "vendor syndrome: ").map(|code| code as u32);
    Some(record)
}

/// `rtrs_client L612: <blockdev>: remote access error (wr_cqe: 1, type: 0, vendor_err: 0x0, len: 0)`.
fn rtrs(message: &str) -> Option<ErrorRecord> {
    let (head, values) = message.split_once(" (wr_cqe: ")?;
    let mut record = record(Some("rtrs"));
    record.status = Some(WcStatus::from_words(head.rsplit_once(": ")?.1)?);
    record.vendor_err = hexadecimal_after(values, "vendor_err: ").map(|code| code as u32);
    record.len_raw = after(values, "len: ").and_then(signed);
    record.device = between(head, "<", ">").map(str::to_owned);
    Some(record)
}

/// `ksmbd: smb_direct: Send error. status='WR flushed (5)', opcode=-29703`.
fn ksmbd(message: &str) -> Option<ErrorRecord> {
    let (head, rest) = message.split_once(" error. status='")?;
    let mut record = record(Some("ksmbd"));
    let (words, code) = rest.split_once('\'')?.0.rsplit_once(" (")?;
    record.status = decimal(code).and_then(WcStatus::new).or_else(|| WcStatus::from_words(words));
    record.status?;
    record.opcode_raw = after(rest, "opcode=").and_then(signed);
    record.operation = head.split_whitespace().last().map(str::to_owned);
    Some(record)
}

/// `rpcrdma: cq completion status: RNR retry counter exceeded (13) opcode 2`: NFS over RDMA.
fn rpcrdma(message: &str) -> Option<ErrorRecord> {
    let rest = after(message, "cq completion status: ")?;
    let mut record = record(Some("ntirpc"));
    record.status = between(rest, "(", ")").and_then(decimal).and_then(WcStatus::new);
    record.status = record.status.or_else(|| WcStatus::mentioned_in(rest));
    record.status?;
    record.opcode_raw = after(rest, "opcode ").and_then(signed);
    Some(record)
}

/// `Failed status transport retry counter exceeded (12) for wr_id 2`: examples of rdma-core.
fn pingpong(message: &str) -> Option<ErrorRecord> {
    let rest = after(message, "Failed status ")?;
    let (words, rest) = rest.split_once(" (")?;
    let mut record = record(Some("ibv_rc_pingpong"));
    record.status = Some(WcStatus::from_words(words)?);
    record.wr_id = decimal_after(rest, "wr_id ");
    Some(record)
}

/// Any line with the words of a status that mean nothing else.
fn words(message: &str) -> Option<ErrorRecord> {
    let mut record = record(None);
    record.status = Some(WcStatus::mentioned_in(message)?);
    Some(record)
}
