//! What error sources say.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::capture::Timestamp;
use crate::explain::ErrorRecord;
use crate::inventory::QpEvent;

/// One thing that an error source says.
#[derive(Clone, Debug)]
pub enum Signal {
    /// A decoded error of a log. The name of its source, as given to `--log-source`, and when it was read.
    Log {
        /// Where it stands.
        source: Arc<str>,
        /// What it says.
        record: Box<ErrorRecord>,
    },
    /// The kernel lists a queue pair in another state, or not any more.
    Netlink(Box<QpEvent>),
    /// Packets show trouble.
    Wire(WireTrouble),
}

/// Trouble that packets show by themselves.
#[derive(Clone, Debug, PartialEq)]
pub struct WireTrouble {
    /// When it was seen.
    pub time: Timestamp,
    /// Interface that saw it; `None` for a capture file.
    pub device: Option<Arc<str>>,
    /// Who sends the requests.
    pub requester: IpAddr,
    /// Its QP, where known.
    pub requester_qp: Option<u32>,
    /// Who should answer.
    pub responder: IpAddr,
    /// Its QP, where known.
    pub responder_qp: Option<u32>,
    /// What it is.
    pub kind: WireKind,
}

/// Kinds of trouble.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WireKind {
    /// The same oldest PSN was sent again and again, and then nothing came any more.
    GaveUp {
        /// The PSN.
        psn: u32,
        /// How often it was sent again.
        tries: u32,
        /// Since the last packet.
        silence: Duration,
    },
    /// The same oldest PSN is sent again more often than the standard allows.
    Stalled {
        /// The PSN.
        psn: u32,
        /// How often it was sent again so far.
        tries: u32,
        /// Since the first try.
        age: Duration,
    },
    /// A NAK after which a queue pair is in error: every code but PSN sequence error.
    FatalNak {
        /// Its code, as in JSON: `remote_access_error`, ...
        code: &'static str,
        /// The PSN that it refuses.
        psn: u32,
    },
    /// RNR NAKs for one PSN without an ACK in between, and then nothing came any more.
    NotReady {
        /// The PSN.
        psn: u32,
        /// How many.
        refusals: u32,
    },
}
