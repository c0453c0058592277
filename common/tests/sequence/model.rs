//! The same rules with sets that know no limit, and PSNs that do not wrap.

use std::collections::BTreeSet;

use roce_common::sequence::{
    GRACE, IDLE, MAX_GAP, MAX_REWIND, MIN_RESTART, MIN_TIMEOUT, SequenceKind,
};

use crate::trace::Step;

/// Counters of the engine, in its order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) missing: u32,
    pub(crate) lost: u32,
    pub(crate) recovered: u32,
    pub(crate) unseen: u32,
    pub(crate) reordered: u32,
    pub(crate) retransmitted: u32,
    pub(crate) retransmitted_bytes: u32,
    pub(crate) tap_duplicates: u32,
    pub(crate) go_back_n_episodes: u32,
    pub(crate) timeouts: u32,
    pub(crate) rnr_waits: u32,
}

impl Counts {
    pub(crate) fn all(&self) -> [u32; 11] {
        let Self { missing, lost, recovered, unseen, reordered, retransmitted, .. } = *self;
        let Self { retransmitted_bytes, tap_duplicates, go_back_n_episodes, timeouts, .. } = *self;
        [
            missing,
            lost,
            recovered,
            unseen,
            reordered,
            retransmitted,
            retransmitted_bytes,
            tap_duplicates,
            go_back_n_episodes,
            timeouts,
            self.rnr_waits,
        ]
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Fresh { named: bool },
    Alone,
    Run,
}

#[derive(Clone, Debug)]
struct Fill {
    psns: Vec<u64>,
    how: How,
    time_us: u64,
}

#[derive(Clone, Copy, Debug)]
struct Rewind {
    cursor: u64,
    confirmed: bool,
}

#[derive(Clone, Copy, Debug)]
struct Asked {
    psn: u64,
    is_rnr: bool,
}

/// What the engine should know of one PSN space.
#[derive(Debug, Default)]
pub(crate) struct Model {
    pub(crate) counts: Counts,
    next: Option<u64>,
    first: u64,
    uncertain: bool,
    response_open: bool,
    holes: BTreeSet<u64>,
    /// Oldest first.
    fills: Vec<Fill>,
    rewind: Option<Rewind>,
    nak: Option<Asked>,
    acknowledged: Option<u64>,
    echo: Option<u64>,
}

impl Model {
    /// Whether the engine's fixed size holds all this.
    pub(crate) fn fits(&self) -> bool {
        let Some(next) = self.next else { return true };
        let mut runs = 0;
        let mut end = None;
        for &hole in self.holes.iter().take_while(|hole| next - **hole > 128) {
            runs += u32::from(end != Some(hole));
            end = Some(hole + 1);
        }
        runs <= 2 && self.fills.len() <= 3
    }

    pub(crate) fn observe(&mut self, step: &Step) {
        if step.is_copy {
            self.counts.tap_duplicates += 1;
            return;
        }
        if step.kind == SequenceKind::Untracked {
            return;
        }
        let Some(next) = self.next else { return self.learn(step) };
        self.settle(|fill| {
            !matches!(fill.how, How::Fresh { .. })
                && (step.time_us >> 10) - (fill.time_us >> 10) >= u64::from(GRACE)
        });
        let is_idle = step.idle > IDLE;
        if step.psn >= next {
            let ahead = step.psn - next;
            if ahead > u64::from(MAX_GAP) || is_idle && ahead > 0 {
                return self.learn(step);
            }
            return self.ahead(step, next);
        }
        let back = next - step.psn;
        let starts = matches!(
            step.kind,
            SequenceKind::Start
                | SequenceKind::Read
                | SequenceKind::UnreliableStart
                | SequenceKind::ResponseFirst
        );
        if back > u64::from(MAX_REWIND) || is_idle && starts && back > u64::from(MIN_RESTART) {
            return self.learn(step);
        }
        if step.psn >= self.first {
            self.behind(step, next);
        }
    }

    fn learn(&mut self, step: &Step) {
        self.restart();
        self.first = step.psn;
        self.step(step, step.psn + step.taken());
    }

    pub(crate) fn restart(&mut self) {
        self.finish();
        *self = Self { counts: self.counts, ..Self::default() };
    }

    /// Decides all that is left.
    pub(crate) fn finish(&mut self) {
        self.settle_echo();
        if self.is_fresh() {
            self.isolate();
        }
        self.settle(|_| true);
    }

    fn step(&mut self, step: &Step, next: u64) {
        self.next = Some(next);
        self.uncertain = step.span == 0;
        self.response_open =
            matches!(step.kind, SequenceKind::ResponseFirst | SequenceKind::ResponseMiddle);
    }

