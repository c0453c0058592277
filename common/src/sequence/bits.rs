//! Sets of the 128 latest PSNs.

use core::hint::black_box;

/// Bit `i` stands for the PSN `i + 1` before the next one; the first word has the latest.
///
/// In words of 32 bits in memory, so that nothing that holds one has to be aligned to more.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Bits([u32; 4]);

impl Bits {
    pub(super) const NONE: Self = Self([0; 4]);
    /// How many there are.
    pub(super) const LEN: u32 = 128;

    #[inline(always)]
    pub(super) const fn get(self) -> [u64; 2] {
        let Self([a, b, c, d]) = self;
        [a as u64 | (b as u64) << 32, c as u64 | (d as u64) << 32]
    }

    #[inline(always)]
    pub(super) const fn new([low, high]: [u64; 2]) -> Self {
        Self([low as u32, (low >> 32) as u32, high as u32, (high >> 32) as u32])
    }

    #[inline(always)]
    pub(super) const fn words(self) -> [u32; 4] {
        self.0
    }

    #[inline(always)]
    pub(super) const fn from_words(words: [u32; 4]) -> Self {
        Self(words)
    }

    #[inline(always)]
    pub(super) const fn is_empty(self) -> bool {
        let Self([a, b, c, d]) = self;
        a | b | c | d == 0
    }

    #[inline(always)]
    pub(super) const fn count(self) -> u32 {
        let [low, high] = self.get();
        low.count_ones() + high.count_ones()
    }

    #[inline(always)]
    pub(super) const fn and(self, other: Self) -> Self {
        let ([a, b], [c, d]) = (self.get(), other.get());
        Self::new([a & c, b & d])
    }

    #[inline(always)]
    pub(super) const fn or(self, other: Self) -> Self {
        let ([a, b], [c, d]) = (self.get(), other.get());
        Self::new([a | c, b | d])
    }

    #[inline(always)]
    pub(super) const fn without(self, other: Self) -> Self {
        let ([a, b], [c, d]) = (self.get(), other.get());
        Self::new([a & !c, b & !d])
    }

    /// The set when `next` has moved on by `count`.
    #[inline(always)]
    pub(super) const fn moved(self, count: u32) -> Self {
        let [low, high] = self.get();
        Self::new(if count >= 128 {
            [0, 0]
        } else if count >= 64 {
            [0, low << (count & 63)]
        } else if count == 0 {
            [low, high]
        } else {
            [low << (count & 63), high << (count & 63) | low >> ((64 - count) & 63)]
        })
    }

    /// The latest `count`, less than 2^31.
    #[inline(always)]
    pub(super) fn below(count: u32) -> Self {
        // Below 64, the difference is negative, and has no bit of the second word.
        let above = count.wrapping_sub(64);
        let is_above = !black_box(above.cast_signed() >> 31).cast_unsigned();
        Self::new([ones(count), ones(above & is_above)])
    }

    /// Those from `oldest` PSNs before the next one up to `latest` before it, which is at least 1.
    #[inline(always)]
    pub(super) fn between(oldest: u32, latest: u32) -> Self {
        Self::below(oldest).without(Self::below(latest.saturating_sub(1)))
    }

    /// Indexes of the latest and of the oldest one; there is one.
    #[inline(always)]
    pub(super) const fn ends(self) -> (u32, u32) {
        let [low, high] = self.get();
        let latest = if low == 0 { 64 + high.trailing_zeros() } else { low.trailing_zeros() };
        let oldest = if high == 0 { (low | 1).ilog2() } else { 64 + (high | 1).ilog2() };
        (latest, oldest)
    }

    /// Length of the run from bit `index`, below 128, to later ones.
    #[inline(always)]
    pub(super) const fn run_from(self, index: u32) -> u32 {
        let [low, high] = self.get();
        if index < 64 {
            return (low << (63 - (index & 63))).leading_ones();
        }
        let ones = (high << (63 - (index & 63))).leading_ones();
        if ones == index - 63 { ones + low.leading_ones() } else { ones }
    }
}

/// The lowest `count` bits, at most all: without branches, for the verifier walks what follows once for
/// each way through them.
#[inline(always)]
fn ones(count: u32) -> u64 {
    let beyond = count.wrapping_sub(64);
    // All ones when `count` is below 64.
    let is_below = black_box(beyond.cast_signed() >> 31).cast_unsigned();
    let missing = beyond.wrapping_neg() & is_below;
    // In two steps, because a shift by 64 is none.
    let half = missing >> 1;
    u64::MAX >> half >> (missing - half)
}
