//! Everything that is known of one failure.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::{HostFacts, Neighbours, Sight};
use crate::capture::Timestamp;
use crate::explain::{Cause, VendorCode, WcStatus};

/// One failure, as the rules see it.
#[derive(Clone, Debug, Default)]
pub struct Case {
    /// What the error sources say.
    pub failure: Failure,
    /// What taps saw of the connection.
    pub sight: Sight,
    /// Other connections of the same hosts at the same time.
    pub neighbours: Neighbours,
    /// What the hosts count and how they are set up.
    pub facts: HostFacts,
}

/// What the error sources say of a failure.
#[derive(Clone, Debug, Default)]
pub struct Failure {
    /// When it was first told of.
    pub time: Option<Timestamp>,
    /// What became of the queue pair.
    pub outcome: Outcome,
    /// Status of the failed work completion, of the first that is not a flush.
    pub status: Option<WcStatus>,
    /// Vendor code with its meaning.
    pub vendor: Option<VendorCode>,
    /// What log events before or with it blame by themselves: a link that went down, a changed GID table.
    pub blamed: Vec<(Cause, Option<Timestamp>)>,
    /// There are flushes, and nothing that they follow from.
    pub is_flush_only: bool,
    /// Work requests that had completed before, where a log says it: 0 when nothing ever did.
    pub completed: Option<u64>,
    /// RDMA device of the queue pair.
    pub device: Option<String>,
    /// Network interface of that device, or the one whose tap saw the packets.
    pub interface: Option<String>,
    /// Requester.
    pub local_ip: Option<IpAddr>,
    /// Its QP.
    pub local_qp: Option<u32>,
    /// Responder.
    pub peer_ip: Option<IpAddr>,
    /// Its QP.
    pub peer_qp: Option<u32>,
}

/// What became of a queue pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It is in the error state, or a work completion failed.
    Died,
    /// It retries beyond what the standard allows, without an error: it may do so for ever.
    Stalled,
    /// It goes on.
    Recovered,
    /// The taps saw it give up or fall silent; no error source confirms it.
    #[default]
    Unknown,
}

impl Outcome {
    /// Its name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Died => "died",
            Self::Stalled => "stalled",
            Self::Recovered => "recovered",
            Self::Unknown => "unknown",
        }
    }
}
