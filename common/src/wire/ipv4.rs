//! IPv4 header without its options.

use super::TrafficClass;

/// The first 20 bytes of an IPv4 header.
#[derive(Clone, Copy, Debug)]
pub struct Ipv4 {
    bytes: [u8; Self::LEN],
}

impl Ipv4 {
    /// Length without options.
    pub const LEN: usize = 20;
    /// Where the source address stands.
    pub const SOURCE_OFFSET: usize = 12;
    /// Where the destination address stands.
    pub const DESTINATION_OFFSET: usize = 16;

    /// Takes the bytes as they are; see [`Self::header_len`] for what may be wrong with them.
    #[inline(always)]
    pub const fn from_bytes(bytes: [u8; Self::LEN]) -> Self {
        Self { bytes }
    }

    /// IP version, 4 in a good header.
    #[inline(always)]
    pub const fn version(&self) -> u8 {
        self.bytes[0] >> 4
    }

    /// Header length in bytes with options, 0 to 60; below 20 the header is broken.
    #[inline(always)]
    pub const fn header_len(&self) -> usize {
        (self.bytes[0] & 0x0f) as usize * 4
    }

    /// DSCP and ECN.
    #[inline(always)]
    pub const fn traffic_class(&self) -> TrafficClass {
        TrafficClass(self.bytes[1])
    }

    /// Header and payload together, in bytes.
    #[inline(always)]
    pub const fn total_len(&self) -> usize {
        u16::from_be_bytes([self.bytes[2], self.bytes[3]]) as usize
    }

    /// Whether this is a fragment other than the first: no UDP header follows.
    #[inline(always)]
    pub const fn is_later_fragment(&self) -> bool {
        u16::from_be_bytes([self.bytes[6], self.bytes[7]]) & 0x1fff != 0
    }

    /// Whether more fragments follow.
    #[inline(always)]
    pub const fn has_more_fragments(&self) -> bool {
        self.bytes[6] & 0x20 != 0
    }

    /// Whether this is a whole IPv4 packet without options.
    #[inline(always)]
    pub const fn is_plain(&self) -> bool {
        self.bytes[0] == 0x45 && (self.bytes[6] & 0x3f) | self.bytes[7] == 0
    }

    /// Payload protocol.
    #[inline(always)]
    pub const fn protocol(&self) -> u8 {
        self.bytes[9]
    }
}
