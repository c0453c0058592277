//! RDMA extended transport header.

/// RETH: where a WRITE or READ goes and how long it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reth {
    /// Virtual address at the responder.
    pub virtual_address: u64,
    /// R_Key.
    pub remote_key: u32,
    /// DMALen: length of the whole message in bytes.
    pub dma_len: u32,
}

impl Reth {
    /// Length of the header.
    pub const LEN: usize = 16;
    /// Where the DMA length stands in the header.
    pub const DMA_LEN_OFFSET: usize = 12;

    /// Reads the header.
    #[inline(always)]
    pub const fn from_bytes(b: [u8; Self::LEN]) -> Self {
        Self {
            virtual_address: u64::from_be_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]),
            remote_key: u32::from_be_bytes([b[8], b[9], b[10], b[11]]),
            dma_len: u32::from_be_bytes([b[12], b[13], b[14], b[15]]),
        }
    }
}