    fn settle(&mut self, is_due: impl Fn(&Fill) -> bool) {
        for fill in self.fills.extract_if(.., |fill| is_due(fill)) {
            self.counts.lost += fill.psns.len() as u32;
            self.counts.recovered += fill.psns.len() as u32;
        }
    }

    fn is_fresh(&self) -> bool {
        self.fills.last().is_some_and(|fill| matches!(fill.how, How::Fresh { .. }))
    }

    fn isolate(&mut self) {
        let Some(mut fill) = self.fills.pop() else { return };
        if fill.how == (How::Fresh { named: true }) {
            fill.how = How::Alone;
            self.fills.push(fill);
        } else {
            self.counts.reordered += fill.psns.len() as u32;
        }
    }

    fn ahead(&mut self, step: &Step, next: u64) {
        self.settle_echo();
        if self.is_fresh() {
            self.isolate();
        }
        self.rewind = None;
        if !self.uncertain {
            let missing = self.missing(step, next);
            self.counts.missing += missing.len() as u32;
            self.holes.extend(missing);
        }
        let next = step.psn + step.taken();
        self.step(step, next);
        if is_unreliable(step.kind) {
            for _ in self.holes.extract_if(.., |hole| next - *hole > 128) {
                self.counts.lost += 1;
            }
        }
    }

    /// Of the PSNs that were skipped, those that must have been there.
    fn missing(&self, step: &Step, next: u64) -> Vec<u64> {
        let skipped = next..step.psn;
        let goes_on =
            matches!(step.kind, SequenceKind::ResponseMiddle | SequenceKind::ResponseLast);
        let is_response = goes_on
            || matches!(step.kind, SequenceKind::ResponseFirst | SequenceKind::ResponseOnly);
        if !is_response {
            return skipped.collect();
        }
        let acknowledged_between = self.acknowledged.is_some_and(|psn| skipped.contains(&psn));
        let sure = |psn: &u64| {
            self.response_open && goes_on && !acknowledged_between
                || self.response_open && *psn == next
                || goes_on && *psn + 1 == step.psn
        };
        skipped.filter(sure).collect()
    }

    fn behind(&mut self, step: &Step, next: u64) {
        let end = next.min(step.psn + step.taken());
        let filled: Vec<u64> = (step.psn..end).filter(|psn| self.holes.remove(psn)).collect();
        // The engine does not split a run of old holes: what is before a fill is forgotten.
        if let Some(&first) = filled.first() {
            let mut before = first;
            while next - first > 128 && before > 0 && self.holes.remove(&(before - 1)) {
                before -= 1;
            }
        }
        if is_unreliable(step.kind) {
            if filled.is_empty() {
                self.repeat(step);
            } else {
                self.counts.reordered += filled.len() as u32;
            }
            return;
        }
        self.join_echo(step, &filled);
        let skipped =
            self.rewind.map(|rewind| step.psn.cast_signed() - rewind.cursor.cast_signed());
        let confirmed = self.rewind.is_some_and(|rewind| rewind.confirmed);
        let continues = match skipped {
            Some(0) => true,
            Some(1..) => filled.is_empty() || confirmed,
            _ => false,
        };
        let is_next = skipped == Some(0);
        if self.is_fresh() {
            if !is_next {
                self.isolate();
            } else if filled.is_empty() {
                self.fills.last_mut().expect("fresh").how = How::Run;
            }
        }
        if !continues && filled.is_empty() && self.rewind.is_some() {
            self.echo = Some(step.psn);
            return self.repeat(step);
        }
        let named = self.nak.is_some_and(|nak| !nak.is_rnr && (step.psn..end).contains(&nak.psn));
        if continues {
            self.go_on(&filled);
        } else {
            self.begin(step.psn, step, &filled, named);
        }
        let is_run =
            self.rewind.expect("begun").confirmed && (!continues || is_next) && !self.is_fresh();
        let cursor = step.psn + step.taken();
        self.rewind.as_mut().expect("begun").cursor = cursor;
        if cursor >= next {
            self.rewind = None;
        }
        if cursor > next {
            self.step(step, cursor);
        }
        if filled.is_empty() {
            return self.repeat(step);
        }
        self.add_fill(step, &filled, if is_run { How::Run } else { How::Fresh { named } });
    }

