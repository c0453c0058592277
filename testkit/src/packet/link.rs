//! Ethernet addressing and VLAN tags.

/// `EtherType` of IPv4.
pub const ETHERTYPE_IPV4: u16 = 0x0800;
/// `EtherType` of IPv6.
pub const ETHERTYPE_IPV6: u16 = 0x86dd;
/// `EtherType` of RoCEv1: a GRH follows.
pub const ETHERTYPE_ROCE_V1: u16 = 0x8915;
/// Tag protocol identifier of a customer VLAN tag (802.1Q).
pub const TPID_CUSTOMER: u16 = 0x8100;
/// Tag protocol identifier of a service VLAN tag (802.1ad).
pub const TPID_SERVICE: u16 = 0x88a8;

/// A 48-bit Ethernet address.
pub type Mac = [u8; 6];

/// One VLAN tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VlanTag {
    /// Tag protocol identifier.
    pub tpid: u16,
    /// Priority code point, 0 to 7.
    pub pcp: u8,
    /// VLAN identifier, 12 bits.
    pub vid: u16,
}

impl VlanTag {
    /// An 802.1Q tag.
    pub const fn customer(vid: u16, pcp: u8) -> Self {
        Self { tpid: TPID_CUSTOMER, pcp, vid }
    }

    /// An 802.1ad service tag, the outer one of `QinQ`.
    pub const fn service(vid: u16, pcp: u8) -> Self {
        Self { tpid: TPID_SERVICE, pcp, vid }
    }

    fn control(self) -> u16 {
        u16::from(self.pcp & 7) << 13 | (self.vid & 0x0fff)
    }
}

/// Appends addresses, tags and the `EtherType` of what follows.
pub(super) fn write(dst: Mac, src: Mac, tags: &[VlanTag], ethertype: u16, out: &mut Vec<u8>) {
    out.extend(dst);
    out.extend(src);
    for tag in tags {
        out.extend(tag.tpid.to_be_bytes());
        out.extend(tag.control().to_be_bytes());
    }
    out.extend(ethertype.to_be_bytes());
}

/// Bytes that [`write()`] appends.
pub(super) const fn len(tags: &[VlanTag]) -> usize {
    14 + 4 * tags.len()
}
