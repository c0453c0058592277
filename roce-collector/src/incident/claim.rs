//! What a signal says of a connection, in one form for every error source.

use std::sync::Arc;
use std::time::Duration;

use super::end::{End, Process};
use super::{Signal, WireKind, WireTrouble};
use crate::bpf::{QpFailure, QpFailureKind};
use crate::capture::Timestamp;
use crate::explain::{ErrorRecord, Producer, WcStatus};
use crate::inventory::QpEvent;

/// What a signal says of a connection.
#[derive(Clone, Debug)]
pub(super) struct Claim {
    /// The side that speaks, or that sends the requests.
    pub(super) near: End,
    /// The other side.
    pub(super) far: End,
    /// Where it stands in time.
    pub(super) place: Place,
    /// How much it says of why.
    pub(super) rank: Rank,
}

/// Where a signal stands: in time, and in its log.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) time: Option<Timestamp>,
    /// When it was taken.
    pub(super) taken: Timestamp,
    pub(super) line: Option<(Arc<str>, u64)>,
}

/// How much a signal says of why a queue pair died; the most is the primary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// Work that was flushed: a consequence.
    Flush,
    /// The kernel lists it in ERR, or was asked to set it to ERR.
    Failed,
    /// It retries for ever.
    Stalled,
    /// Its driver found an error.
    Driver,
    /// A log says that something failed, but not with which status.
    Event,
    /// Packets show that it gave up.
    GaveUp,
    /// Packets show a refusal.
    Refused,
    /// Retries ran out: also because the peer died of an error of its own.
    Retries,
    /// Any other status: it is certain.
    Status,
}

impl Rank {
    /// Whether it speaks of a failure by itself, or follows from another signal.
    pub(super) const fn is_dependent(self) -> bool {
        !matches!(self, Self::Retries | Self::Status)
    }

    /// Whether a log says it.
    pub(super) const fn is_logged(self) -> bool {
        matches!(self, Self::Flush | Self::Event | Self::Retries | Self::Status)
    }
}

impl Claim {
    pub(super) fn of(signal: &Signal, taken: Timestamp) -> Self {
        match signal {
            Signal::Log { source, record } => Self::of_record(source, record, taken),
            Signal::Netlink(event) => Self::of_event(event, taken),
            Signal::Bpf(failure) => Self::of_failure(failure, taken),
            Signal::Wire(trouble) => Self::of_trouble(trouble, taken),
        }
    }

    fn of_record(source: &Arc<str>, record: &ErrorRecord, taken: Timestamp) -> Self {
        let status = record.status.filter(|status| *status != WcStatus::WR_FLUSH);
        let rank = match record.status {
            Some(WcStatus::WR_FLUSH) => Rank::Flush,
            Some(WcStatus::RETRY_EXC) => Rank::Retries,
            Some(_) => Rank::Status,
            None => Rank::Event,
        };
        let is_kernel = is_kernel(record.producer);
        let process = Process {
            source: Arc::clone(source),
            is_kernel,
            host: record.host.clone(),
            // The kernel prints the task that happened to run.
            pid: record.pid.filter(|_| !is_kernel),
            rank: record.rank.clone(),
        };
        // NCCL prints the address of its bootstrap beside the GID, or alone.
        let is_bootstrap = record.producer == Producer::Nccl;
        let printed = record.peer.ip.filter(|_| is_bootstrap).map(|ip| (ip, record.peer.port));
        let is_rdma = record.peer.gid.is_some() || !is_bootstrap;
        let near = End {
            ip: record.local.ip.map(|ip| ip.to_canonical()),
            qp: record.local.qp,
            process: Some(process),
            device: record.device.as_deref().map(Arc::from),
            queue: record.queue.clone(),
            status,
            ..End::default()
        };
        let far = End {
            ip: record.peer_rdma_ip().filter(|_| is_rdma).map(|ip| ip.to_canonical()),
            printed,
            qp: record.peer.qp,
            ..End::default()
        };
        let line = Some((Arc::clone(source), record.line));
        Self { near, far, place: Place { time: record.time, taken, line }, rank }
    }

