//! Invalidate extended transport header.

/// IETH: the R_Key that a SEND with invalidate revokes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ieth {
    /// R_Key.
    pub remote_key: u32,
}

impl Ieth {
    /// Length of the header.
    pub const LEN: usize = 4;

    /// Reads the header.
    #[inline(always)]
    pub const fn from_bytes(bytes: [u8; Self::LEN]) -> Self {
        Self { remote_key: u32::from_be_bytes(bytes) }
    }
}
