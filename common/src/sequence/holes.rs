//! PSNs that are missing.

use super::totals::VALID;
use crate::psn::Psn;

/// PSNs behind the next one that the bitmap covers.
const NEAR: u32 = 128;
const FAR: usize = 2;

/// Missing PSNs: a bitmap of the latest 128, and two runs of older ones.
///
/// A go-back-N sender fills the oldest hole first, so few runs do. A third run pushes the oldest out:
/// its PSNs stay undecided.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Holes {
    /// Bit `i` stands for the PSN `i + 1` before the next one; the low word has the latest.
    near: [u64; 2],
    /// Oldest first.
    far: [Run; FAR],
}

/// PSNs in a row.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Run {
    start: u32,
    len: u32,
}

impl Run {
    const fn end(self) -> Psn {
        Psn::new(self.start).plus(self.len)
    }

    const fn contains(self, psn: Psn) -> bool {
        let from = psn.distance_from(Psn::new(self.start));
        from >= 0 && from.cast_unsigned() < self.len
    }
}

impl Holes {
    pub(super) const fn is_empty(&self) -> bool {
        let [low, high] = self.near;
        let [older, newer] = self.far;
        low | high == 0 && older.len | newer.len == 0
    }

    /// Moves `next` on by `count` PSNs, all of them missing or all of them there. Returns how many
    /// missing ones it had to forget.
    pub(super) fn advance(&mut self, next: Psn, count: u32, is_missing: bool) -> u32 {
        if count == 0 {
            return 0;
        }
        let leaving = if count < NEAR { count } else { NEAR };
        let mut forgotten = self.move_out(next, leaving);
        let [low, high] = self.near;
        self.near = if leaving == NEAR {
            [0, 0]
        } else if leaving >= 64 {
            [0, low << (leaving & 63)]
        } else if leaving == 0 {
            [low, high]
        } else {
            [low << leaving, high << leaving | low >> (64 - leaving)]
        };
        if is_missing {
            let (low, high) = ones_below(leaving);
            self.near = [self.near[0] | low, self.near[1] | high];
            if count > NEAR {
                forgotten += self.add_far(next, count - NEAR);
            }
        }
        forgotten
    }

    /// Turns the oldest `leaving` bits into runs.
    fn move_out(&mut self, next: Psn, leaving: u32) -> u32 {
        let (low, high) = ones_below(NEAR - leaving);
        let rest = [self.near[0] & !low, self.near[1] & !high];
        // More runs than two would only push each other out.
        let (newer, newer_len) = lowest_run(rest);
        let rest = without_below(rest, newer + newer_len);
        let (older, older_len) = lowest_run(rest);
        let rest = without_below(rest, older + older_len);
        let mut forgotten = rest[0].count_ones() + rest[1].count_ones();
        if older_len != 0 {
            forgotten += self.add_far(before(next, older + older_len), older_len);
        }
        if newer_len != 0 {
            forgotten += self.add_far(before(next, newer + newer_len), newer_len);
        }
        forgotten
    }

    fn add_far(&mut self, start: Psn, len: u32) -> u32 {
        let [older, newer] = &mut self.far;
        if newer.len != 0 && newer.end() == start {
            newer.len += len;
            return 0;
        }
        let mut forgotten = 0;
        if newer.len != 0 {
            forgotten = older.len;
            *older = *newer;
        }
        *newer = Run { start: start.get(), len };
        forgotten
    }

    /// Forgets the missing PSNs among the `span` from `start`, which are all before `next`.
    /// Returns how many there were.
    pub(super) fn take(&mut self, next: Psn, start: Psn, span: u32) -> u32 {
        // Distances back from `next`: the range is from `oldest` down to `latest`, both at least 1.
        let oldest = next.distance_from(start).cast_unsigned();
        let latest = oldest.saturating_sub(span.saturating_sub(1));
        let latest = if latest == 0 { 1 } else { latest };
        let mut taken = 0;
        if latest <= NEAR {
            let top = if oldest > NEAR { NEAR } else { oldest };
            let (all_low, all_high) = ones_below(top);
            let (keep_low, keep_high) = ones_below(latest - 1);
            let mask = [all_low & !keep_low, all_high & !keep_high];
            taken += (self.near[0] & mask[0]).count_ones() + (self.near[1] & mask[1]).count_ones();
            self.near = [self.near[0] & !mask[0], self.near[1] & !mask[1]];
        }
        if oldest > NEAR {
            taken += take_run(&mut self.far[0], start, span);
            taken += take_run(&mut self.far[1], start, span);
        }
        taken
    }

