//! Holes that were filled by what looks like a retransmission, until that is certain.

use super::GRACE;
use super::totals::SequenceTotals;
use crate::psn::Psn;

const FILLS: usize = 3;

/// The latest fills, newest first.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fills([Fill; FILLS]);

/// PSNs in a row that came after others.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Fill {
    /// First PSN, and how it came.
    start: u32,
    len: u16,
    /// In units of 1,024 microseconds.
    time: u16,
}

/// The first packet after it decides whether it belongs to a rewind.
pub(super) const FRESH: u32 = 1 << 24;
/// A NAK had asked for it.
pub(super) const NAMED: u32 = 1 << 25;
/// It came alone: if it comes again, this one was the late one.
const ALONE: u32 = 1 << 26;

impl Fill {
    const fn contains(self, psn: Psn) -> bool {
        let from = psn.distance_from(Psn::new(self.start));
        from >= 0 && from < self.len as i32
    }

    const fn end(self) -> Psn {
        Psn::new(self.start).plus(self.len as u32)
    }

    fn settle(&mut self, totals: &mut SequenceTotals) {
        totals.lost = totals.lost.wrapping_add(self.len.into());
        totals.recovered = totals.recovered.wrapping_add(self.len.into());
        self.len = 0;
    }
}

impl Fills {
    pub(super) const fn is_empty(&self) -> bool {
        let Self([newest, middle, oldest]) = self;
        newest.len | middle.len | oldest.len == 0
    }

    pub(super) const fn is_fresh(&self) -> bool {
        let Self([newest, ..]) = self;
        newest.len != 0 && newest.start & FRESH != 0
    }

    /// Adds `len` PSNs from `psn`; `how` is [`FRESH`] and [`NAMED`], or 0 in a rewind.
    pub(super) fn add(
        &mut self,
        psn: Psn,
        len: u32,
        how: u32,
        time_us: u32,
        totals: &mut SequenceTotals,
    ) {
        self.close_up();
        let Self([newest, middle, oldest]) = self;
        let room = (u16::MAX - newest.len) as u32;
        let is_same_kind = (newest.start ^ how) & (FRESH | ALONE) == 0;
        if newest.len != 0 && newest.end() == psn && is_same_kind && len <= room {
            newest.len += len as u16;
            newest.start |= how & NAMED;
            newest.time = coarse(time_us);
            return;
        }
        if newest.len != 0 {
            oldest.settle(totals);
            *oldest = *middle;
            *middle = *newest;
        }
        // A gap is no longer than fits.
        let len = if len > u16::MAX as u32 { u16::MAX } else { len as u16 };
        *newest = Fill { start: psn.get() | how, len, time: coarse(time_us) };
    }

    /// Moves what is there to the front.
    const fn close_up(&mut self) {
        let Self([newest, middle, oldest]) = self;
        if middle.len == 0 {
            (*middle, *oldest) = (*oldest, Fill { start: 0, len: 0, time: 0 });
        }
        if newest.len == 0 {
            (*newest, *middle, *oldest) = (*middle, *oldest, Fill { start: 0, len: 0, time: 0 });
        }
    }

    /// The fresh fill was followed by a repeat: a rewind.
    pub(super) const fn confirm(&mut self) {
        let Self([newest, ..]) = self;
        newest.start &= !(FRESH | NAMED);
    }

    /// The fresh fill came alone: late by itself, unless a NAK had asked for it.
    pub(super) fn isolate(&mut self, totals: &mut SequenceTotals) {
        let Self([newest, ..]) = self;
        if newest.start & NAMED != 0 {
            newest.start = newest.start & !(FRESH | NAMED) | ALONE;
        } else {
            totals.reordered = totals.reordered.wrapping_add(newest.len.into());
            newest.len = 0;
        }
    }

    /// A PSN came again. Whatever came alone before was late by itself; `is_alone` says that this one
    /// is no part of a rewind, so that it is the late one itself.
    pub(super) fn again(&mut self, psn: Psn, is_alone: bool, totals: &mut SequenceTotals) {
        for fill in &mut self.0 {
            if fill.contains(psn) && (is_alone || fill.start & ALONE != 0) {
                totals.reordered = totals.reordered.wrapping_add(1);
                fill.len -= 1;
                // The run shrinks at its start when that came again, else at its end.
                if Psn::new(fill.start).get() == psn.get() {
                    fill.start = fill.start & !Psn::MAX.get() | psn.plus(1).get();
                }
                return;
            }
        }
    }

    /// Settles what is older than the grace time.
    pub(super) fn settle_due(&mut self, now_us: u32, totals: &mut SequenceTotals) {
        for fill in &mut self.0 {
            let age = coarse(now_us).wrapping_sub(fill.time);
            if fill.len != 0 && fill.start & FRESH == 0 && age >= GRACE {
                fill.settle(totals);
            }
        }
    }

    /// Settles everything.
    pub(super) fn settle_all(&mut self, totals: &mut SequenceTotals) {
        if self.is_fresh() {
            self.isolate(totals);
        }
        for fill in &mut self.0 {
            fill.settle(totals);
        }
    }
}

const fn coarse(time_us: u32) -> u16 {
    (time_us >> 10) as u16
}
