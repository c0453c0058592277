//! From signals to failures.
//!
//! Signals wait for a short while, so that the order in which they come does not matter: then those that
//! speak of one failure are told as one [`Group`]. What comes later joins it for a minute; when more becomes
//! known by that (a better reason, a process, an address), the group is told again with its number and a
//! higher revision. Flushes that come later are only counted.
//!
//! # What speaks of one failure
//!
//! Two signals are of one failure when they have something in common, and nothing that is known of the same
//! side contradicts it: QP number, address, device of the same kind, process, status.
//!
//! | in common | within |
//! |---|---|
//! | a QP number, on the same side; crosswise (lines of both hosts) both, or one and an address | 60 s |
//! | both addresses crosswise, in lines of both hosts | 60 s |
//! | the peer's address: of the GID or of a packet; also the one that NCCL prints of its bootstrap; IPv4 and mapped IPv6 are one | 15 s |
//! | the address that a program prints for its queue | 15 s |
//! | the process: of a line and of a queue pair in ERR, if it is the only one of that process; of flushed work | 10 s |
//! | the source: of flushed work, or of an event without a status, and an error | 10 s |
//! | nothing but the time: a status that names nothing, and the only queue pair in trouble of which no log told | 10 s |
//!
//! Lines without a time count lines instead: 4096 of one log. The pairs with most in common are joined first, a
//! QP number outweighs everything else. A number that netlink lists as that of a new queue pair ends the
//! claim of what was said before it. A process with several queue pairs in ERR does not say which one its line is
//! about: they are not joined by it.
//!
//! The primary is the signal that says most: a status that is certain, then retries that ran out (which also follow from
//! an error of the peer), then what packets show, then events, then netlink; of equals the first one.
//!
//! # What is no failure
//!
//! Events of severity info are context: those of the ten minutes before, of the same host and port, stand in
//! the time line. A queue pair that netlink lists in ERR, and of which nothing else is said, is a failure only
//! if it stays listed for five seconds: processes that end move their queue pairs to ERR and destroy them.
//! One that was in ERR as the collector started never is one by itself, nor is one that a program set to ERR.
//! What its driver found, as probes in the kernel tell it, is a failure.

use std::collections::{HashSet, VecDeque};
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use super::claim::{Claim, Rank};
use super::cluster::{Cluster, cluster};
use super::context::Events;
use super::end::agree;
use super::group::Group;
use super::link::Birth;
use super::words::words;
use super::{CorrelatorCounts, CorrelatorLimits, Signal};
use crate::bpf::QpFailureKind;
use crate::capture::Timestamp;
use crate::explain::Severity;
use crate::inventory::{Change, QpEvent};

/// New queue pairs that are remembered because something was said of their number.
const MAX_BIRTHS: usize = 1024;

/// Brings signals together that speak of one failure. See the module.
#[derive(Debug)]
pub struct Correlator {
    limits: CorrelatorLimits,
    waiting: Vec<Waiting>,
    /// Queue pairs in ERR.
    failed: VecDeque<Waiting>,
    /// Failures that were told and can still be joined.
    groups: VecDeque<Group>,
    ready: VecDeque<Group>,
    events: Events,
    births: VecDeque<Birth>,
    newborn: Option<(ListedQp, Timestamp)>,
    counts: CorrelatorCounts,
}

/// RDMA device and number.
type ListedQp = (Arc<str>, u32);

/// A signal that waits for others.
#[derive(Debug)]
struct Waiting {
    signal: Arc<Signal>,
    claim: Claim,
    /// The queue pair in ERR, if it is one.
    failed: Option<Failed>,
}

/// A queue pair in ERR.
#[derive(Debug)]
struct Failed {
    qp: ListedQp,
    /// Whether it is a failure if nothing else is said of it.
    stands_alone: bool,
}

/// Which failures are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tell {
    /// Those that nothing more is expected of at this time.
    Due(Timestamp),
    /// Those with a signal other than of netlink, to make room.
    Early,
    /// All.
    All,
}

impl Correlator {
    /// A correlator that was told nothing.
    pub fn new(limits: CorrelatorLimits) -> Self {
        Self {
            limits,
            waiting: Vec::new(),
            failed: VecDeque::new(),
            groups: VecDeque::new(),
            ready: VecDeque::new(),
            events: Events::default(),
            births: VecDeque::new(),
            newborn: None,
            counts: CorrelatorCounts::default(),
        }
    }

