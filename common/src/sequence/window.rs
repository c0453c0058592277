//! What is not decided.

use super::GRACE;
use super::burst::Burst;
use super::holes::{Found, Holes};
use super::hull::Hull;
use super::totals::{SequenceTotals, VALID};
use crate::psn::Psn;

/// What matters only while something is not in order: 80 bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// PSNs that are missing.
    pub(super) holes: Holes,
    /// PSNs that were missing and came. The late original of one may still come.
    pub(super) filled: Holes,
    pub(super) burst: Burst,
    /// PSNs that came alone when a NAK had asked for one, or after silence: if one comes again, it was
    /// the late original that came first.
    pub(super) alone: Hull,
    /// PSN that a rewind goes on with, with [`VALID`].
    pub(super) cursor: u32,
    /// PSN that the last NAK asked for, with [`VALID`] and the flags below.
    pub(super) nak: u32,
    /// When a missing PSN last came, or for UC, when one was last found missing; see [`coarse`].
    time: u16,
    /// Result of the call that goes on.
    pub(super) found: Found,
}

/// Flag of [`Window::nak`]: the receiver was not ready.
pub(super) const RNR: u32 = 1 << 25;
/// Flag of [`Window::nak`]: this is UC, where nobody sends anything again.
pub(super) const UNRELIABLE: u32 = 1 << 26;

impl Window {
    #[inline(always)]
    pub(super) const fn is_calm(&self) -> bool {
        self.holes.is_empty()
            && self.filled.is_empty()
            && self.alone.is_empty()
            && (self.burst.start | self.cursor) & VALID == 0
    }

    /// Whether this is UC, and something was missing.
    #[inline(always)]
    pub(super) const fn is_unreliable(&self) -> bool {
        self.nak & UNRELIABLE != 0
    }

    /// The NAK of a sequence error, if one is not answered: its PSN with [`VALID`], or 0.
    #[inline(always)]
    pub(super) const fn sequence_nak(&self) -> u32 {
        if self.nak & RNR == 0 { self.nak } else { 0 }
    }

    #[inline(always)]
    pub(super) const fn touch(&mut self, time_us: u32) {
        self.time = coarse(time_us);
    }

    /// Moves the next PSN on.
    #[inline(always)]
    pub(super) fn advance(&mut self, next: Psn, count: u32, totals: &mut SequenceTotals) {
        self.holes.advance(next, count);
        totals.recover(self.filled.advance(next, count));
    }

    /// `missing` of the `span` PSNs from `psn` on were missing, and came.
    #[inline(always)]
    pub(super) fn fill(
        &mut self,
        next: Psn,
        psn: Psn,
        span: u32,
        missing: u32,
        totals: &mut SequenceTotals,
    ) {
        totals.recover(if missing == span {
            self.filled.add(next, psn, span)
        } else {
            self.filled.add_somewhere(psn, span, missing)
        });
    }

    /// Decides what has waited for a late packet longer than the grace time.
    #[inline(always)]
    pub(super) fn settle_due(&mut self, time_us: u32, totals: &mut SequenceTotals) {
        if self.is_due(time_us) {
            self.settle(totals);
        }
    }

    /// Whether the grace time is over.
    #[inline(always)]
    pub(super) const fn is_due(&self, time_us: u32) -> bool {
        coarse(time_us).wrapping_sub(self.time) >= GRACE
    }

    /// Decides what waits for a late packet.
    #[inline(always)]
    pub(super) fn settle(&mut self, totals: &mut SequenceTotals) {
        let burst = self.burst;
        let undecided = if burst.is_some() { burst.fills as u32 } else { 0 };
        let filled = self.filled.take_all().saturating_sub(undecided);
        self.filled.add_somewhere(burst.start(), burst.len(), undecided);
        totals.recover(filled + self.alone.take_all());
        if self.is_unreliable() {
            totals.lost = totals.lost.wrapping_add(self.holes.take_all());
        }
    }
}

/// Units of 1,024 microseconds.
#[inline(always)]
const fn coarse(time_us: u32) -> u16 {
    (time_us >> 10) as u16
}

const _: () = assert!(size_of::<Window>() == 80);
