//! PSNs that are missing.

use super::MAX_GAP;
use super::bits::Bits;
use super::hull::Hull;
use core::hint::black_box;

use super::totals::VALID;
use crate::psn::Psn;

/// Missing PSNs: a set of the latest 128, the latest two runs of older ones, and how many more there are.
///
/// A go-back-N sender fills the oldest hole first, so few runs do. What is 65,535 PSNs behind is given
/// up: nobody will say any more what became of it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Holes {
    near: Bits,
    /// Start of each run, oldest first.
    far_start: [u32; 2],
    far_len: [u16; 2],
    more: Hull,
}

/// How many were found, saturating. It lies in the memory of the state, so that neither the compiler nor
/// the verifier knows how it came to be: the verifier need not walk what follows once for each way.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Found(u16);

impl Found {
    #[inline(always)]
    pub(super) fn get(&mut self) -> u32 {
        black_box(self).0.into()
    }

    #[inline(always)]
    pub(super) fn add(&mut self, more: u32) {
        let sum = self.get() + more;
        self.0 = if sum > u16::MAX as u32 { u16::MAX } else { sum as u16 };
    }
}

/// PSNs in a row.
#[derive(Clone, Copy)]
struct Run {
    start: Psn,
    len: u32,
}

impl Run {
    #[inline(always)]
    const fn end(self) -> Psn {
        self.start.plus(self.len)
    }

    #[inline(always)]
    const fn contains(self, psn: Psn) -> bool {
        let from = psn.distance_from(self.start);
        from >= 0 && from.cast_unsigned() < self.len
    }

    /// How much it shares with the `span` PSNs from `start`, and what is left of it: of two parts, the
    /// older one first; else only the second.
    #[inline(always)]
    const fn without(self, start: Psn, span: u32) -> (u32, Self, Self) {
        let none = Self { start: self.start, len: 0 };
        // Where the range starts and ends, counted from the start of the run.
        let from = start.distance_from(self.start);
        let to = from.saturating_add(span.cast_signed());
        let len = self.len.cast_signed();
        if to <= 0 || from >= len {
            return (0, none, self);
        }
        let from = if from < 0 { 0 } else { from };
        let to = if to > len { len } else { to };
        let taken = (to - from).cast_unsigned();
        let left = Self { start: self.start, len: from.cast_unsigned() };
        if to == len {
            return (taken, none, left);
        }
        let right = self.start.plus(to.cast_unsigned());
        (taken, left, Self { start: right, len: (len - to).cast_unsigned() })
    }
}

impl Holes {
    #[inline(always)]
    pub(super) const fn is_empty(&self) -> bool {
        let [older, newer] = self.far_len;
        self.near.is_empty() && older | newer == 0 && self.more.is_empty()
    }

    #[inline(always)]
    const fn older(&self) -> Run {
        Run { start: Psn::new(self.far_start[0]), len: self.far_len[0] as u32 }
    }

    #[inline(always)]
    const fn newer(&self) -> Run {
        Run { start: Psn::new(self.far_start[1]), len: self.far_len[1] as u32 }
    }

    /// Moves `next` on by `count` PSNs, of which none is missing so far.
    #[inline(always)]
    pub(super) fn advance(&mut self, next: Psn, count: u32) {
        let leaving = if count < Bits::LEN { count } else { Bits::LEN };
        self.move_out(next, leaving);
        self.near = self.near.moved(leaving);
    }

    /// The `len` PSNs from `start` on are missing: they are before `next`, and no older ones were added
    /// after them.
    #[inline(always)]
    pub(super) fn add(&mut self, next: Psn, start: Psn, len: u32) {
        let oldest = next.distance_from(start).cast_unsigned();
        self.near = self.near.or(Bits::between(oldest, oldest - len + 1));
        if oldest > Bits::LEN && len != 0 {
            let far = oldest - Bits::LEN;
            self.add_far(start, if far < len { far } else { len });
        }
    }

    /// Turns the oldest `leaving` of the set into runs.
    #[inline(always)]
    fn move_out(&mut self, next: Psn, leaving: u32) {
        let rest = self.near.without(Bits::below(Bits::LEN - leaving));
        if rest.is_empty() {
            return;
        }
        let (newer, newer_len) = rest.latest_run();
        let rest = rest.without(Bits::below(newer + newer_len));
        let (older, older_len) = rest.latest_run();
        let rest = rest.without(Bits::below(older + older_len));
        // More than two runs would only push each other out.
        if !rest.is_empty() {
            self.more.add(before(next, Bits::LEN), Bits::LEN, rest.count());
        }
        if older_len != 0 {
            self.add_far(before(next, older + older_len), older_len);
        }
        self.add_far(before(next, newer + newer_len), newer_len);
    }

    #[inline(always)]
    fn add_far(&mut self, start: Psn, len: u32) {
        let newer = self.newer();
        if newer.len != 0 && newer.end().get() == start.get() && newer.len + len <= MAX_GAP {
            self.far_len[1] = (newer.len + len) as u16;
            return;
        }
        if newer.len != 0 {
            self.push_out(self.older());
            self.far_start[0] = newer.start.get() | VALID;
            self.far_len[0] = newer.len as u16;
        }
        self.far_start[1] = start.get() | VALID;
        self.far_len[1] = len as u16;
    }

