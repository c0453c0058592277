//! The same rules with sets and lists, and PSNs that do not wrap.

use std::collections::BTreeSet;

use roce_common::sequence::{
    GRACE, IDLE, MAX_GAP, MAX_REWIND, MIN_RESTART, MIN_TIMEOUT, SequenceKind, read_span,
};

use crate::holes::{Holes, Hull};
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

    fn recover(&mut self, count: u64) {
        self.lost += count as u32;
        self.recovered += count as u32;
    }
}

/// Packets in a row behind the next PSN that are not yet known to be a rewind.
#[derive(Clone, Copy, Debug)]
struct Burst {
    start: u64,
    end: u64,
    fills: u64,
    echoes: u64,
    is_named: bool,
    is_silent: bool,
    is_repeat: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    Unknown,
    Nak,
    Timeout,
    NotReady,
    Read,
}

#[derive(Clone, Copy, Debug)]
struct Asked {
    psn: u64,
    is_rnr: bool,
}

/// READs of one length while the path MTU is not known: PSN of the first, length, how many have a
/// request behind them, and the PSNs from each to that one.
#[derive(Clone, Copy, Debug)]
struct Reads {
    start: u64,
    dma_len: u32,
    count: u64,
    advance: u64,
}

/// What the engine should know of one PSN space.
#[derive(Debug, Default)]
pub(crate) struct Model {
    pub(crate) counts: Counts,
    pub(crate) next: Option<u64>,
    first: u64,
    uncertain: bool,
    response_open: bool,
    is_unreliable: bool,
    holes: Holes,
    burst: Option<Burst>,
    filled: Holes,
    alone: Hull,
    touched_us: u64,
    cursor: Option<u64>,
    nak: Option<Asked>,
    acknowledged: Option<u64>,
    reads: Option<Reads>,
    skipped: BTreeSet<u64>,
}

impl Model {
    pub(crate) fn observe(&mut self, step: &Step) {
        if step.is_copy {
            self.counts.tap_duplicates += 1;
            return;
        }
        let Some(next) = self.next else { return self.learn(step) };
        self.settle_due(step.time_us);
        if self.is_new_sequence(step, next) {
            self.learn(step);
        } else if step.psn >= next {
            self.ahead(step, next);
        } else if step.psn >= self.first {
            self.behind(step, next);
        }
        self.age();
    }

    fn is_new_sequence(&self, step: &Step, next: u64) -> bool {
        let is_idle = step.idle > IDLE;
        if step.psn >= next {
            let ahead = step.psn - next;
            return ahead > u64::from(MAX_GAP) || is_idle && ahead > 0;
        }
        let back = next - step.psn;
        if back > u64::from(MAX_REWIND) {
            return true;
        }
        let starts = matches!(
            step.kind,
            SequenceKind::Start
                | SequenceKind::Read
                | SequenceKind::UnreliableStart
                | SequenceKind::ResponseFirst
        );
        let far = u64::from(MIN_RESTART);
        let is_acknowledged = self.acknowledged.is_some_and(|psn| psn > step.psn + far);
        starts && back > far && (is_idle || !step.kind.is_response() && is_acknowledged)
    }

    fn learn(&mut self, step: &Step) {
        self.restart();
        self.first = step.psn;
        self.start_read(step);
        self.step(step);
    }

    pub(crate) fn restart(&mut self) {
        self.finish();
        *self = Self { counts: self.counts, ..Self::default() };
    }

    /// Decides all that waits for a late packet.
    pub(crate) fn finish(&mut self) {
        self.close_burst();
        self.settle();
    }

    fn settle(&mut self) {
        let mut filled = self.filled.take_all();
        if let Some(burst) = self.burst {
            filled = filled.saturating_sub(burst.fills);
            self.filled.add_somewhere(burst.start, burst.end, burst.fills);
        }
        let alone = self.alone.take_all();
        self.counts.recover(filled + alone);
        if self.is_unreliable {
            self.counts.lost += self.holes.take_all() as u32;
        }
    }

    fn settle_due(&mut self, time_us: u64) {
        if (time_us >> 10) - (self.touched_us >> 10) >= u64::from(GRACE) {
            self.settle();
        }
    }

