//! Headers of atomic operations.

/// `AtomicETH`: a compare-and-swap or fetch-and-add request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtomicEth {
    /// Virtual address at the responder, a multiple of 8.
    pub virtual_address: u64,
    /// R_Key.
    pub remote_key: u32,
    /// Value to swap in or to add.
    pub swap_or_add: u64,
    /// Value to compare with; unused by fetch-and-add.
    pub compare: u64,
}

/// `AtomicAckETH`: the value before the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtomicAckEth {
    /// Value that stood there before.
    pub original: u64,
}

impl AtomicEth {
    /// Length of the header.
    pub const LEN: usize = 28;

    /// Reads the header.
    #[inline(always)]
    pub const fn from_bytes(b: [u8; Self::LEN]) -> Self {
        Self {
            virtual_address: u64::from_be_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]),
            remote_key: u32::from_be_bytes([b[8], b[9], b[10], b[11]]),
            swap_or_add: u64::from_be_bytes([
                b[12], b[13], b[14], b[15], b[16], b[17], b[18], b[19],
            ]),
            compare: u64::from_be_bytes([b[20], b[21], b[22], b[23], b[24], b[25], b[26], b[27]]),
        }
    }
}

impl AtomicAckEth {
    /// Length of the header.
    pub const LEN: usize = 8;

    /// Reads the header.
    #[inline(always)]
    pub const fn from_bytes(bytes: [u8; Self::LEN]) -> Self {
        Self { original: u64::from_be_bytes(bytes) }
    }
}
