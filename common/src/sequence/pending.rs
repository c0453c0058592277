//! What is kept until it is needed, in words that mean one thing to requests and another to responses.

use super::bits::Bits;
use super::packet::read_span;
use super::totals::VALID;
use crate::psn::Psn;

/// Of *requests*: the packet whose answer is timed, and the READs before the path MTU was known.
///
/// Of *responses*: the latest 128 PSNs that did not come, but may be those of requests which are answered
/// by an ACK or not at all.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pending([u32; 5]);

/// READs of one length that took an unknown number of PSNs.
#[derive(Clone, Copy)]
pub(super) struct Reads {
    /// PSN of the first one, with [`VALID`].
    start: u32,
    /// Bytes that each asks for.
    dma_len: u32,
    /// How many have another request behind them, and the PSNs from each to that one, together.
    count: u16,
    advance: u16,
}

impl Pending {
    pub(super) const NONE: Self = Self([0; 5]);

    /// PSN that is timed, with [`VALID`], and when it was seen.
    #[inline(always)]
    pub(super) const fn timed(&self) -> (u32, u32) {
        (self.0[0], self.0[1])
    }

    #[inline(always)]
    pub(super) const fn is_timing(&self) -> bool {
        self.0[0] & VALID != 0
    }

    #[inline(always)]
    pub(super) const fn set_timed(&mut self, psn: u32, time_us: u32) {
        (self.0[0], self.0[1]) = (psn, time_us);
    }

    #[inline(always)]
    pub(super) const fn reads(&self) -> Reads {
        let Self([_, _, start, dma_len, sums]) = *self;
        Reads { start, dma_len, count: (sums >> 16) as u16, advance: sums as u16 }
    }

    #[inline(always)]
    pub(super) const fn set_reads(&mut self, reads: Reads) {
        let sums = (reads.count as u32) << 16 | reads.advance as u32;
        (self.0[2], self.0[3], self.0[4]) = (reads.start, reads.dma_len, sums);
    }

    /// PSNs that did not come, as seen from `next`.
    #[inline(always)]
    pub(super) fn skipped(&self, next: Psn) -> Bits {
        let Self([a, b, c, d, base]) = *self;
        let moved = next.distance_from(Psn::new(base));
        // What is older than the set was not kept, and a set of another sequence means nothing.
        if base & VALID == 0 || moved < 0 {
            return Bits::NONE;
        }
        Bits::from_words([a, b, c, d]).moved(moved.cast_unsigned())
    }

    #[inline(always)]
    pub(super) const fn set_skipped(&mut self, next: Psn, skipped: Bits) {
        let [a, b, c, d] = skipped.words();
        self.0 = [a, b, c, d, next.get() | VALID];
    }
}

impl Reads {
    pub(super) const NONE: Self = Self { start: 0, dma_len: 0, count: 0, advance: 0 };

    /// Another READ, or the first one. Those of another length are given up: their PSNs are not missing.
    /// So is one whose length nobody knows, which is 0 here.
    #[inline(always)]
    pub(super) const fn with(self, psn: Psn, dma_len: u32) -> Self {
        if dma_len == 0 {
            return Self::NONE;
        }
        if self.start & VALID != 0 && self.dma_len == dma_len {
            return self;
        }
        Self { start: psn.get() | VALID, dma_len, ..Self::NONE }
    }

    /// The request after the last READ came `advance` PSNs after it.
    #[inline(always)]
    pub(super) const fn followed(self, advance: u32) -> Self {
        if self.start & VALID == 0 {
            return self;
        }
        let advance = self.advance as u32 + advance;
        if advance > u16::MAX as u32 || self.count == u16::MAX {
            return Self::NONE;
        }
        Self { count: self.count + 1, advance: advance as u16, ..self }
    }

    #[inline(always)]
    pub(super) const fn start(self) -> Psn {
        Psn::new(self.start)
    }

    #[inline(always)]
    pub(super) const fn is_some(self) -> bool {
        self.start & VALID != 0
    }

    /// PSNs that each took.
    #[inline(always)]
    pub(super) const fn span(self, path_mtu: u32) -> u32 {
        read_span(self.dma_len, path_mtu, 0)
    }

    /// PSNs that were missing between them.
    #[inline(always)]
    pub(super) const fn missing(self, path_mtu: u32) -> u32 {
        (self.advance as u32).saturating_sub(self.span(path_mtu).saturating_mul(self.count as u32))
    }
}

const _: () = assert!(size_of::<Pending>() == 20);