    /// The engine compares PSNs up to a distance.
    fn age(&mut self) {
        if let Some(next) = self.next {
            self.holes.age(next);
        }
    }

    fn step(&mut self, step: &Step) {
        self.next = Some(step.psn + step.taken());
        self.uncertain = step.span == 0;
        self.response_open =
            matches!(step.kind, SequenceKind::ResponseFirst | SequenceKind::ResponseMiddle);
    }

    fn advance(&mut self, next: u64, count: u64) {
        self.holes.advance(next, count);
        let given_up = self.filled.advance(next, count);
        self.counts.recover(given_up);
    }

    fn start_read(&mut self, step: &Step) {
        if step.span == 0 && step.payload == 0 {
            self.reads = None;
        } else if step.span == 0 && self.reads.is_none_or(|reads| reads.dma_len != step.payload) {
            let (start, dma_len) = (step.psn, step.payload);
            self.reads = Some(Reads { start, dma_len, count: 0, advance: 0 });
        }
    }

    fn ahead(&mut self, step: &Step, next: u64) {
        if let Some(burst) = self.burst
            && self.cursor.is_some_and(|cursor| burst.start > cursor)
        {
            self.burst = None;
        }
        self.close_burst();
        self.cursor = None;
        let missing = if self.uncertain {
            if let Some(reads) = &mut self.reads {
                reads.count += 1;
                reads.advance += step.psn + 1 - next;
                self.reads = self.reads.filter(|reads| reads.advance <= 65_535);
            }
            Vec::new()
        } else {
            self.missing(step, next)
        };
        self.counts.missing += missing.len() as u32;
        for psn in next..step.psn {
            let is_missing = missing.binary_search(&psn).is_ok();
            if !is_missing && step.kind.is_response() {
                self.skipped.insert(psn);
            }
        }
        let after = step.psn + step.taken();
        self.advance(next, after - next);
        self.holes.add(after, missing.iter().copied());
        self.start_read(step);
        self.step(step);
        if is_unreliable(step.kind) {
            self.counts.lost += self.holes.take_far() as u32;
            if !missing.is_empty() {
                self.is_unreliable = true;
                self.touched_us = step.time_us;
            }
        }
    }

    /// Of the PSNs that were skipped, those that must have been there.
    fn missing(&self, step: &Step, next: u64) -> Vec<u64> {
        let skipped = next..step.psn;
        if !step.kind.is_response() {
            return skipped.collect();
        }
        let goes_on =
            matches!(step.kind, SequenceKind::ResponseMiddle | SequenceKind::ResponseLast);
        let acknowledged_between = self.acknowledged.is_some_and(|psn| skipped.contains(&psn));
        let sure = |psn: &u64| {
            self.response_open && goes_on && !acknowledged_between
                || self.response_open && *psn == next
                || goes_on && *psn + 1 == step.psn
        };
        skipped.filter(sure).collect()
    }

    fn behind(&mut self, step: &Step, next: u64) {
        let end = step.psn + step.taken();
        if end > next {
            self.advance(next, end - next);
            self.step(step);
        }
        let mut filled = self.holes.take(step.psn, end);
        if step.kind.is_response() && next - step.psn <= 128 && self.skipped.remove(&step.psn) {
            self.counts.missing += 1;
            filled += 1;
        }
        if !is_unreliable(step.kind) {
            self.reliable(step, filled, end);
        } else if filled == 0 {
            self.repeat(step, 1);
        } else {
            self.counts.reordered += filled as u32;
        }
    }