    /// Fills in a row of the same kind are one.
    fn add_fill(&mut self, step: &Step, filled: &[u64], how: How) {
        let len = filled.len() as u64;
        let psns: Vec<u64> = (step.psn..step.psn + len).collect();
        if let Some(last) = self.fills.last_mut()
            && last.psns.first().is_some_and(|start| start + last.psns.len() as u64 == step.psn)
        {
            let joined = match (last.how, how) {
                (How::Run, How::Run) => Some(How::Run),
                (How::Fresh { named }, How::Fresh { named: also }) => {
                    Some(How::Fresh { named: named || also })
                }
                _ => None,
            };
            if let Some(joined) = joined {
                last.how = joined;
                last.time_us = step.time_us;
                last.psns.extend(psns);
                return;
            }
        }
        self.fills.push(Fill { psns, how, time_us: step.time_us });
    }

    fn repeat(&mut self, step: &Step) {
        self.counts.retransmitted += 1;
        self.counts.retransmitted_bytes += step.payload;
        self.again(step.psn, false);
    }

    fn again(&mut self, psn: u64, is_alone: bool) {
        let hit =
            |fill: &&mut Fill| fill.psns.contains(&psn) && (is_alone || fill.how == How::Alone);
        if let Some(fill) = self.fills.iter_mut().rev().find(hit) {
            self.counts.reordered += 1;
            if fill.psns[0] == psn {
                fill.psns.remove(0);
            } else {
                fill.psns.pop();
            }
        }
        self.fills.retain(|fill| !fill.psns.is_empty());
    }

    fn settle_echo(&mut self) {
        if let Some(echo) = self.echo.take() {
            self.again(echo, true);
        }
    }

    fn join_echo(&mut self, step: &Step, filled: &[u64]) {
        if self.echo == Some(step.psn - 1) {
            self.echo = None;
            self.begin(step.psn - 1, step, filled, false);
            self.rewind.as_mut().expect("begun").cursor = step.psn;
        } else {
            self.settle_echo();
        }
    }

    fn begin(&mut self, start: u64, step: &Step, filled: &[u64], named: bool) {
        let mut confirmed = true;
        if !filled.is_empty() && named {
            confirmed = false;
        } else if let Some(nak) = self.nak.filter(|nak| nak.psn == start) {
            self.counts.go_back_n_episodes += u32::from(!nak.is_rnr);
            self.nak = None;
        } else if step.idle >= MIN_TIMEOUT {
            self.counts.timeouts += 1;
        } else if step.kind == SequenceKind::Read && filled.is_empty() {
            self.counts.go_back_n_episodes += 1;
        } else {
            confirmed = false;
        }
        self.rewind = Some(Rewind { cursor: start, confirmed });
    }

    fn go_on(&mut self, filled: &[u64]) {
        let rewind = self.rewind.as_mut().expect("begun");
        if filled.is_empty() && !rewind.confirmed {
            rewind.confirmed = true;
            self.counts.go_back_n_episodes += 1;
            if self.nak.is_some_and(|nak| rewind.cursor > nak.psn) {
                self.nak = None;
            }
        }
    }

    fn is_behind(&self, psn: u64) -> bool {
        self.next.is_some_and(|next| psn < next && next - psn <= u64::from(MAX_REWIND))
    }

    pub(crate) fn note_ack(&mut self, psn: u64) {
        if !self.is_behind(psn) {
            return;
        }
        self.acknowledged = self.acknowledged.max(Some(psn));
        let nak = self.nak.filter(|nak| !nak.is_rnr);
        if let Some(nak) = nak {
            let mut named = nak.psn;
            while named <= psn && self.holes.remove(&named) {
                self.counts.lost += 1;
                named += 1;
            }
        }
        self.counts.unseen += self.holes.extract_if(..=psn, |_| true).count() as u32;
        if self.nak.is_some_and(|nak| nak.psn <= psn) {
            self.nak = None;
        }
    }

    pub(crate) fn note_answered(&mut self, psn: u64) {
        self.acknowledged = Some(psn);
    }

    pub(crate) fn note_nak(&mut self, psn: u64) {
        self.note_ack(psn - 1);
        let is_known_rnr = self.nak.is_some_and(|nak| nak.is_rnr && nak.psn == psn);
        if self.is_behind(psn) && !is_known_rnr {
            self.nak = Some(Asked { psn, is_rnr: false });
        }
    }

    pub(crate) fn note_rnr(&mut self, psn: u64) {
        self.note_ack(psn - 1);
        self.counts.rnr_waits += 1;
        if self.is_behind(psn) {
            self.nak = Some(Asked { psn, is_rnr: true });
        }
    }
}

fn is_unreliable(kind: SequenceKind) -> bool {
    matches!(kind, SequenceKind::UnreliableStart | SequenceKind::UnreliableMore)
}
