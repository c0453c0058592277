//! PSNs of which only the range and the number are remembered.

use super::totals::VALID;
use crate::psn::Psn;

/// `count` PSNs, somewhere among the `len` from `start` on.
///
/// A sender goes back to the oldest PSN that is missing and sends everything again, so that the number
/// is enough: which one it was matters only to a rewind that breaks off.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Hull {
    start: u32,
    len: u16,
    count: u16,
}

impl Hull {
    const NONE: Self = Self { start: 0, len: 0, count: 0 };

    #[inline(always)]
    pub(super) const fn count(self) -> u32 {
        self.count as u32
    }

    #[inline(always)]
    pub(super) const fn is_empty(self) -> bool {
        self.count == 0
    }

    #[inline(always)]
    pub(super) const fn contains(self, psn: Psn) -> bool {
        let from = psn.distance_from(Psn::new(self.start));
        self.count != 0 && from >= 0 && from < self.len as i32
    }

    /// The PSN after the range.
    #[inline(always)]
    const fn end(self) -> Psn {
        Psn::new(self.start).plus(self.len as u32)
    }

    /// Adds `count` of the `len` PSNs from `start` on. Returns what it had to give up for that: a range
    /// is no longer than 65,535 PSNs.
    #[inline(always)]
    pub(super) const fn add(&mut self, start: Psn, len: u32, count: u32) -> u32 {
        let mut given_up = 0;
        if self.count != 0 {
            let from = start.distance_from(Psn::new(self.start));
            let until = start.plus(len).distance_from(self.end());
            let first = if from < 0 { start } else { Psn::new(self.start) };
            let end = if until > 0 { start.plus(len) } else { self.end() };
            let whole = end.distance_from(first).cast_unsigned();
            let sum = self.count as u32 + count;
            if whole <= u16::MAX as u32 && sum <= u16::MAX as u32 {
                *self = Self { start: first.get() | VALID, len: whole as u16, count: sum as u16 };
                return 0;
            }
            given_up = self.count as u32;
        }
        let len = if len > u16::MAX as u32 { u16::MAX } else { len as u16 };
        let kept = if count > len as u32 { len } else { count as u16 };
        *self = Self { start: start.get() | VALID, len, count: kept };
        given_up + (count - kept as u32)
    }

    /// Takes up to `count` out, and returns how many.
    #[inline(always)]
    pub(super) const fn take(&mut self, count: u32) -> u32 {
        let taken = if count > self.count as u32 { self.count as u32 } else { count };
        self.count -= taken as u16;
        taken
    }

    /// Takes up to `count` out if `psn` is in the range, and returns how many.
    #[inline(always)]
    pub(super) const fn take_at(&mut self, psn: Psn, count: u32) -> u32 {
        if self.contains(psn) { self.take(count) } else { 0 }
    }

    /// How many there are from `psn` on without a break; at least one, where that cannot be told.
    #[inline(always)]
    pub(super) const fn run_from(self, psn: Psn) -> u32 {
        if !self.contains(psn) {
            0
        } else if self.count == self.len {
            self.end().distance_from(psn).cast_unsigned()
        } else {
            1
        }
    }

    /// Takes all out if none is after `last`.
    #[inline(always)]
    pub(super) const fn take_through(&mut self, last: Psn) -> u32 {
        if self.end().is_after(last.plus(1)) { 0 } else { self.take_all() }
    }

    /// Takes all out if none is before `first`.
    #[inline(always)]
    pub(super) const fn take_from(&mut self, first: Psn) -> u32 {
        if first.is_after(Psn::new(self.start)) { 0 } else { self.take_all() }
    }

    #[inline(always)]
    pub(super) const fn take_all(&mut self) -> u32 {
        let all = self.count as u32;
        *self = Self::NONE;
        all
    }

    /// Whether all of it is `distance` PSNs or more before `next`.
    #[inline(always)]
    pub(super) const fn is_older(self, next: Psn, distance: u32) -> bool {
        let back = next.distance_from(self.end());
        self.count != 0 && (back < 0 || back.cast_unsigned() >= distance)
    }
}