    /// Forgets everything up to `last`, and returns how many PSNs that were. Of these, the second
    /// number is those from `named` on without a break.
    pub(super) fn take_through(&mut self, next: Psn, last: Psn, named: u32) -> (u32, u32) {
        let run = if named & VALID == 0 { 0 } else { self.run_from(next, Psn::new(named)) };
        let through = last.distance_from(Psn::new(named)) + 1;
        let run = if through <= 0 {
            0
        } else if run > through.cast_unsigned() {
            through.cast_unsigned()
        } else {
            run
        };
        let mut count = 0;
        for far in &mut self.far {
            if far.len != 0 && !Psn::new(far.start).is_after(last) {
                let through = last.distance_from(Psn::new(far.start)).cast_unsigned() + 1;
                count += take_run(far, Psn::new(far.start), through);
            }
        }
        let back = next.distance_from(last).cast_unsigned();
        if back <= NEAR {
            let (keep_low, keep_high) = ones_below(back - 1);
            let gone = [self.near[0] & !keep_low, self.near[1] & !keep_high];
            count += gone[0].count_ones() + gone[1].count_ones();
            self.near = [self.near[0] & keep_low, self.near[1] & keep_high];
        }
        (count, run)
    }

    /// How many PSNs are missing from `psn` on without a break.
    fn run_from(&self, next: Psn, psn: Psn) -> u32 {
        let back = next.distance_from(psn).cast_unsigned();
        if back <= NEAR {
            return ones_down_from(self.near, back.wrapping_sub(1));
        }
        let edge = before(next, NEAR);
        let [older, newer] = self.far;
        let run = if newer.contains(psn) { newer } else { older };
        if !run.contains(psn) {
            return 0;
        }
        let inside = run.end().distance_from(psn).cast_unsigned();
        let beyond =
            if run.end().get() == edge.get() { ones_down_from(self.near, NEAR - 1) } else { 0 };
        inside + beyond
    }

    /// Forgets the runs older than the bitmap and returns their PSNs.
    pub(super) fn drain_far(&mut self) -> u32 {
        let [older, newer] = self.far;
        self.far = [Run::default(); FAR];
        older.len + newer.len
    }
}

/// Takes what the run shares with the `span` PSNs from `start`. What is older than that in the run is
/// forgotten: runs are not split.
fn take_run(run: &mut Run, start: Psn, span: u32) -> u32 {
    if run.len == 0 {
        return 0;
    }
    // Where the range starts and ends, counted from the start of the run.
    let from = start.distance_from(Psn::new(run.start));
    let to = from.saturating_add(span.cast_signed());
    let len = run.len.cast_signed();
    if to <= 0 || from >= len {
        return 0;
    }
    let from = if from < 0 { 0 } else { from };
    let to = if to > len { len } else { to };
    run.start = Psn::new(run.start).plus(to.cast_unsigned()).get();
    run.len = (len - to).cast_unsigned();
    (to - from).cast_unsigned()
}

/// The lowest `count` of 128 bits, low word first.
const fn ones_below(count: u32) -> (u64, u64) {
    if count >= 128 {
        (u64::MAX, u64::MAX)
    } else if count >= 64 {
        (u64::MAX, (1 << (count & 63)) - 1)
    } else {
        ((1 << count) - 1, 0)
    }
}

/// `bits` without its lowest `count`.
const fn without_below(bits: [u64; 2], count: u32) -> [u64; 2] {
    let (low, high) = ones_below(count);
    [bits[0] & !low, bits[1] & !high]
}

/// Index and length of the lowest run of ones; the length is 0 when there is none.
const fn lowest_run(bits: [u64; 2]) -> (u32, u32) {
    let [low, high] = bits;
    if low != 0 {
        let index = low.trailing_zeros();
        let ones = (low >> (index & 63)).trailing_ones();
        let is_whole = index + ones == 64;
        (index, if is_whole { ones + high.trailing_ones() } else { ones })
    } else {
        let index = high.trailing_zeros();
        (64 + index, (high >> (index & 63)).trailing_ones())
    }
}

/// Length of the run of ones from bit `index`, below 128, down.
const fn ones_down_from(bits: [u64; 2], index: u32) -> u32 {
    let [low, high] = bits;
    if index < 64 {
        return (low << (63 - (index & 63))).leading_ones();
    }
    let ones = (high << (63 - (index & 63))).leading_ones();
    if ones == index - 63 { ones + low.leading_ones() } else { ones }
}

const fn before(psn: Psn, count: u32) -> Psn {
    psn.plus(0u32.wrapping_sub(count))
}
