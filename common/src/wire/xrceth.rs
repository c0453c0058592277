//! XRC extended transport header.

/// XRCETH: which shared receive queue an XRC request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct XrcEth {
    /// SRQ number, 24 bits.
    pub srq: u32,
}

impl XrcEth {
    /// Length of the header.
    pub const LEN: usize = 4;

    /// Reads the header.
    #[inline(always)]
    pub const fn from_bytes(b: [u8; Self::LEN]) -> Self {
        Self { srq: u32::from_be_bytes([0, b[1], b[2], b[3]]) }
    }
}
