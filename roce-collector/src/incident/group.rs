//! One failure, as the error sources tell it.

use std::net::IpAddr;
use std::sync::Arc;

use super::claim::{Claim, Place, Rank};
use super::end::End;
use super::words::words;
use super::{LocalReport, PeerReport, Signal, TimelineEntry, WireKind};
use crate::bpf::QpFailureKind;
use crate::capture::Timestamp;
use crate::diagnosis::{Failure, Outcome};
use crate::explain::{Cause, ErrorRecord, Event, WcStatus};
use crate::inventory::QpEvent;

/// `IB_EVENT_QP_ACCESS_ERR` of `enum ib_event_type`.
const ACCESS_ERROR: u32 = 3;
/// Notes of what became of the queue pair afterwards.
const MAX_NOTES: usize = 16;

/// One failure: a primary signal, and what follows from it.
#[derive(Clone, Debug)]
pub struct Group {
    number: u64,
    id: String,
    revision: u32,
    signals: Vec<Told>,
    /// What is known of the side that failed and of the other one.
    near: End,
    far: End,
    notes: Vec<TimelineEntry>,
    context: Context,
    /// Signals that there was no room for.
    left_out: u64,
    last: Place,
}

/// A signal of a group.
#[derive(Clone, Debug)]
struct Told {
    signal: Arc<Signal>,
    place: Place,
    rank: Rank,
    /// It speaks from the other side.
    is_crossed: bool,
}

/// What happened before on the same host, and what it is to blame for.
#[derive(Clone, Debug, Default)]
pub(super) struct Context {
    pub(super) entries: Vec<TimelineEntry>,
    pub(super) blamed: Vec<(Cause, Option<Timestamp>)>,
}

impl Group {
    pub(super) fn new(number: u64, signal: Arc<Signal>, claim: &Claim) -> Self {
        let told = Told::new(signal, claim, false);
        Self {
            number,
            id: String::new(),
            revision: 0,
            last: told.place.clone(),
            signals: vec![told],
            near: claim.near.clone(),
            far: claim.far.clone(),
            notes: Vec::new(),
            context: Context::default(),
            left_out: 0,
        }
    }

    /// Adds a signal of the same failure.
    pub(super) fn add(&mut self, signal: Arc<Signal>, claim: &Claim, is_crossed: bool, max: usize) {
        let (near, far) =
            if is_crossed { (&claim.far, &claim.near) } else { (&claim.near, &claim.far) };
        self.near.absorb(near);
        self.far.absorb(far);
        self.last = self.last.later(&claim.place);
        let told = Told::new(signal, claim, is_crossed);
        if told.replaces_earlier(&mut self.signals) {
            return;
        }
        let is_better = told.order() < self.signals[0].order();
        if self.signals.len() < max {
            let at = if is_better { 0 } else { self.signals.len() };
            self.signals.insert(at, told);
        } else {
            self.left_out += 1;
            if is_better {
                self.signals[0] = told;
            }
        }
    }

    /// The side that the primary signal speaks for is the near one. Call it when all signals are there that were
    /// found to belong together: until then sides are those of the first.
    pub(super) fn turn_to_primary(&mut self) {
        if self.signals[0].is_crossed {
            std::mem::swap(&mut self.near, &mut self.far);
            for told in &mut self.signals {
                told.is_crossed = !told.is_crossed;
            }
        }
    }

    /// What the group says as a whole, to compare further signals with.
    pub(super) fn claim(&self) -> Claim {
        let Self { near, far, .. } = self;
        let rank = self.signals[0].rank;
        Claim { near: near.clone(), far: far.clone(), place: self.last.clone(), rank }
    }

    /// Notes what became of the queue pair.
    pub(super) fn note(&mut self, t: Option<Timestamp>, what: String) {
        if self.notes.len() < MAX_NOTES {
            self.notes.push(TimelineEntry { t, what });
        }
    }

    /// Gives it its name, which stays the same whatever becomes known later.
    pub(super) fn name(&mut self) {
        let time = self.time().map_or_else(
            || "unknown-time".to_owned(),
            |time| time.to_string().chars().filter(char::is_ascii_digit).take(14).collect(),
        );
        let qp = self.near.qp.map_or_else(|| "unknown-qp".to_owned(), |qp| format!("qp{qp:#x}"));
        self.id = format!("{time}-{qp}-{}", self.number);
    }

    pub(super) fn set_context(&mut self, context: Context) {
        self.context = context;
    }

    pub(super) fn revise(&mut self) {
        self.revision += 1;
    }

