//! IPv6 header and its extension chain.

use super::TrafficClass;

/// Extension headers that are walked before a packet is given up as [`super::ParseReason::Ipv6ExtensionChain`].
pub const MAX_EXTENSION_HEADERS: usize = 4;

/// The first 8 bytes of an IPv6 header; the addresses follow.
#[derive(Clone, Copy, Debug)]
pub struct Ipv6 {
    bytes: [u8; 8],
}

impl Ipv6 {
    /// Length of the fixed header.
    pub const LEN: usize = 40;
    /// Where the source address stands.
    pub const SOURCE_OFFSET: usize = 8;
    /// Where the destination address stands.
    pub const DESTINATION_OFFSET: usize = 24;

    /// Takes the bytes as they are.
    #[inline(always)]
    pub const fn from_bytes(bytes: [u8; 8]) -> Self {
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
}

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION: u8 = 60;

/// What an extension header says about the rest of the chain.
pub(super) enum Extension {
    /// A header of `len` bytes, then `next`.
    Skip { next: u8, len: usize },
    /// The first fragment of a datagram, then `next`.
    FirstFragment { next: u8, more: bool },
    /// A later fragment of a datagram that started with `next`: no upper header follows.
    LaterFragment { next: u8 },
}

/// Whether `kind` is an extension header that can stand before UDP.
#[inline(always)]
pub(super) const fn is_extension(kind: u8) -> bool {
    matches!(kind, HOP_BY_HOP | ROUTING | FRAGMENT | AUTHENTICATION | DESTINATION)
}

/// Reads the first 8 bytes of an extension header (RFC 8200, RFC 4302).
#[inline(always)]
pub(super) const fn extension(kind: u8, bytes: [u8; 8]) -> Extension {
    let (next, len) = (bytes[0], bytes[1] as usize);
    match kind {
        FRAGMENT => {
            let field = u16::from_be_bytes([bytes[2], bytes[3]]);
            if field >> 3 == 0 {
                Extension::FirstFragment { next, more: field & 1 != 0 }
            } else {
                Extension::LaterFragment { next }
            }
        }
        AUTHENTICATION => Extension::Skip { next, len: (len + 2) * 4 },
        _ => Extension::Skip { next, len: (len + 1) * 8 },
    }
}