    /// Takes what an error source says. `now` is the time at which it does; for files any time that does not
    /// go back, for example always the same.
    pub fn take(&mut self, signal: Signal, now: Timestamp) {
        self.counts.signals += 1;
        match signal {
            Signal::Netlink(event) => self.take_event(event, now),
            Signal::Bpf(failure) if failure.what == QpFailureKind::Destroyed => {
                let qp = (Arc::clone(&failure.device), failure.lqpn);
                self.note(&qp, failure.settings.rqpn, &Signal::Bpf(failure));
                self.let_go(&qp);
            }
            Signal::Bpf(failure) if failure.what == QpFailureKind::ModifiedToErr => {
                // Netlink lists it in ERR if it stays: this alone is how connections end in good order.
                let qp = (Arc::clone(&failure.device), failure.lqpn);
                self.take_failed(Signal::Bpf(failure), qp, false, now);
            }
            Signal::Bpf(failure) if !is_fatal(failure.what) => {
                let qp = (Arc::clone(&failure.device), failure.lqpn);
                self.note(&qp, failure.settings.rqpn, &Signal::Bpf(failure));
            }
            Signal::Log { ref record, .. } if record.severity() == Severity::Info => {
                self.counts.context += 1;
                let Waiting { signal, claim, .. } = Waiting::new(signal, now);
                self.events.add(signal, claim, &self.limits);
            }
            signal => {
                if self.waiting.len() >= self.limits.max_waiting {
                    self.settle(Tell::Early);
                }
                self.waiting.push(Waiting::new(signal, now));
            }
        }
    }

    /// Gives the failures of which nothing more is expected at `now`, and those that were told and of which
    /// more became known.
    pub fn due(&mut self, now: Timestamp) -> Vec<Group> {
        self.settle(Tell::Due(now));
        self.forget(now);
        self.ready.drain(..).collect()
    }

    /// Gives all failures: no more signals will come.
    pub fn finish(&mut self) -> Vec<Group> {
        self.settle(Tell::All);
        self.counts.teardowns += self.failed.drain(..).count() as u64;
        self.groups.clear();
        self.ready.drain(..).collect()
    }

    /// What became of the signals.
    pub fn counts(&self) -> CorrelatorCounts {
        CorrelatorCounts { context_left_out: self.events.left_out, ..self.counts }
    }

    fn take_event(&mut self, event: Box<QpEvent>, now: Timestamp) {
        let qp = (Arc::clone(&event.qp.device), event.qp.lqpn);
        match event.change {
            Change::Appeared => {
                self.let_go(&qp);
                self.remember_birth(&qp, event.time);
                self.newborn = Some((qp, event.time));
            }
            Change::Vanished | Change::OutOfSight => {
                self.note(&qp, event.qp.rqpn, &Signal::Netlink(event));
                self.let_go(&qp);
            }
            Change::State { .. } => {
                self.note(&qp, event.qp.rqpn, &Signal::Netlink(event));
                // It is in use again.
                self.failed.retain(|failed| !failed.is_of(&qp));
            }
            Change::Failed { from } => {
                let born = self.newborn.as_ref();
                let is_new = born.is_some_and(|(born, time)| *born == qp && *time == event.time);
                let stands_alone = from.is_some() || is_new;
                self.take_failed(Signal::Netlink(event), qp, stands_alone, now);
            }
        }
    }

    fn take_failed(&mut self, signal: Signal, qp: ListedQp, stands_alone: bool, now: Timestamp) {
        let source = signal.source_name();
        self.failed.retain(|it| !it.is_of(&qp) || it.signal.source_name() != source);
        if self.failed.len() >= self.limits.max_failed {
            self.failed.pop_front();
            self.counts.failed_left_out += 1;
        }
        let waiting = Waiting::new(signal, now);
        self.failed.push_back(Waiting { failed: Some(Failed { qp, stands_alone }), ..waiting });
    }

    /// A queue pair in ERR that is gone was no failure by itself. It may still tell whose a line is.
    fn let_go(&mut self, qp: &ListedQp) {
        for waiting in self.failed.iter_mut().filter(|failed| failed.is_of(qp)) {
            if let Some(failed) = &mut waiting.failed {
                failed.stands_alone = false;
            }
        }
    }

