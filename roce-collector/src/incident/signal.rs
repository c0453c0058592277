//! What error sources say.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::bpf::QpFailure;
use crate::capture::Timestamp;
use crate::explain::ErrorRecord;
use crate::inventory::QpEvent;

/// Bytes of the lines of a record that are kept.
const MAX_RAW: usize = 1024;

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
    /// A probe in the kernel saw what happened to a queue pair.
    Bpf(Box<QpFailure>),
    /// Packets show trouble.
    Wire(WireTrouble),
}

impl Signal {
    /// When it happened, where that is known.
    pub fn time(&self) -> Option<Timestamp> {
        match self {
            Self::Log { record, .. } => record.time,
            Self::Netlink(event) => Some(event.time),
            Self::Bpf(failure) => Some(failure.time),
            Self::Wire(trouble) => Some(trouble.time),
        }
    }

    /// The same with no more of its lines than a time line shows.
    pub(super) fn shortened(mut self) -> Self {
        if let Self::Log { record, .. } = &mut self {
            let end = record.raw.floor_char_boundary(MAX_RAW);
            record.raw.truncate(end);
            record.raw.shrink_to_fit();
        }
        self
    }

    /// The error source, as in [`Incident::source`](super::Incident::source).
    pub fn source_name(&self) -> &'static str {
        match self {
            Self::Log { source, .. } if **source == *"kmsg" => "kmsg",
            Self::Log { .. } => "log",
            Self::Netlink(_) => "netlink",
            Self::Bpf(_) => "bpf",
            Self::Wire(_) => "wire",
        }
    }
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
