//! Immediate data.

/// `ImmDt`: four bytes that the requester hands to the receiver's completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImmDt(pub u32);

impl ImmDt {
    /// Length of the header.
    pub const LEN: usize = 4;

    /// Reads the header.
    #[inline(always)]
    pub const fn from_bytes(bytes: [u8; Self::LEN]) -> Self {
        Self(u32::from_be_bytes(bytes))
    }
}
