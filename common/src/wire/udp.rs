//! UDP header.

/// Destination port of `RoCEv2`.
pub const ROCE_PORT: u16 = 4791;

/// UDP header.
#[derive(Clone, Copy, Debug)]
pub struct Udp {
    bytes: [u8; Self::LEN],
}

impl Udp {
    /// Length of the header.
    pub const LEN: usize = 8;
    /// IP protocol number.
    pub const PROTOCOL: u8 = 17;

    /// Takes the bytes as they are.
    #[inline(always)]
    pub const fn from_bytes(bytes: [u8; Self::LEN]) -> Self {
        Self { bytes }
    }

    /// Source port: in RoCE a hash that spreads flows over equal-cost paths, not an identity.
    #[inline(always)]
    pub const fn source_port(&self) -> u16 {
        u16::from_be_bytes([self.bytes[0], self.bytes[1]])
    }

    /// Destination port.
    #[inline(always)]
    pub const fn destination_port(&self) -> u16 {
        u16::from_be_bytes([self.bytes[2], self.bytes[3]])
    }

    /// Header and payload together, in bytes.
    #[inline(always)]
    pub const fn datagram_len(&self) -> usize {
        u16::from_be_bytes([self.bytes[4], self.bytes[5]]) as usize
    }
}