    fn of_event(event: &QpEvent, taken: Timestamp) -> Self {
        let near = End {
            qp: Some(event.qp.lqpn),
            task: event.qp.pid(),
            device: Some(Arc::clone(&event.qp.device)),
            ..End::default()
        };
        let far = End { qp: event.qp.rqpn, ..End::default() };
        let place = Place { time: Some(event.time), taken, line: None };
        Self { near, far, place, rank: Rank::Failed }
    }

    fn of_failure(failure: &QpFailure, taken: Timestamp) -> Self {
        let near = End {
            qp: Some(failure.lqpn),
            task: failure.pid,
            device: Some(Arc::clone(&failure.device)),
            ..End::default()
        };
        let far = End { qp: failure.settings.rqpn, ..End::default() };
        let place = Place { time: Some(failure.time), taken, line: None };
        let is_request = failure.what == QpFailureKind::ModifiedToErr;
        let rank = if is_request { Rank::Failed } else { Rank::Driver };
        Self { near, far, place, rank }
    }

    fn of_trouble(trouble: &WireTrouble, taken: Timestamp) -> Self {
        let (rank, expected): (_, &[WcStatus]) = match trouble.kind {
            WireKind::Stalled { .. } => (Rank::Stalled, &[WcStatus::RETRY_EXC]),
            WireKind::GaveUp { .. } => (Rank::GaveUp, &[WcStatus::RETRY_EXC]),
            WireKind::NotReady { .. } => (Rank::Refused, &[WcStatus::RNR_RETRY_EXC]),
            WireKind::FatalNak { .. } => (Rank::Refused, &REFUSALS),
        };
        let near = End {
            ip: Some(trouble.requester.to_canonical()),
            qp: trouble.requester_qp,
            expected: Some(expected),
            ..End::default()
        };
        let ip = Some(trouble.responder.to_canonical());
        let far = End { ip, qp: trouble.responder_qp, ..End::default() };
        let place = Place { time: Some(trouble.time), taken, line: None };
        Self { near, far, place, rank }
    }

    /// A place in an order that does not depend on when signals were taken.
    pub(super) fn key(&self) -> impl Ord + use<> {
        let Place { time, line, .. } = &self.place;
        let time = time.map_or(u64::MAX, Timestamp::as_nanos);
        let sides = [&self.near, &self.far]
            .map(|end| (end.qp, end.ip, end.printed, end.process.clone(), end.device.clone()));
        (time, line.clone(), self.rank, sides)
    }

    /// Whether it names nothing but its source.
    pub(super) fn is_nameless(&self) -> bool {
        self.near.is_nameless() && self.far.is_nameless()
    }
}

/// Statuses that a NAK may end a request with.
static REFUSALS: [WcStatus; 4] =
    [WcStatus::REM_INV_REQ, WcStatus::REM_ACCESS, WcStatus::REM_OP, WcStatus::REM_ABORT];

const fn is_kernel(producer: Producer) -> bool {
    matches!(
        producer,
        Producer::Mlx5Kernel | Producer::Rxe | Producer::Bnxt | Producer::Lustre | Producer::Nvme
    )
}

impl Place {
    /// The later of two.
    pub(super) fn later(&self, other: &Self) -> Self {
        let key =
            |place: &Self| (place.time, place.taken, place.line.as_ref().map(|(_, line)| *line));
        let place = if key(self) >= key(other) { self } else { other };
        // It is the latest that was heard of it, whatever the time of its own.
        Self { taken: self.taken.max(other.taken), ..place.clone() }
    }

    /// How far apart two signals are, in nanoseconds of time or, where they have none, in lines of a log;
    /// `None` when that is more than `limits` allow.
    pub(super) fn distance(&self, other: &Self, limit: Duration, lines: u64) -> Option<u64> {
        let limit = limit.as_nanos() as u64;
        if let (Some(one), Some(other)) = (self.time, other.time) {
            let apart = one.as_nanos().abs_diff(other.as_nanos());
            return (apart <= limit).then_some(apart);
        }
        if let (Some((log, one)), Some((other_log, other))) = (&self.line, &other.line)
            && log == other_log
        {
            let apart = one.abs_diff(*other);
            return (apart <= lines).then_some(apart);
        }
        let apart = self.taken.as_nanos().abs_diff(other.taken.as_nanos());
        (apart <= limit).then_some(apart)
    }
}
