//! IPv6 header and its extension chain.

use super::TrafficClass;

/// Extension headers that are walked before a packet is given up as [`super::ParseReason::Ipv6ExtensionChain`].
pub const MAX_EXTENSION_HEADERS: usize = 4;

/// IPv6 header.
#[derive(Clone, Copy, Debug)]
pub struct Ipv6 {
    bytes: [u8; Self::LEN],
}

impl Ipv6 {
    /// Length of the fixed header.
    pub const LEN: usize = 40;

    /// Takes the bytes as they are.
    #[inline(always)]
    pub const fn from_bytes(bytes: [u8; Self::LEN]) -> Self {
        Self { bytes }
    }

    /// IP version, 6 in a good header.
    #[inline(always)]
    pub const fn version(&self) -> u8 {
        self.bytes[0] >> 4
    }

    /// DSCP and ECN.
    #[inline(always)]
    pub const fn traffic_class(&self) -> TrafficClass {
        TrafficClass(self.bytes[0] << 4 | self.bytes[1] >> 4)
    }

    /// Flow label, 20 bits.
    #[inline(always)]
    pub const fn flow_label(&self) -> u32 {
        u32::from_be_bytes([0, self.bytes[1] & 0x0f, self.bytes[2], self.bytes[3]])
    }

    /// Bytes after the fixed header: extension headers and payload.
    #[inline(always)]
    pub const fn payload_len(&self) -> usize {
        u16::from_be_bytes([self.bytes[4], self.bytes[5]]) as usize
    }

    /// Protocol of what follows the fixed header.
    #[inline(always)]
    pub const fn next_header(&self) -> u8 {
        self.bytes[6]
    }

    /// Source address, network order.
    #[inline(always)]
    pub fn source(&self) -> [u8; 16] {
        self.address::<8>()
    }

    /// Destination address, network order.
    #[inline(always)]
    pub fn destination(&self) -> [u8; 16] {
        self.address::<24>()
    }

    #[inline(always)]
    fn address<const OFFSET: usize>(&self) -> [u8; 16] {
        core::array::from_fn(|i| self.bytes.get(OFFSET + i).copied().unwrap_or_default())
    }
}

/// What an extension header says about the rest of the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extension {
    /// A header of `len` bytes, then `next`.
    Skip { next: u8, len: usize },
    /// The first fragment of a datagram, then `next`.
    FirstFragment { next: u8, more: bool },
    /// A later fragment: no upper header follows.
    LaterFragment,
    /// Not an extension header.
    Upper,
}

/// Reads the first 8 bytes of the header with number `kind`.
#[inline(always)]
pub(super) const fn extension(kind: u8, bytes: [u8; 8]) -> Extension {
    const HOP_BY_HOP: u8 = 0;
    const ROUTING: u8 = 43;
    const FRAGMENT: u8 = 44;
    const AUTHENTICATION: u8 = 51;
    const DESTINATION: u8 = 60;
    match kind {
        HOP_BY_HOP | ROUTING | DESTINATION => {
            Extension::Skip { next: bytes[0], len: (bytes[1] as usize + 1) * 8 }
        }
        AUTHENTICATION => Extension::Skip { next: bytes[0], len: (bytes[1] as usize + 2) * 4 },
        FRAGMENT => {
            let field = u16::from_be_bytes([bytes[2], bytes[3]]);
            if field >> 3 == 0 {
                Extension::FirstFragment { next: bytes[0], more: field & 1 != 0 }
            } else {
                Extension::LaterFragment
            }
        }
        _ => Extension::Upper,
    }
}
