//! Packets in a row behind the next PSN, as long as nobody can tell what they are.

use super::totals::VALID;
use crate::psn::Psn;

/// Packets that were late by themselves, or the start of a rewind: the first packet that the tap had
/// seen, and that cannot be the late original of one sent again, decides.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Burst {
    /// First PSN, with [`VALID`] and the flags below.
    pub(super) start: u32,
    /// The PSN that would follow.
    pub(super) end: u32,
    /// PSNs that were missing.
    pub(super) fills: u16,
    /// PSNs that may be late originals of packets that were sent again.
    pub(super) echoes: u16,
}

/// A NAK had asked for one of the first packet's PSNs.
pub(super) const NAMED: u32 = 1 << 25;
/// Silence was before it.
pub(super) const SILENT: u32 = 1 << 26;
/// Its first packet had been seen before.
pub(super) const REPEAT: u32 = 1 << 27;

impl Burst {
    pub(super) const NONE: Self = Self { start: 0, end: 0, fills: 0, echoes: 0 };

    /// PSNs from `start` up to before `end`.
    #[inline(always)]
    pub(super) const fn of(start: Psn, end: Psn, fills: u32, echoes: u32, flags: u32) -> Self {
        Self {
            start: start.get() | VALID | flags,
            end: end.get(),
            fills: add(0, fills),
            echoes: add(0, echoes),
        }
    }

    #[inline(always)]
    pub(super) const fn is_some(&self) -> bool {
        self.start & VALID != 0
    }

    #[inline(always)]
    pub(super) const fn has(&self, flag: u32) -> bool {
        self.start & flag != 0
    }

    #[inline(always)]
    pub(super) const fn start(&self) -> Psn {
        Psn::new(self.start)
    }

    #[inline(always)]
    pub(super) const fn end(&self) -> Psn {
        Psn::new(self.end)
    }

    #[inline(always)]
    pub(super) const fn len(&self) -> u32 {
        self.end().distance_from(self.start()).cast_unsigned()
    }
}

/// `before` and `more`, saturating.
#[inline(always)]
pub(super) const fn add(before: u16, more: u32) -> u16 {
    let sum = before as u32 + more;
    if sum > u16::MAX as u32 { u16::MAX } else { sum as u16 }
}