    #[inline(always)]
    fn push_out(&mut self, run: Run) {
        if run.len != 0 {
            self.more.add(run.start, run.len, run.len);
        }
    }

    /// Forgets the missing PSNs among the `span` from `start`, which are all before `next`.
    /// Says in `found` how many there were.
    #[inline(always)]
    pub(super) fn take(&mut self, next: Psn, start: Psn, span: u32, found: &mut Found) {
        self.take_exactly(next, start, span, found);
        let rest = span.saturating_sub(found.get());
        if rest != 0 && !self.more.is_empty() {
            found.add(self.more.take_at(start, rest));
        }
    }

    #[inline(always)]
    fn take_exactly(&mut self, next: Psn, start: Psn, span: u32, found: &mut Found) {
        *found = Found(0);
        let oldest = next.distance_from(start).cast_unsigned();
        let latest = oldest.saturating_sub(span.saturating_sub(1));
        let range = self.near.and(Bits::between(oldest, latest));
        self.near = self.near.without(range);
        found.add(range.count());
        let (older, newer) = (self.older(), self.newer());
        if older.len | newer.len == 0 {
            return;
        }
        let (count, older_left, rest) = older.without(start, span);
        (self.far_start[0], self.far_len[0]) = (rest.start.get() | VALID, rest.len as u16);
        found.add(count);
        let (count, newer_left, rest) = newer.without(start, span);
        (self.far_start[1], self.far_len[1]) = (rest.start.get() | VALID, rest.len as u16);
        found.add(count);
        // What is cut out of the middle of one run leaves the other one whole.
        self.push_out(if older_left.len == 0 { newer_left } else { older_left });
    }

    /// Forgets everything up to `last`. Says in `found` how many PSNs that were.
    #[inline(always)]
    pub(super) fn take_through(&mut self, next: Psn, last: Psn, found: &mut Found) {
        // Nothing older than this is kept.
        let first = before(last, OLDEST - 1);
        self.take_exactly(next, first, OLDEST, found);
        found.add(self.more.take_through(last));
    }

    /// Forgets everything from `first` on. Says in `found` how many PSNs that were.
    #[inline(always)]
    pub(super) fn take_from(&mut self, next: Psn, first: Psn, found: &mut Found) {
        let span = next.distance_from(first).cast_unsigned();
        self.take_exactly(next, first, span, found);
        found.add(self.more.take_from(first));
    }

    /// How many PSNs from `psn` to `last` are missing without a break.
    #[inline(always)]
    pub(super) fn run_through(&self, next: Psn, psn: Psn, last: Psn) -> u32 {
        let through = last.distance_from(psn) + 1;
        let run = self.run_from(next, psn);
        if through <= 0 {
            0
        } else if run > through.cast_unsigned() {
            through.cast_unsigned()
        } else {
            run
        }
    }

    #[inline(always)]
    fn run_from(&self, next: Psn, psn: Psn) -> u32 {
        let back = next.distance_from(psn).cast_unsigned();
        if back <= Bits::LEN {
            return self.near.run_from(back.wrapping_sub(1) & (Bits::LEN - 1));
        }
        let (older, newer) = (self.older(), self.newer());
        let run = if newer.contains(psn) { newer } else { older };
        if !run.contains(psn) {
            return 0;
        }
        let inside = run.end().distance_from(psn).cast_unsigned();
        let touches = run.end().get() == before(next, Bits::LEN).get();
        inside + if touches { self.near.run_from(Bits::LEN - 1) } else { 0 }
    }

    /// Adds PSNs that are missing somewhere among the `len` from `start` on.
    #[inline(always)]
    pub(super) fn add_somewhere(&mut self, start: Psn, len: u32, count: u32) {
        self.more.add(start, len, count);
    }

    /// Forgets what is older than the latest 128, and returns how many PSNs that were.
    #[inline(always)]
    pub(super) const fn take_far(&mut self) -> u32 {
        let [older, newer] = self.far_len;
        (self.far_start, self.far_len) = ([0; 2], [0; 2]);
        older as u32 + newer as u32 + self.more.take_all()
    }

    /// Forgets everything, and returns how many PSNs that were.
    #[inline(always)]
    pub(super) const fn take_all(&mut self) -> u32 {
        let near = self.near.count();
        self.near = Bits::NONE;
        near + self.take_far()
    }

    /// Gives up what is too old.
    #[inline(always)]
    pub(super) fn age(&mut self, next: Psn) {
        if is_old(self.older(), next) {
            self.far_len[0] = 0;
        }
        if is_old(self.newer(), next) {
            self.far_len[1] = 0;
        }
        if self.more.is_older(next, MAX_GAP) {
            self.more.take_all();
        }
    }
}

/// More than the distance that anything kept has from the next PSN.
const OLDEST: u32 = 1 << 22;

#[inline(always)]
const fn is_old(run: Run, next: Psn) -> bool {
    let back = next.distance_from(run.end());
    back < 0 || back.cast_unsigned() >= MAX_GAP
}

#[inline(always)]
const fn before(psn: Psn, count: u32) -> Psn {
    psn.plus(0u32.wrapping_sub(count))
}

const _: () = assert!(size_of::<Holes>() == 36);
