//! Global routing header: what stands for IP in `RoCEv1`.

use super::Ipv6;

/// GRH. Same layout as an IPv6 header, with GIDs for addresses.
#[derive(Clone, Copy, Debug)]
pub struct Grh(pub Ipv6);

impl Grh {
    /// Length of the header.
    pub const LEN: usize = Ipv6::LEN;
    /// Next-header value that announces a BTH.
    pub const NEXT_HEADER_BTH: u8 = 0x1b;

    /// Takes the bytes as they are.
    #[inline(always)]
    pub const fn from_bytes(bytes: [u8; 8]) -> Self {
        Self(Ipv6::from_bytes(bytes))
    }

    /// Whether version and next header are those of a GRH before a BTH.
    #[inline(always)]
    pub const fn is_valid(&self) -> bool {
        self.0.version() == 6 && self.0.next_header() == Self::NEXT_HEADER_BTH
    }
}