    fn remember_birth(&mut self, (device, qp): &ListedQp, time: Timestamp) {
        let waiting = self.waiting.iter().chain(&self.failed).map(|waiting| waiting.claim.near.qp);
        let told = self.groups.iter().map(|group| group.near().qp);
        if waiting.chain(told).any(|known| known == Some(*qp)) {
            if self.births.len() >= MAX_BIRTHS {
                self.births.pop_front();
            }
            self.births.push_back(Birth { device: Arc::clone(device), qp: *qp, time });
        }
    }

    /// Notes what becomes of a queue pair whose failure was told.
    fn note(&mut self, (device, lqpn): &ListedQp, rqpn: Option<u32>, signal: &Signal) {
        let is_of = |group: &&mut Group| {
            let known = group.near().device.as_ref();
            group.near().qp == Some(*lqpn)
                && known.is_none_or(|known| known == device)
                && agree(group.far().qp, rqpn).is_some()
        };
        let told = self.groups.iter_mut().filter(is_of);
        told.for_each(|group| group.note(signal.time(), words(signal)));
    }

    /// Finds out which signals are of one failure, and tells those that are due.
    fn settle(&mut self, tell: Tell) {
        if self.waiting.is_empty() && self.failed.is_empty() {
            return;
        }
        let mut waiting = mem::take(&mut self.waiting);
        waiting.sort_by_cached_key(|waiting| waiting.claim.key());
        let (mut related, alone) = self.split_failed(&waiting);
        related.sort_by_cached_key(|waiting| waiting.claim.key());
        let told: Vec<_> = self.groups.iter().map(Group::claim).collect();
        let failed_from = told.len() + waiting.len();
        waiting.extend(related);
        let claims: Vec<_> = told.iter().chain(waiting.iter().map(|it| &it.claim)).collect();
        let births = self.births.make_contiguous();
        let clusters = cluster(&claims, told.len(), failed_from, births, &self.limits);

        let told = told.len();
        let mut waiting: Vec<_> = waiting.into_iter().map(Some).collect();
        for Cluster { members, .. } in clusters {
            // A failure that was told is the first of its cluster.
            let (group, own) = members.split_at(usize::from(members[0].node < told));
            let signals = own.iter().filter_map(|member| {
                Some((waiting[member.node - told].take()?, member.is_crossed))
            });
            let signals: Vec<_> = signals.collect();
            match group.first() {
                Some(group) => self.join(group.node, signals),
                None => self.tell_or_keep(signals, tell),
            }
        }
        for waiting in alone {
            self.tell_or_keep(vec![(waiting, false)], tell);
        }
        while self.groups.len() > self.limits.max_groups {
            self.groups.pop_front();
            self.counts.closed_early += 1;
        }
    }

    /// Queue pairs in ERR that other signals may speak of, and the others, which are many when a process ends.
    fn split_failed(&mut self, waiting: &[Waiting]) -> (Vec<Waiting>, Vec<Waiting>) {
        let told = self.groups.iter().flat_map(|group| [group.near(), group.far()]);
        let said = waiting.iter().flat_map(|it| [&it.claim.near, &it.claim.far]);
        let (mut qps, mut tasks) = (HashSet::new(), HashSet::new());
        for end in told.chain(said) {
            qps.extend(end.qp);
            tasks.extend(end.task);
            tasks.extend(end.process.as_ref().and_then(|process| process.pid));
        }
        let has_nameless = waiting.iter().any(|waiting| waiting.claim.is_nameless());
        let (mut listed, mut twice) = (HashSet::new(), HashSet::new());
        for qp in self.failed.iter().filter_map(|it| it.failed.as_ref()).map(|it| &it.qp) {
            if !listed.insert(qp) {
                twice.insert(qp.clone());
            }
        }
        let is_related = |waiting: &Waiting| {
            let Claim { near, far, .. } = &waiting.claim;
            let is_twice = waiting.failed.as_ref().is_some_and(|it| twice.contains(&it.qp));
            let is_named = [near.qp, far.qp].into_iter().flatten().any(|qp| qps.contains(&qp));
            has_nameless
                || is_twice
                || is_named
                || near.task.is_some_and(|task| tasks.contains(&task))
        };
        mem::take(&mut self.failed).into_iter().partition(is_related)
    }

