//! What a status means, and what it blames.

use serde::Serialize;

use super::record::ErrorRecord;
use super::status::WcStatus;

/// Causes that a log alone can tell, by the ids of verdicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The receiver had posted no buffer.
    ReceiverNotReady,
    /// The responder refused access to its memory.
    AccessError,
    /// A buffer of the host itself was refused by its own device.
    ProtectionError,
    /// The responder could not complete the request.
    RemoteOperationError,
    /// The consequence of another error.
    FlushSecondary,
    /// The link went down.
    LinkFlap,
    /// The GID table changed.
    GidChange,
}

impl Cause {
    /// The verdict's id.
    pub const fn id(self) -> &'static str {
        match self {
            Self::ReceiverNotReady => "receiver_not_ready",
            Self::AccessError => "access_error",
            Self::ProtectionError => "protection_error",
            Self::RemoteOperationError => "remote_operation_error",
            Self::FlushSecondary => "flush_secondary",
            Self::LinkFlap => "link_flap",
            Self::GidChange => "gid_change",
        }
    }
}

impl WcStatus {
    /// The cause, where the status alone tells it. It does not for [`RETRY_EXC`](Self::RETRY_EXC): only
    /// packets can tell a broken path from a silent peer.
    pub fn cause(self) -> Option<Cause> {
        match self {
            Self::LOC_PROT | Self::MW_BIND | Self::LOC_ACCESS => Some(Cause::ProtectionError),
            Self::WR_FLUSH => Some(Cause::FlushSecondary),
            Self::REM_ACCESS => Some(Cause::AccessError),
            Self::REM_OP => Some(Cause::RemoteOperationError),
            Self::RNR_RETRY_EXC => Some(Cause::ReceiverNotReady),
            _ => None,
        }
    }

    /// What it means, in words for people.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::LOC_LEN => {
                "A message did not fit: into the buffer posted for it, or into what the device can send. A \
                 fault of the application, not of the network."
            }
            Self::LOC_QP_OP => {
                "The device found the QP or the work request inconsistent. A fault on this host, not of the \
                 network."
            }
            Self::LOC_PROT => {
                "A buffer of this host is not covered by a memory region with the right key, length and \
                 permissions. A fault on this host, not of the network."
            }
            Self::WR_FLUSH => {
                "Flushed, because the QP was already in the error state. A consequence: look for the first \
                 error on this host or on the peer."
            }
            Self::MW_BIND => {
                "Binding a memory window or registering memory failed for lack of permission. A fault on \
                 this host, not of the network."
            }
            Self::BAD_RESP => "The response of the peer did not fit the request.",
            Self::LOC_ACCESS => {
                "The device was not allowed to write what the peer sent into the local buffer. A fault of \
                 memory registration, not of the network."
            }
            Self::REM_INV_REQ => {
                "The peer refused the request as invalid: an operation that is not enabled there, a message \
                 longer than its buffer, or too many READs at once. The request arrived: not the network."
            }
            Self::REM_ACCESS => {
                "The peer refused access to its memory: wrong key, address out of range, or missing \
                 permission. The request arrived: not the network."
            }
            Self::REM_OP => {
                "The peer could not complete the request for a reason of its own. The request arrived: look \
                 for the peer's error."
            }
            Self::RETRY_EXC => {
                "No acknowledgement came, even after all retries: lost on the way there or back, or the \
                 peer's QP, process or host is gone. A log cannot tell which; packets can."
            }
            Self::RNR_RETRY_EXC => {
                "The peer had no receive buffer posted, even after all RNR retries. Requests arrived: \
                 the receiver is slow or stuck, not the network."
            }
            Self::REM_ABORT => "The peer aborted the operation.",
            _ => "The verbs API has no more to say about this status.",
        }
    }
}

impl ErrorRecord {
    /// Id of the verdict, if the log alone can tell it.
    pub fn cause(&self) -> Option<Cause> {
        match (self.status, &self.event) {
            (Some(status), _) => status.cause(),
            (None, Some(event)) => event.cause(),
            (None, None) => None,
        }
    }

    /// What it means, in words for people.
    pub fn meaning(&self) -> &'static str {
        match (self.status, &self.event) {
            (Some(status), _) => status.meaning(),
            (None, Some(event)) => event.meaning(),
            (None, None) => "Something failed, but the lines do not say with which status.",
        }
    }
}
