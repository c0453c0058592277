//! Datagram extended transport header.

/// DETH: in every UD packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deth {
    /// Q_Key.
    pub queue_key: u32,
    /// QP number of the sender, 24 bits.
    pub source_qp: u32,
}

impl Deth {
    /// Length of the header.
    pub const LEN: usize = 8;
    /// Where the word with the source QP stands in the header.
    pub const SOURCE_QP_OFFSET: usize = 4;

    /// Reads the header.
    #[inline(always)]
    pub const fn from_bytes(b: [u8; Self::LEN]) -> Self {
        Self {
            queue_key: u32::from_be_bytes([b[0], b[1], b[2], b[3]]),
            source_qp: u32::from_be_bytes([0, b[5], b[6], b[7]]),
        }
    }
}
