//! 802.1Q tags.

/// Tag control information: priority and VLAN number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VlanTag(pub u16);

impl VlanTag {
    /// Length of a tag: control information and the `EtherType` that follows.
    pub const LEN: usize = 4;

    /// VLAN number, 0 to 4095; 0 means that only the priority counts.
    #[inline(always)]
    pub const fn id(self) -> u16 {
        self.0 & 0x0fff
    }

    /// Priority code point, 0 to 7.
    #[inline(always)]
    pub const fn pcp(self) -> u8 {
        (self.0 >> 13) as u8
    }
}

/// Up to two tags, outer first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VlanTags {
    outer: u32,
    inner: u32,
}

impl VlanTags {
    /// Stands for no tag; tags have 16 bits. Plain words instead of options, because the compiler may
    /// look into an option that is `None`, and the verifier then sees it use a value that is not there.
    const NONE: u32 = 1 << 16;

    /// No tag.
    pub const UNTAGGED: Self = Self { outer: Self::NONE, inner: Self::NONE };

    /// Adds a tag behind those that are there; false when there are two.
    #[inline(always)]
    pub const fn push(&mut self, tag: VlanTag) -> bool {
        if self.outer == Self::NONE {
            self.outer = tag.0 as u32;
        } else if self.inner == Self::NONE {
            self.inner = tag.0 as u32;
        } else {
            return false;
        }
        true
    }

    /// Outer tag.
    #[inline(always)]
    pub const fn outer(self) -> Option<VlanTag> {
        if self.outer == Self::NONE { None } else { Some(VlanTag(self.outer as u16)) }
    }

    /// Inner tag of two.
    #[inline(always)]
    pub const fn inner(self) -> Option<VlanTag> {
        if self.inner == Self::NONE { None } else { Some(VlanTag(self.inner as u16)) }
    }

    /// The outer tag, or 65536 without one, as flow records keep it.
    #[inline(always)]
    pub const fn outer_word(self) -> u32 {
        self.outer
    }

    /// Their bytes in the frame.
    #[inline(always)]
    pub const fn len(self) -> usize {
        let outer = if self.outer == Self::NONE { 0 } else { VlanTag::LEN };
        let inner = if self.inner == Self::NONE { 0 } else { VlanTag::LEN };
        outer + inner
    }

    /// Whether there is no tag.
    pub const fn is_empty(self) -> bool {
        self.outer == Self::NONE
    }
}
