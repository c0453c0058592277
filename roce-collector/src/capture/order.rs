//! Byte order of a file's header fields.

/// Byte order in which a file or section was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Little,
    Big,
}

impl Order {
    /// The 16-bit field at `at`, which the caller has checked to lie within `bytes`.
    pub(super) fn u16(self, bytes: &[u8], at: usize) -> u16 {
        match self {
            Self::Little => u16::from_le_bytes(field(bytes, at)),
            Self::Big => u16::from_be_bytes(field(bytes, at)),
        }
    }

    /// The 32-bit field at `at`, which the caller has checked to lie within `bytes`.
    pub(super) fn u32(self, bytes: &[u8], at: usize) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(field(bytes, at)),
            Self::Big => u32::from_be_bytes(field(bytes, at)),
        }
    }

    /// A whole 64-bit value.
    pub(super) fn u64(self, bytes: [u8; 8]) -> u64 {
        match self {
            Self::Little => u64::from_le_bytes(bytes),
            Self::Big => u64::from_be_bytes(bytes),
        }
    }
}

fn field<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut field = [0; N];
    field.copy_from_slice(&bytes[at..at + N]);
    field
}
