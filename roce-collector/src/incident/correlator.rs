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

mod listed;
mod settle;

use std::collections::VecDeque;
use std::sync::Arc;

use super::claim::Claim;
use super::context::Events;
use super::group::Group;
use super::link::Birth;
use super::{CorrelatorCounts, CorrelatorLimits, Signal};
use crate::capture::Timestamp;
use crate::explain::Severity;
use listed::is_fatal;

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
            Signal::Bpf(failure) if !is_fatal(failure.what) => self.take_note(failure, now),
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