    fn reliable(&mut self, step: &Step, filled: u64, end: u64) {
        let next = self.next.expect("known");
        let nak = self.nak.filter(|nak| !nak.is_rnr).map(|nak| nak.psn);
        let rewind = self.cursor.or(nak);
        let joined = self.burst.filter(|burst| {
            let is_rewinding = burst.is_named
                || burst.is_silent
                || rewind.is_some_and(|rewind| burst.start > rewind);
            let is_after = step.psn > burst.end && is_rewinding && nak != Some(step.psn);
            self.cursor != Some(step.psn) && (step.psn == burst.end || is_after)
        });
        if joined.is_none() {
            self.close_burst();
        }
        let is_echo = filled == 0 && self.filled.contains(step.psn);
        if filled > 0 {
            self.touched_us = step.time_us;
            let given_up = if filled == end - step.psn {
                self.filled.add(next, step.psn..end)
            } else {
                self.filled.add_somewhere(step.psn, end, filled)
            };
            self.counts.recover(given_up);
        }
        let is_certain = filled == 0 && !is_echo;
        let goes_on =
            self.cursor.is_some_and(|cursor| step.psn == cursor || step.psn > cursor && is_certain);
        if let Some(burst) = joined {
            self.join(burst, step, filled, end, is_echo);
        } else if goes_on {
            self.go_on(end);
        } else {
            self.begin(step, filled, end, is_echo);
        }
        if filled == 0 {
            self.repeat(step, end - step.psn);
        }
    }

    fn repeat(&mut self, step: &Step, inside: u64) {
        self.counts.retransmitted += 1;
        if step.kind != SequenceKind::Read {
            self.counts.retransmitted_bytes += step.payload;
        }
        self.counts.reordered += self.alone.take_at(step.psn, inside) as u32;
    }

    fn go_on(&mut self, end: u64) {
        self.cursor = Some(end).filter(|end| Some(*end) < self.next);
    }

    fn join(&mut self, mut burst: Burst, step: &Step, filled: u64, end: u64, is_echo: bool) {
        if filled == 0 && is_echo && !burst.is_repeat {
            burst.echoes += end - step.psn;
        }
        burst.end = end;
        burst.fills += filled;
        self.burst = Some(burst);
        let is_late =
            is_echo && !burst.is_repeat && burst.echoes + burst.fills <= self.filled.count();
        if filled == 0 && !is_late {
            self.confirm(burst);
        }
    }

    fn confirm(&mut self, burst: Burst) {
        self.burst = None;
        let is_same = self.cursor.is_some_and(|cursor| burst.start > cursor);
        self.cursor = Some(burst.end).filter(|end| Some(*end) < self.next);
        if !is_same {
            let cause = match self.nak.filter(|nak| nak.psn < burst.end) {
                Some(nak) if nak.is_rnr => Cause::NotReady,
                Some(_) => Cause::Nak,
                None if burst.is_silent => Cause::Timeout,
                None => Cause::Unknown,
            };
            self.count_rewind(cause);
        }
    }

    fn begin(&mut self, step: &Step, filled: u64, end: u64, is_echo: bool) {
        let asked = self.nak.filter(|nak| (step.psn..end).contains(&nak.psn));
        let is_certain = filled == 0 && !is_echo;
        let answered = self
            .nak
            .filter(|nak| nak.psn == step.psn || nak.psn < step.psn && is_certain && !nak.is_rnr);
        let is_silent = step.idle >= MIN_TIMEOUT;
        let burst = Burst {
            start: step.psn,
            end,
            fills: filled,
            echoes: 0,
            is_named: asked.is_some_and(|nak| !nak.is_rnr),
            is_silent,
            is_repeat: false,
        };
        let cause = match answered {
            Some(nak) if nak.is_rnr => Cause::NotReady,
            _ if filled > 0 => {
                self.burst = Some(burst);
                return;
            }
            Some(_) => Cause::Nak,
            None if is_echo => {
                self.burst = Some(Burst { echoes: end - step.psn, ..burst });
                return;
            }
            None if is_silent => Cause::Timeout,
            None if step.kind == SequenceKind::Read => Cause::Read,
            None => {
                let is_repeat = true;
                let (is_named, is_silent) = (false, false);
                self.burst = Some(Burst { is_named, is_silent, is_repeat, ..burst });
                return;
            }
        };
        self.count_rewind(cause);
        self.go_on(end);
    }

    fn count_rewind(&mut self, cause: Cause) {
        match cause {
            Cause::Timeout => self.counts.timeouts += 1,
            Cause::NotReady => {}
            Cause::Nak | Cause::Read | Cause::Unknown => self.counts.go_back_n_episodes += 1,
        }
        if matches!(cause, Cause::Nak | Cause::NotReady) {
            self.nak = None;
        }
    }

