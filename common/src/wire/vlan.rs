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