    fn join(&mut self, at: usize, signals: Vec<(Waiting, bool)>) {
        if signals.is_empty() {
            return;
        }
        let group = &mut self.groups[at];
        let before = group.essence();
        for (Waiting { signal, claim, .. }, is_crossed) in signals {
            group.add(signal, &claim, is_crossed, self.limits.max_signals);
        }
        // One that nobody took yet is told as it is now.
        let is_taken = self.ready.iter().all(|ready| ready.number() != group.number());
        if is_taken && group.essence() == before {
            return;
        }
        if is_taken {
            group.revise();
            self.counts.revisions += 1;
        }
        group.set_context(self.events.before(group, &self.limits));
        let group = group.clone();
        self.make_ready(group);
    }

    fn tell_or_keep(&mut self, signals: Vec<(Waiting, bool)>, tell: Tell) {
        if !self.is_told(&signals, tell) {
            for (waiting, _) in signals {
                match waiting.failed {
                    Some(_) => self.failed.push_back(waiting),
                    None => self.waiting.push(waiting),
                }
            }
            return;
        }
        let mut signals = signals.into_iter();
        let Some((Waiting { signal, claim, .. }, _)) = signals.next() else { return };
        self.counts.failures += 1;
        let mut group = Group::new(self.counts.failures, signal, &claim);
        for (Waiting { signal, claim, .. }, is_crossed) in signals {
            group.add(signal, &claim, is_crossed, self.limits.max_signals);
        }
        group.name();
        group.set_context(self.events.before(&group, &self.limits));
        self.groups.push_back(group.clone());
        self.make_ready(group);
    }

    fn make_ready(&mut self, group: Group) {
        self.ready.retain(|ready| ready.number() != group.number());
        if self.ready.len() >= self.limits.max_ready {
            self.ready.pop_front();
            self.counts.lost += 1;
        }
        self.ready.push_back(group);
    }

    fn is_told(&mut self, signals: &[(Waiting, bool)], tell: Tell) -> bool {
        let is_listed_alone = signals.iter().all(|(waiting, _)| waiting.failed.is_some());
        match tell {
            Tell::Due(now) => signals.iter().any(|(waiting, _)| {
                let wait = self.wait(waiting, signals, is_listed_alone);
                wait.is_some_and(|wait| now.since(waiting.claim.place.taken) >= wait)
            }),
            Tell::Early => {
                self.counts.early += u64::from(!is_listed_alone);
                !is_listed_alone
            }
            Tell::All => !is_listed_alone,
        }
    }

    /// How long others are waited for after this signal; `None` when it is none of a failure.
    fn wait(
        &self,
        waiting: &Waiting,
        signals: &[(Waiting, bool)],
        is_listed_alone: bool,
    ) -> Option<Duration> {
        let is_confirmed = || signals.iter().any(|(waiting, _)| waiting.failed.is_some());
        match waiting.claim.rank {
            Rank::Failed => waiting
                .failed
                .as_ref()
                .filter(|failed| is_listed_alone && failed.stands_alone)
                .map(|_| self.limits.stays_failed),
            Rank::Flush => Some(self.limits.gather_flush),
            Rank::Stalled | Rank::Driver | Rank::GaveUp | Rank::Refused if !is_confirmed() => {
                Some(self.limits.gather_wire)
            }
            _ => Some(self.limits.gather),
        }
    }

    /// Forgets what cannot be joined any more.
    fn forget(&mut self, now: Timestamp) {
        let limits = &self.limits;
        self.groups.retain(|group| now.since(group.last().taken) <= limits.join);
        self.births.retain(|birth| now.since(birth.time) <= limits.join * 2);
        let before = self.failed.len();
        self.failed.retain(|failed| now.since(failed.claim.place.taken) <= limits.join);
        self.counts.teardowns += (before - self.failed.len()) as u64;
    }
}

/// Whether a queue pair is in error after it; some asynchronous events are part of normal work.
const fn is_fatal(what: QpFailureKind) -> bool {
    // IB_EVENT_QP_FATAL, IB_EVENT_QP_REQ_ERR, IB_EVENT_QP_ACCESS_ERR.
    matches!(what, QpFailureKind::DriverError | QpFailureKind::AsyncEvent(1..=3))
}

impl Waiting {
    fn new(signal: Signal, now: Timestamp) -> Self {
        let signal = signal.shortened();
        let claim = Claim::of(&signal, now);
        Self { signal: Arc::new(signal), claim, failed: None }
    }

    fn is_of(&self, qp: &ListedQp) -> bool {
        self.failed.as_ref().is_some_and(|failed| failed.qp == *qp)
    }
}

#[cfg(test)]
mod tests;