    fn close_burst(&mut self) {
        let Some(burst) = self.burst.take() else { return };
        let count = burst.fills + burst.echoes;
        let mut late = self.filled.take_some(burst.start, burst.end, count);
        if (burst.is_named || burst.is_silent) && burst.fills > 0 {
            let given_up = self.alone.add(burst.start, burst.end, burst.fills);
            self.counts.recover(given_up);
            late = late.saturating_sub(burst.fills);
        }
        self.counts.reordered += late as u32;
    }

    fn is_behind(&self, psn: u64) -> bool {
        self.next.is_some_and(|next| psn < next && next - psn <= u64::from(MAX_REWIND))
    }

    pub(crate) fn note_ack(&mut self, psn: u64) {
        if self.is_behind(psn) {
            self.acknowledged = self.acknowledged.max(Some(psn));
            self.arrived(psn);
        }
    }

    fn arrived(&mut self, psn: u64) {
        if !self.is_behind(psn) {
            return;
        }
        let next = self.next.expect("known");
        let nak = self.nak.filter(|nak| !nak.is_rnr);
        let lost = nak.map_or(0, |nak| self.holes.run_through(next, nak.psn, psn));
        let count = self.holes.take_through(psn);
        let lost = lost.min(count);
        self.counts.lost += lost as u32;
        self.counts.unseen += (count - lost) as u32;
        self.nak = self.nak.filter(|nak| nak.psn > psn);
        self.age();
    }

    fn ask_for(&mut self, psn: u64) {
        let is_known_rnr = self.nak.is_some_and(|nak| nak.is_rnr && nak.psn == psn);
        if self.is_behind(psn) && !is_known_rnr && !self.is_unreliable {
            self.nak = Some(Asked { psn, is_rnr: false });
        }
    }

    pub(crate) fn note_nak(&mut self, psn: u64) {
        self.note_ack(psn - 1);
        self.ask_for(psn);
    }

    pub(crate) fn note_rnr(&mut self, psn: u64) {
        self.note_ack(psn - 1);
        self.counts.rnr_waits += 1;
        if self.is_behind(psn) && !self.is_unreliable {
            self.nak = Some(Asked { psn, is_rnr: true });
        }
    }

    pub(crate) fn note_answered(&mut self, psn: u64) {
        self.acknowledged = Some(psn);
    }

    pub(crate) fn note_asked_again(&mut self, psn: u64, span: u64, is_answered: bool) {
        let Some(next) = self.next else { return };
        let is_cut = psn == next && self.response_open;
        if psn >= next && (is_cut || is_answered) && psn - next + span <= u64::from(MAX_GAP) {
            self.advance(next, psn + span - next);
            self.holes.add(psn + span, psn..psn + span);
            self.counts.missing += span as u32;
            self.next = Some(psn + span);
            self.response_open = false;
        }
        self.arrived(psn - 1);
        self.ask_for(psn);
        self.age();
    }

    pub(crate) fn note_path_mtu(&mut self, path_mtu: u32) {
        let (Some(next), Some(reads)) = (self.next, self.reads.take()) else { return };
        let span = u64::from(read_span(reads.dma_len, path_mtu, 0));
        let missing = reads.advance.saturating_sub(reads.count * span);
        if missing > 0 {
            self.counts.missing += missing as u32;
            self.holes.add_somewhere(reads.start, next, missing);
        }
        if self.uncertain {
            self.advance(next, span - 1);
            self.next = Some(next + span - 1);
            self.uncertain = false;
        }
        self.age();
    }

    pub(crate) fn note_tap_loss(&mut self, since: Option<u64>) {
        let Some(next) = self.next else { return };
        let since = since.filter(|since| *since <= next && next - since <= u64::from(MAX_REWIND));
        let unseen = match since {
            None => self.holes.take_all(),
            Some(since) if since == next => 0,
            Some(since) => self.holes.take_from(since),
        };
        self.counts.unseen += unseen as u32;
        self.age();
    }
}

fn is_unreliable(kind: SequenceKind) -> bool {
    matches!(kind, SequenceKind::UnreliableStart | SequenceKind::UnreliableMore)
}
