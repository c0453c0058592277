//! The JSON form of an incident.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::capture::Timestamp;
use crate::diagnosis::{Evidence, Outcome, Verdict};

/// One failure of a queue pair. What is not known is `null`, never 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Incident {
    /// Unique on this collector; fit for a file name.
    pub id: String,
    /// How often it was told before, each time with less: the latest replaces the others.
    #[serde(default)]
    pub revision: u32,
    /// When the first of its signals was.
    pub time: Option<Timestamp>,
    /// RDMA device, else the interface that saw it.
    pub device: Option<String>,
    /// The error source of its primary signal: `log`, `kmsg`, `netlink`, `bpf`, `wire`.
    pub source: String,
    /// All error sources that spoke of it.
    pub sources: Vec<String>,
    /// What became of the queue pair.
    pub outcome: Outcome,
    /// Status of the failed work completion.
    pub status: Option<StatusReport>,
    /// Vendor code.
    pub vendor_err: Option<VendorReport>,
    /// The requester.
    pub local: LocalReport,
    /// The responder.
    pub peer: PeerReport,
    /// Why.
    pub verdict: VerdictReport,
    /// Facts that speak for it.
    pub evidence: Vec<Evidence>,
    /// What it is not.
    pub ruled_out: Vec<Verdict>,
    /// What to do next.
    pub next_steps: Vec<String>,
    /// What happened, in order.
    pub timeline: Vec<TimelineEntry>,
    /// Further signals of the same failure: flushes, the other host's lines.
    pub secondaries: u64,
    /// The capture file that the flight recorder wrote of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recording: Option<String>,
}

/// Status of a work completion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusReport {
    /// `enum ibv_wc_status`.
    pub code: u8,
    /// Its name without `IBV_WC_`.
    pub name: String,
}

/// Vendor code of a work completion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VendorReport {
    /// The number.
    pub value: u32,
    /// As `0x81`.
    pub hex: String,
    /// Who printed it.
    pub producer: String,
}

/// The side that failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocalReport {
    /// Address on the RDMA network.
    pub ip: Option<IpAddr>,
    /// QP number.
    pub qp: Option<u32>,
    /// Process.
    pub pid: Option<u32>,
    /// Its name.
    pub comm: Option<String>,
    /// Kubernetes pod.
    pub pod: Option<String>,
}

/// The other side.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerReport {
    /// Address on the RDMA network.
    pub ip: Option<IpAddr>,
    /// QP number.
    pub qp: Option<u32>,
}

/// Why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VerdictReport {
    /// Stable id.
    pub id: Verdict,
    /// How sure it is, 0 to 1.
    pub confidence: f64,
    /// In words.
    pub text: String,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimelineEntry {
    /// When, where known.
    pub t: Option<Timestamp>,
    /// What, in words.
    pub what: String,
}
