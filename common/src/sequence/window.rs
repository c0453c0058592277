//! What is not decided.

use super::GRACE;

use super::burst::Burst;
use super::holes::{Found, Holes};
use super::hull::Hull;
use super::totals::{SequenceTotals, VALID};

/// What matters only while something is not in order: 76 bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    pub(super) holes: Holes,
    pub(super) burst: Burst,
    /// PSNs that a rewind filled. The late original of one may still come.
    pub(super) run: Hull,
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
            && self.run.is_empty()
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

    /// Adds PSNs that a rewind filled.
    #[inline(always)]
    pub(super) fn add_run(&mut self, burst: Burst, totals: &mut SequenceTotals) {
        totals.recover(self.run.add(burst.start(), burst.len(), burst.fills.into()));
    }

    /// Adds PSNs that came alone when they were asked for.
    #[inline(always)]
    pub(super) fn add_alone(&mut self, burst: Burst, totals: &mut SequenceTotals) {
        totals.recover(self.alone.add(burst.start(), burst.len(), burst.fills.into()));
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
        let filled = self.run.take_all() + self.alone.take_all();
        totals.recover(filled);
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

const _: () = assert!(size_of::<Window>() == 76);
