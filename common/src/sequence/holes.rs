//! Sets of PSNs behind the next one.

use core::hint::black_box;

use super::MAX_GAP;
use super::bits::Bits;
use super::hull::Hull;
use crate::psn::Psn;

/// PSNs: which ones of the latest 128, and how many older ones in which range.
///
/// A go-back-N sender starts with the oldest PSN that is missing and goes over all the others, so the
/// number of the older ones is enough. What is 65,535 PSNs behind is given up: nobody will say any more
/// what became of it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Holes {
    near: Bits,
    far: Hull,
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
    pub(super) fn set(&mut self, count: u32) {
        self.0 = if count > u16::MAX as u32 { u16::MAX } else { count as u16 };
    }

    #[inline(always)]
    pub(super) fn add(&mut self, more: u32) {
        let sum = self.get() + more;
        self.set(sum);
    }
}

impl Holes {
    #[inline(always)]
    pub(super) const fn is_empty(&self) -> bool {
        self.near.is_empty() && self.far.is_empty()
    }

    #[inline(always)]
    pub(super) const fn count(&self) -> u32 {
        self.near.count() + self.far.count()
    }

    #[inline(always)]
    pub(super) fn contains(&self, next: Psn, psn: Psn) -> bool {
        let back = next.distance_from(psn).cast_unsigned();
        !self.near.and(Bits::between(back, back)).is_empty() || self.far.contains(psn)
    }

    /// Moves `next` on by `count` PSNs, of which none is in the set. Returns how many it had to give up.
    #[inline(always)]
    pub(super) fn advance(&mut self, next: Psn, count: u32) -> u32 {
        let mut given_up = 0;
        let leaving = if count < Bits::LEN { count } else { Bits::LEN };
        let rest = self.near.without(Bits::below(Bits::LEN - leaving));
        if !rest.is_empty() {
            let (latest, oldest) = rest.ends();
            let start = before(next, oldest + 1);
            given_up = self.far.add(start, oldest + 1 - latest, rest.count());
        }
        self.near = self.near.moved(leaving);
        given_up
    }

    /// Adds the `len` PSNs from `start` on, which are all before `next`. Returns how many it had to give up.
    #[inline(always)]
    pub(super) fn add(&mut self, next: Psn, start: Psn, len: u32) -> u32 {
        let oldest = next.distance_from(start).cast_unsigned();
        self.near = self.near.or(Bits::between(oldest, oldest - len + 1));
        let far = oldest.saturating_sub(Bits::LEN);
        let far = if far < len { far } else { len };
        if far == 0 { 0 } else { self.far.add(start, far, far) }
    }

    /// Adds `count` PSNs somewhere among the `len` from `start` on. Returns how many it had to give up.
    #[inline(always)]
    pub(super) const fn add_somewhere(&mut self, start: Psn, len: u32, count: u32) -> u32 {
        if count == 0 { 0 } else { self.far.add(start, len, count) }
    }

    /// Takes out the `span` PSNs from `start` on. Says in `found` how many there were.
    #[inline(always)]
    pub(super) fn take(&mut self, next: Psn, start: Psn, span: u32, found: &mut Found) {
        let near = self.take_near(next, start, span);
        found.set(near);
        let rest = span.saturating_sub(found.get());
        if rest != 0 {
            found.add(self.far.take_at(start, rest));
        }
    }

    /// Takes out at most `count` of the `len` PSNs from `start` on. Says in `found` how many there were.
    #[inline(always)]
    pub(super) fn take_some(
        &mut self,
        next: Psn,
        start: Psn,
        len: u32,
        count: u32,
        found: &mut Found,
    ) {
        let near = self.take_near(next, start, len);
        found.set(near);
        let near = found.get();
        if near > count {
            self.add_somewhere(start, len, near - count);
            found.set(count);
        } else {
            found.add(self.far.take_at(start, count - near));
        }
    }

    #[inline(always)]
    fn take_near(&mut self, next: Psn, start: Psn, span: u32) -> u32 {
        let oldest = next.distance_from(start).cast_unsigned();
        let latest = oldest.saturating_sub(span.saturating_sub(1));
        let range = self.near.and(Bits::between(oldest, latest));
        self.near = self.near.without(range);
        range.count()
    }

    /// Takes out everything up to `last`, which is before `next`, and returns how much that was.
    #[inline(always)]
    pub(super) fn take_through(&mut self, next: Psn, last: Psn) -> u32 {
        let latest = next.distance_from(last).cast_unsigned();
        let range = self.near.without(Bits::below(latest - 1));
        self.near = self.near.without(range);
        range.count() + self.far.take_through(last)
    }

    /// Takes out everything from `first` on, and returns how much that was.
    #[inline(always)]
    pub(super) fn take_from(&mut self, next: Psn, first: Psn) -> u32 {
        let oldest = next.distance_from(first).cast_unsigned();
        let range = self.near.and(Bits::below(oldest));
        self.near = self.near.without(range);
        range.count() + self.far.take_from(first)
    }

    /// How many PSNs from `psn` to `last` are in the set without a break, or how many there may be.
    #[inline(always)]
    pub(super) fn run_through(&self, next: Psn, psn: Psn, last: Psn) -> u32 {
        let through = last.distance_from(psn) + 1;
        if through <= 0 {
            return 0;
        }
        let through = through.cast_unsigned();
        let back = next.distance_from(psn).cast_unsigned();
        let run = if back <= Bits::LEN {
            self.near.run_from(back.wrapping_sub(1) & (Bits::LEN - 1))
        } else {
            self.far.run_from(psn)
        };
        if run > through { through } else { run }
    }

    /// Takes out what is older than the latest 128, and returns how much that was.
    #[inline(always)]
    pub(super) const fn take_far(&mut self) -> u32 {
        self.far.take_all()
    }

    /// Takes out everything, and returns how much that was.
    #[inline(always)]
    pub(super) const fn take_all(&mut self) -> u32 {
        let near = self.near.count();
        self.near = Bits::NONE;
        near + self.take_far()
    }

    /// Gives up what is too old.
    #[inline(always)]
    pub(super) const fn age(&mut self, next: Psn) {
        if self.far.is_older(next, MAX_GAP) {
            self.far.take_all();
        }
    }
}

#[inline(always)]
const fn before(psn: Psn, count: u32) -> Psn {
    psn.plus(0u32.wrapping_sub(count))
}

const _: () = assert!(size_of::<Holes>() == 24);
