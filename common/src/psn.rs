//! 24-bit packet sequence numbers in serial arithmetic.

/// A packet sequence number: 24 bits, compared with a half window of 2^23.
///
/// Source: Linux `rxe` (`psn_compare`), after IBTA 9.7.2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Psn(u32);

impl Psn {
    /// Largest value; the next PSN after it is 0.
    pub const MAX: Self = Self(0x00ff_ffff);

    /// The low 24 bits of `value`.
    #[inline(always)]
    pub const fn new(value: u32) -> Self {
        Self(value & Self::MAX.0)
    }

    /// The value, below 2^24.
    #[inline(always)]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The PSN `count` packets later.
    #[must_use]
    #[inline(always)]
    pub const fn plus(self, count: u32) -> Self {
        Self::new(self.0.wrapping_add(count))
    }

    /// Steps from `earlier` to `self`: positive when `self` is later, in -2^23..2^23.
    #[inline(always)]
    pub const fn distance_from(self, earlier: Self) -> i32 {
        // Moving bit 23 into the sign bit makes the shift back extend it.
        (self.0.wrapping_sub(earlier.0) << 8).cast_signed() >> 8
    }

    /// Whether `self` comes after `other`.
    #[inline(always)]
    pub const fn is_after(self, other: Self) -> bool {
        self.distance_from(other) > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_crosses_the_wrap() {
        assert_eq!(Psn::new(1).distance_from(Psn::MAX), 2);
        assert_eq!(Psn::MAX.distance_from(Psn::new(1)), -2);
        assert!(Psn::new(0).is_after(Psn::MAX));
    }

    #[test]
    fn half_window_is_the_limit() {
        assert_eq!(Psn::new(0x7f_ffff).distance_from(Psn::new(0)), 0x7f_ffff);
        assert_eq!(Psn::new(0x80_0000).distance_from(Psn::new(0)), -0x80_0000);
    }

    #[test]
    fn plus_wraps_and_drops_high_bits() {
        assert_eq!(Psn::MAX.plus(1).get(), 0);
        assert_eq!(Psn::new(0xff00_0005).get(), 5);
    }
}