    /// What makes it worth telling again when it changes.
    pub(super) fn essence(&self) -> impl PartialEq + use<> {
        let ends = [&self.near, &self.far].map(|end| (end.ip, end.qp, end.task));
        (self.signals[0].rank, self.outcome(), ends, self.sources().len(), self.blamed().len())
    }

    pub(super) fn last(&self) -> &Place {
        &self.last
    }

    /// Network interface of the queue pair's port, where netlink lists it.
    pub(super) fn netdev(&self) -> Option<&str> {
        self.listed()?.qp.netdev.as_deref()
    }

    pub(super) const fn near(&self) -> &End {
        &self.near
    }

    pub(super) const fn far(&self) -> &End {
        &self.far
    }

    /// Counts failures from 1, in the order in which they were told.
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// Unique on this collector, and fit for a file name.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// How often it was told before.
    pub const fn revision(&self) -> u32 {
        self.revision
    }

    /// The signal that says most of why.
    pub fn primary(&self) -> &Signal {
        &self.signals[0].signal
    }

    /// All signals, the primary first.
    pub fn signals(&self) -> impl Iterator<Item = &Signal> {
        self.signals.iter().map(|told| &*told.signal)
    }

    /// When the first of its signals was.
    pub fn time(&self) -> Option<Timestamp> {
        self.signals.iter().filter_map(|told| told.place.time).min()
    }

    /// Names of the error sources that spoke of it, that of the primary first.
    pub fn sources(&self) -> Vec<&'static str> {
        let mut sources = Vec::new();
        for name in self.signals().map(Signal::source_name) {
            if !sources.contains(&name) {
                sources.push(name);
            }
        }
        sources
    }

    /// Further lines and signals of the same failure, flushed work among them.
    pub fn secondaries(&self) -> u64 {
        let lines = |(n, signal): (usize, &Signal)| match (n, signal) {
            (0, Signal::Log { record, .. }) if record.status == Some(WcStatus::WR_FLUSH) => {
                record.secondaries.saturating_sub(1)
            }
            (0, Signal::Log { record, .. }) => record.secondaries,
            (0, _) => 0,
            (_, Signal::Log { record, .. }) => match record.status {
                Some(WcStatus::WR_FLUSH) => record.secondaries.max(1),
                _ => record.secondaries + 1,
            },
            _ => 1,
        };
        self.signals().enumerate().map(lines).sum::<u64>() + self.left_out
    }

    /// RDMA device of the queue pair, else the interface that saw it.
    pub fn device(&self) -> Option<&str> {
        self.near.device.as_deref().or_else(|| self.tap())
    }

    /// Interface whose tap saw the packets.
    fn tap(&self) -> Option<&str> {
        self.signals().find_map(|signal| match signal {
            Signal::Wire(trouble) => trouble.device.as_deref(),
            _ => None,
        })
    }

    /// The side that failed.
    pub fn local(&self) -> LocalReport {
        let qp = self.listed().map(|event| &event.qp);
        let printed = self.near.process.as_ref().and_then(|process| process.pid);
        LocalReport {
            ip: self.near.ip,
            qp: self.near.qp,
            pid: self.near.task.or(printed),
            comm: qp.and_then(|qp| qp.comm()).or_else(|| self.caller()).map(str::to_owned),
            pod: qp.and_then(|qp| qp.pod_uid()).map(str::to_owned),
        }
    }

    /// The other side.
    pub fn peer(&self) -> PeerReport {
        PeerReport { ip: self.peer_ip(), qp: self.far.qp }
    }

    fn peer_ip(&self) -> Option<IpAddr> {
        self.far.ip.or(self.far.printed.map(|(ip, _)| ip))
    }

    /// The record with the status of the failed work.
    pub fn record(&self) -> Option<&ErrorRecord> {
        let logged = self.signals.iter().filter_map(|told| match &*told.signal {
            Signal::Log { record, .. } if record.status.is_some() => Some((told, &**record)),
            _ => None,
        });
        logged.min_by_key(|(told, _)| told.order()).map(|(_, record)| record)
    }

    /// What rules are asked with.
    pub fn failure(&self) -> Failure {
        let record = self.record();
        let ranks = || self.signals.iter().map(|told| told.rank);
        Failure {
            time: self.time(),
            outcome: self.outcome(),
            status: record.and_then(|record| record.status),
            vendor: record.and_then(ErrorRecord::vendor_code),
            blamed: self.blamed(),
            is_flush_only: ranks().all(|rank| matches!(rank, Rank::Flush | Rank::Failed))
                && ranks().any(|rank| rank == Rank::Flush),
            completed: self.signals().find_map(|signal| match signal {
                Signal::Log { record, .. } => record.completed,
                _ => None,
            }),
            device: self.near.device.as_deref().map(str::to_owned),
            interface: self.netdev().or_else(|| self.tap()).map(str::to_owned),
            local_ip: self.near.ip,
            local_qp: self.near.qp,
            peer_ip: self.peer_ip(),
            peer_qp: self.far.qp,
        }
    }

    /// What happened, in order; what has no time comes last.
    pub fn timeline(&self) -> Vec<TimelineEntry> {
        let told = |told: &Told| TimelineEntry { t: told.place.time, what: words(&told.signal) };
        let mut entries = self.context.entries.clone();
        let mut signals: Vec<_> = self.signals.iter().collect();
        signals.sort_by(|one, other| one.place.line.cmp(&other.place.line));
        entries.extend(signals.into_iter().map(told));
        entries.extend(self.notes.iter().cloned());
        if self.left_out > 0 {
            let what = format!("{} more signals of the same failure", self.left_out);
            entries.push(TimelineEntry { t: None, what });
        }
        entries.sort_by_key(|entry| entry.t.map_or(u64::MAX, Timestamp::as_nanos));
        entries
    }

    fn blamed(&self) -> Vec<(Cause, Option<Timestamp>)> {
        let mut blamed = self.context.blamed.clone();
        for told in &self.signals {
            let cause = match &*told.signal {
                Signal::Log { record, .. } if record.status.is_none() => record.cause(),
                Signal::Bpf(failure) if failure.what == QpFailureKind::AsyncEvent(ACCESS_ERROR) => {
                    Some(Cause::AccessError)
                }
                _ => None,
            };
            blamed.extend(cause.map(|cause| (cause, told.signal.time())));
        }
        blamed
    }

    fn listed(&self) -> Option<&QpEvent> {
        let near = self.signals.iter().filter(|told| !told.is_crossed);
        near.into_iter().find_map(|told| match &*told.signal {
            Signal::Netlink(event) => Some(&**event),
            _ => None,
        })
    }

    /// Name of the thread that set the queue pair to ERR.
    fn caller(&self) -> Option<&str> {
        self.signals.iter().filter(|told| !told.is_crossed).find_map(|told| match &*told.signal {
            Signal::Bpf(failure) => failure.comm.as_deref(),
            _ => None,
        })
    }

    fn outcome(&self) -> Outcome {
        let says = |told: &Told| match &*told.signal {
            Signal::Log { record, .. } => {
                record.status.is_some() || record.event.as_ref().is_some_and(is_end_of_qp)
            }
            Signal::Netlink(_) | Signal::Bpf(_) => true,
            // IBTA 9.9.2: after such a NAK the requester's queue pair is in error.
            Signal::Wire(trouble) => matches!(trouble.kind, WireKind::FatalNak { .. }),
        };
        let is_of = |rank: Rank| self.signals.iter().any(|told| told.rank == rank);
        if self.signals.iter().any(says) {
            Outcome::Died
        } else if is_of(Rank::Stalled) && !is_of(Rank::GaveUp) {
            Outcome::Stalled
        } else {
            Outcome::Unknown
        }
    }
}

