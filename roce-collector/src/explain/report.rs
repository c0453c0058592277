//! The JSON form of a record.

use serde::{Serialize, Serializer};

use super::cqe::Role;
use super::finding::Finding;
use super::meaning::Cause;
use super::record::{ErrorRecord, Local, Peer, Producer, Severity};
use super::vendor::Evidence;
use crate::capture::Timestamp;

#[derive(Serialize)]
struct StatusReport {
    code: u8,
    name: &'static str,
}

#[derive(Serialize)]
struct VendorReport {
    value: u32,
    hex: String,
    meaning: Option<&'static str>,
    evidence: Evidence,
}

#[derive(Serialize)]
struct EventReport {
    name: &'static str,
    code: Option<u32>,
}

#[derive(Serialize)]
struct TrafficClassReport {
    value: u8,
    dscp: u8,
    ecn: u8,
}

#[derive(Serialize)]
struct Report<'a> {
    line: u64,
    lines: u64,
    secondaries: u64,
    time: Option<Timestamp>,
    time_text: Option<&'a str>,
    host: Option<&'a str>,
    pid: Option<u32>,
    rank: Option<&'a str>,
    producer: Producer,
    producer_format: Option<&'static str>,
    severity: Severity,
    status: Option<StatusReport>,
    vendor_err: Option<VendorReport>,
    syndrome: Option<u8>,
    event: Option<EventReport>,
    cause: Option<Cause>,
    meaning: &'static str,
    device: Option<&'a str>,
    port: Option<u8>,
    local: &'a Local,
    peer: &'a Peer,
    role: Option<Role>,
    operation: Option<&'a str>,
    request: Option<&'static str>,
    opcode_raw: Option<i64>,
    len_raw: Option<i64>,
    wr_id: Option<u64>,
    traffic_class: Option<TrafficClassReport>,
    queue: Option<&'a str>,
    cqn: Option<u32>,
    srqn: Option<u32>,
    wqe_counter: Option<u16>,
    posted: Option<u64>,
    completed: Option<u64>,
    findings: Vec<Finding>,
    truncated: bool,
    raw: &'a str,
}

impl Serialize for ErrorRecord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let report = Report {
            line: self.line,
            lines: self.lines,
            secondaries: self.secondaries,
            time: self.time,
            time_text: self.time_text.as_deref(),
            host: self.host.as_deref(),
            pid: self.pid,
            rank: self.rank.as_deref(),
            producer: self.producer,
            producer_format: self.producer_format,
            severity: self.severity(),
            status: self.status.map(|s| StatusReport { code: s.code(), name: s.name() }),
            vendor_err: self.vendor_code().map(|code| VendorReport {
                value: code.value,
                hex: format!("{:#04x}", code.value),
                meaning: code.meaning,
                evidence: code.evidence,
            }),
            syndrome: self.syndrome,
            event: self.event.as_ref().map(|e| EventReport { name: e.name(), code: e.code() }),
            cause: self.cause(),
            meaning: self.meaning(),
            device: self.device.as_deref(),
            port: self.port,
            local: &self.local,
            peer: &self.peer,
            role: self.role,
            operation: self.operation.as_deref(),
            request: self.request,
            opcode_raw: self.opcode_raw,
            len_raw: self.len_raw,
            wr_id: self.wr_id,
            traffic_class: self.traffic_class.map(|value| TrafficClassReport {
                value,
                dscp: value >> 2,
                ecn: value & 3,
            }),
            queue: self.queue.as_deref(),
            cqn: self.cqn,
            srqn: self.srqn,
            wqe_counter: self.wqe_counter,
            posted: self.posted,
            completed: self.completed,
            findings: self.findings(),
            truncated: self.is_truncated,
            raw: &self.raw,
        };
        report.serialize(serializer)
    }
}
