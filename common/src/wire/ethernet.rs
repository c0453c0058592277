//! Ethernet II.

/// The protocol that follows an Ethernet or VLAN header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EtherType(pub u16);

impl EtherType {
    /// Where the type stands in an Ethernet header.
    pub const OFFSET: usize = 12;
    /// Length of an untagged Ethernet header.
    pub const HEADER_LEN: usize = 14;

    /// IPv4.
    pub const IPV4: Self = Self(0x0800);
    /// IPv6.
    pub const IPV6: Self = Self(0x86dd);
    /// `RoCEv1`: a GRH and a BTH directly on Ethernet.
    pub const ROCE_V1: Self = Self(0x8915);
    /// 802.1Q customer tag.
    pub const VLAN: Self = Self(0x8100);
    /// 802.1ad service tag.
    pub const QINQ: Self = Self(0x88a8);

    /// Whether a VLAN tag follows.
    #[inline(always)]
    pub const fn is_vlan(self) -> bool {
        self.0 == Self::VLAN.0 || self.0 == Self::QINQ.0
    }
}
