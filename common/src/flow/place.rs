//! Where a record stands.

/// A slot of one of the two tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RecordPlace(u32);

impl RecordPlace {
    const WIDE: u32 = 1 << 31;

    /// Slot `index` of the IPv4 table.
    #[inline(always)]
    pub const fn narrow(index: u32) -> Self {
        Self(index)
    }

    /// Slot `index` of the other table.
    #[inline(always)]
    pub const fn wide(index: u32) -> Self {
        Self(index | Self::WIDE)
    }

    /// The place in one word.
    #[inline(always)]
    pub const fn word(self) -> u32 {
        self.0
    }

    /// The place with this word.
    #[inline(always)]
    pub const fn from_word(word: u32) -> Self {
        Self(word)
    }

    /// Whether it is in the table for IPv6, UD and `RoCEv1`.
    #[inline(always)]
    pub const fn is_wide(self) -> bool {
        self.0 & Self::WIDE != 0
    }

    /// Number of the slot.
    #[inline(always)]
    pub const fn index(self) -> u32 {
        self.0 & !Self::WIDE
    }

    /// What a record keeps to find another in the same table: the index plus 1, and 0 for none.
    #[inline(always)]
    pub const fn link(self) -> u32 {
        self.index() + 1
    }

    /// The place that a record in the same table as `self` means by a link other than 0.
    #[inline(always)]
    #[must_use]
    pub const fn linked(self, link: u32) -> Self {
        Self(link.wrapping_sub(1) & !Self::WIDE | self.0 & Self::WIDE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_stay_in_their_table() {
        for place in [RecordPlace::narrow(0), RecordPlace::wide(7)] {
            assert_ne!(place.link(), 0);
            assert_eq!(place.linked(place.link()), place);
        }
        assert_eq!(RecordPlace::wide(7).linked(3), RecordPlace::wide(2));
    }
}