/// Whether a queue pair does not work any more after an event.
fn is_end_of_qp(event: &Event) -> bool {
    const NAMES: [&str; 7] = [
        "qp_error",
        "error_cqe",
        "local work queue catastrophic error",
        "invalid request local work queue error",
        "local access violation work queue error",
        "local catastrophic error",
        "WQ fatal",
    ];
    NAMES.contains(&event.name())
}

impl Told {
    fn new(signal: Arc<Signal>, claim: &Claim, is_crossed: bool) -> Self {
        Self { signal, place: claim.place.clone(), rank: claim.rank, is_crossed }
    }

    /// The least is the primary: it says most, and first.
    fn order(&self) -> impl Ord + use<> {
        let time = self.place.time.map_or(u64::MAX, Timestamp::as_nanos);
        (std::cmp::Reverse(self.rank), time, self.place.line.clone())
    }

    /// Packets tell of a retry ladder again while it grows: the latest word counts.
    fn replaces_earlier(&self, signals: &mut [Self]) -> bool {
        let Signal::Wire(new) = &*self.signal else { return false };
        let is_same = |told: &&mut Self| match &*told.signal {
            Signal::Wire(old) => {
                told.rank == self.rank
                    && (old.requester, old.responder) == (new.requester, new.responder)
                    && (old.requester_qp, old.responder_qp) == (new.requester_qp, new.responder_qp)
            }
            _ => false,
        };
        let earlier = signals.iter_mut().find(is_same);
        let Some(told) = earlier else { return false };
        if told.signal.time() <= self.signal.time() {
            told.signal = Arc::clone(&self.signal);
        }
        true
    }
}
