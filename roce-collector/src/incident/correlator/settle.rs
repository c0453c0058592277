//! Which failures there are, and which of them are told now.

use std::collections::HashSet;
use std::mem;
use std::time::Duration;

use super::{Correlator, Tell, Waiting};
use crate::capture::Timestamp;
use crate::incident::claim::{Claim, Rank};
use crate::incident::cluster::{Cluster, cluster};
use crate::incident::group::Group;

impl Correlator {
    /// Finds out which signals are of one failure, and tells those that are due.
    pub(super) fn settle(&mut self, tell: Tell) {
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
        group.turn_to_primary();
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
        group.turn_to_primary();
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
    pub(super) fn forget(&mut self, now: Timestamp) {
        let limits = &self.limits;
        self.groups.retain(|group| now.since(group.last().taken) <= limits.join);
        self.births.retain(|birth| now.since(birth.time) <= limits.join * 2);
        let before = self.failed.len();
        self.failed.retain(|failed| now.since(failed.claim.place.taken) <= limits.join);
        self.counts.teardowns += (before - self.failed.len()) as u64;
    }
}
