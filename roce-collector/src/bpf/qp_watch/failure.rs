//! What the probes tell, decoded.

use std::fmt;
use std::sync::Arc;

use roce_common::qp_watch::{QpRecord, QpRecordKind};

use crate::capture::Timestamp;
use crate::inventory::QpState;

/// Something that the kernel did to a queue pair: an error, or its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QpFailure {
    /// When, to the microsecond or so.
    pub time: Timestamp,
    /// Name of the RDMA device.
    pub device: Arc<str>,
    /// Number of the queue pair.
    pub lqpn: u32,
    /// What happened.
    pub what: QpFailureKind,
    /// The state before; `None` when nothing has happened to the queue pair since the probes began.
    pub before: Option<QpState>,
    /// What the queue pair was set to, as far as the probes saw it.
    pub settings: QpSettings,
    /// The process that asked for it; `None` where no process did, or where that is not known: errors that a
    /// driver finds come up in interrupts. The inventory knows whose the queue pair is.
    pub pid: Option<u32>,
    /// Name of its thread that did.
    pub comm: Option<Box<str>>,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QpFailureKind {
    /// A program, or a part of the kernel, asked for the state ERR. That is also how a connection of the
    /// connection manager ends in good order.
    ModifiedToErr,
    /// The driver found an error. Only soft-RoCE can be watched doing that.
    DriverError,
    /// An asynchronous event that tells of an error, by its number in `enum ib_event_type`.
    AsyncEvent(u32),
    /// It was destroyed.
    Destroyed,
}

/// How a queue pair was set up. A field is `None` when the probes did not see it set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QpSettings {
    /// Queue pair of the peer.
    pub rqpn: Option<u32>,
    /// Code of the local ACK timeout: 4.096 microseconds times two to its power; 0 is for ever (IBTA 9.7.6.1.3).
    pub timeout: Option<u8>,
    /// Retries without an answer.
    pub retry_cnt: Option<u8>,
    /// Retries after RNR NAKs; 7 is for ever.
    pub rnr_retry: Option<u8>,
}

/// Now, on both clocks.
#[derive(Clone, Copy, Debug)]
pub struct Clocks {
    /// The clock on the wall.
    pub wall: Timestamp,
    /// Nanoseconds since boot, the clock of [`QpRecord::time_ns`].
    pub boot_ns: u64,
}

impl QpFailure {
    /// Decodes a record; `None` when it is none that the programs write.
    pub fn decode(record: &QpRecord, now: Clocks) -> Option<Self> {
        let device = text(&record.device).filter(|name| !name.is_empty())?;
        let age = now.boot_ns.saturating_sub(record.time_ns);
        let known = record.known;
        let byte = |value: u8| (value != u8::MAX).then_some(value);
        Some(Self {
            time: Timestamp::from_nanos(now.wall.as_nanos().saturating_sub(age)),
            device: device.into(),
            lqpn: record.lqpn,
            what: match QpRecordKind::of_code(record.kind)? {
                QpRecordKind::ModifiedToErr => QpFailureKind::ModifiedToErr,
                QpRecordKind::DriverError => QpFailureKind::DriverError,
                QpRecordKind::AsyncEvent => QpFailureKind::AsyncEvent(record.detail),
                QpRecordKind::Destroyed => QpFailureKind::Destroyed,
            },
            before: byte(known.state).map(QpState),
            settings: QpSettings {
                rqpn: (known.rqpn != u32::MAX).then_some(known.rqpn),
                timeout: byte(known.timeout),
                retry_cnt: byte(known.retry_cnt),
                rnr_retry: byte(known.rnr_retry),
            },
            pid: (record.pid != 0).then_some(record.pid),
            comm: text(&record.comm).filter(|name| record.pid != 0 && !name.is_empty()),
        })
    }

    /// Whether it tells of an error, and not of an end that may be in good order.
    pub fn is_error(&self) -> bool {
        self.what != QpFailureKind::Destroyed
    }
}

impl QpFailureKind {
    /// Name in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ModifiedToErr => "modified_to_err",
            Self::DriverError => "driver_error",
            Self::AsyncEvent(_) => "async_event",
            Self::Destroyed => "destroyed",
        }
    }
}

/// Name of an asynchronous event as the verbs have it, without its prefix.
pub const fn async_event_name(event: u32) -> Option<&'static str> {
    match event {
        1 => Some("QP_FATAL"),
        2 => Some("QP_REQ_ERR"),
        3 => Some("QP_ACCESS_ERR"),
        7 => Some("PATH_MIG_ERR"),
        16 => Some("QP_LAST_WQE_REACHED"),
        _ => None,
    }
}

impl fmt::Display for QpFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QP {:#x} of {} ", self.lqpn, self.device)?;
        match self.what {
            QpFailureKind::ModifiedToErr => f.write_str("was set to ERR")?,
            QpFailureKind::DriverError => f.write_str("was put into ERR by its driver")?,
            QpFailureKind::AsyncEvent(event) => match async_event_name(event) {
                Some(name) => write!(f, "had the asynchronous event {name}")?,
                None => write!(f, "had the asynchronous event {event}")?,
            },
            QpFailureKind::Destroyed => f.write_str("was destroyed")?,
        }
        if let Some(state) = self.before {
            write!(f, ", its state was {state}")?;
        }
        match (&self.comm, self.pid) {
            (Some(comm), Some(pid)) => write!(f, ", by {comm} ({pid})"),
            (None, Some(pid)) => write!(f, ", by process {pid}"),
            _ => Ok(()),
        }
    }
}

/// The text before the first zero. What is no UTF-8 is shown as such.
fn text(bytes: &[u8]) -> Option<Box<str>> {
    let end = bytes.iter().position(|byte| *byte == 0)?;
    Some(String::from_utf8_lossy(&bytes[..end]).into())
}

#[cfg(test)]
mod tests;
