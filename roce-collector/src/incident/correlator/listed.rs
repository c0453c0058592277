//! Queue pairs in ERR, as netlink lists them and probes in the kernel see it.

use std::sync::Arc;

use super::{Correlator, Failed, ListedQp, Waiting};
use crate::bpf::{QpFailure, QpFailureKind};
use crate::capture::Timestamp;
use crate::incident::Signal;
use crate::incident::end::agree;
use crate::incident::group::Group;
use crate::incident::link::Birth;
use crate::incident::words::words;
use crate::inventory::{Change, QpEvent};

/// New queue pairs that are remembered because something was said of their number.
const MAX_BIRTHS: usize = 1024;

impl Correlator {
    pub(super) fn take_event(&mut self, event: Box<QpEvent>, now: Timestamp) {
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

    /// Takes what a probe tells that is no failure by itself.
    pub(super) fn take_note(&mut self, failure: Box<QpFailure>, now: Timestamp) {
        let qp = (Arc::clone(&failure.device), failure.lqpn);
        if failure.what == QpFailureKind::ModifiedToErr {
            // Netlink lists it in ERR if it stays: this alone is how connections end in good order.
            self.take_failed(Signal::Bpf(failure), qp, false, now);
            return;
        }
        let is_end = failure.what == QpFailureKind::Destroyed;
        self.note(&qp, failure.settings.rqpn, &Signal::Bpf(failure));
        if is_end {
            self.let_go(&qp);
        }
    }
}

/// Whether a queue pair is in error after it; some asynchronous events are part of normal work.
pub(super) const fn is_fatal(what: QpFailureKind) -> bool {
    // IB_EVENT_QP_FATAL, IB_EVENT_QP_REQ_ERR, IB_EVENT_QP_ACCESS_ERR.
    matches!(what, QpFailureKind::DriverError | QpFailureKind::AsyncEvent(1..=3))
}
