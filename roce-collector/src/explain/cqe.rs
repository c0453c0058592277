//! Error completion queue entries of mlx5 devices, which drivers dump as hexadecimal.

use serde::Serialize;

use super::text;

/// Bytes of an entry.
pub(super) const CQE_LEN: usize = 64;
const ROW_LEN: usize = 16;

/// Which side of the connection the failed work was on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Sent the request.
    Requester,
    /// Answered it.
    Responder,
}

impl Role {
    /// Its name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Requester => "requester",
            Self::Responder => "responder",
        }
    }
}

/// The fields of an error CQE (`struct mlx5_err_cqe` of rdma-core and the kernel).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorCqe {
    /// What failed.
    pub syndrome: u8,
    /// Vendor code.
    pub vendor_err: u8,
    /// Opcode of the work queue entry; only of a requester's error.
    pub opcode: u8,
    /// QP number.
    pub qpn: u32,
    /// Shared receive queue, 0 for none.
    pub srqn: u32,
    /// Counter of the work queue entry.
    pub wqe_counter: u16,
    /// Side, if the entry is an error at all.
    pub role: Option<Role>,
}

impl ErrorCqe {
    /// Reads an entry, big-endian as the device writes it.
    pub fn parse(cqe: &[u8; CQE_LEN]) -> Self {
        let word24 = |at: usize| u32::from_be_bytes([0, cqe[at], cqe[at + 1], cqe[at + 2]]);
        Self {
            srqn: word24(33),
            vendor_err: cqe[54],
            syndrome: cqe[55],
            opcode: cqe[56],
            qpn: word24(57),
            wqe_counter: u16::from_be_bytes([cqe[60], cqe[61]]),
            role: match cqe[63] >> 4 {
                0xd => Some(Role::Requester),
                0xe => Some(Role::Responder),
                _ => None,
            },
        }
    }

    /// The operation of a requester, as `RDMA_WRITE (0x08)`.
    pub fn operation(&self) -> Option<String> {
        let name = match self.opcode {
            0x00 => "NOP",
            0x01 => "SEND_INVAL",
            0x08 => "RDMA_WRITE",
            0x09 => "RDMA_WRITE_IMM",
            0x0a => "SEND",
            0x0b => "SEND_IMM",
            0x0e => "TSO",
            0x10 => "RDMA_READ",
            0x11 => "ATOMIC_CS",
            0x12 => "ATOMIC_FA",
            0x14 => "ATOMIC_MASKED_CS",
            0x15 => "ATOMIC_MASKED_FA",
            0x18 => "BIND_MW",
            0x1b => "LOCAL_INVAL",
            0x20 => "SET_PSV",
            0x25 => "UMR",
            0x29 => "TAG_MATCHING",
            _ => "unknown",
        };
        (self.role == Some(Role::Requester)).then(|| format!("{name} ({:#04x})", self.opcode))
    }
}

/// A dump of which rows still come in.
#[derive(Clone, Debug)]
pub(super) struct Dump {
    bytes: [u8; CQE_LEN],
    len: usize,
}

/// One row of a dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// Where it belongs; rows of four words do not say and come in order.
    offset: Option<usize>,
    bytes: [u8; ROW_LEN],
}

impl Dump {
    pub(super) const fn new() -> Self {
        Self { bytes: [0; CQE_LEN], len: 0 }
    }

    /// Adds a row. Gives the entry with the last one; `None` when rows are missing.
    pub(super) fn add(&mut self, row: &Row) -> Option<ErrorCqe> {
        if row.offset.is_some_and(|offset| offset != self.len) || self.len >= CQE_LEN {
            // A row was lost. The last one alone has what matters, but the shared receive queue.
            let is_last = row.offset == Some(CQE_LEN - ROW_LEN);
            if !is_last {
                return None;
            }
            self.len = CQE_LEN - ROW_LEN;
        }
        self.bytes[self.len..self.len + ROW_LEN].copy_from_slice(&row.bytes);
        self.len += ROW_LEN;
        (self.len == CQE_LEN).then(|| ErrorCqe::parse(&self.bytes))
    }
}

impl Row {
    /// Four words of eight digits at the end of the line, or `cqe_dump: 00000030:` and sixteen bytes.
    pub(super) fn parse(line: &str) -> Option<Self> {
        match text::after(line, "cqe_dump: ") {
            Some(row) => Self::with_offset(row),
            None => Self::four_words(line),
        }
    }

    fn four_words(line: &str) -> Option<Self> {
        let mut bytes = [0; ROW_LEN];
        let mut words = line.split_ascii_whitespace().rev();
        for word in bytes.chunks_exact_mut(4).rev() {
            let digits = words.next().filter(|digits| is_hexadecimal(digits, 8))?;
            word.copy_from_slice(&u32::from_str_radix(digits, 16).ok()?.to_be_bytes());
        }
        // Anything in front is what a log puts there, never a fifth word.
        let is_row = words.next().is_none_or(|before| !is_hexadecimal(before, 8));
        is_row.then_some(Self { offset: None, bytes })
    }

    fn with_offset(row: &str) -> Option<Self> {
        let (offset, row) = row.split_once(':')?;
        let offset = usize::from_str_radix(offset.trim(), 16).ok()?;
        let mut bytes = [0; ROW_LEN];
        let mut digits = row.split_ascii_whitespace();
        for byte in &mut bytes {
            let digits = digits.next().filter(|digits| is_hexadecimal(digits, 2))?;
            *byte = u8::from_str_radix(digits, 16).ok()?;
        }
        Some(Self { offset: Some(offset), bytes })
    }
}

fn is_hexadecimal(text: &str, len: usize) -> bool {
    text.len() == len && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dump(rows: &[&str]) -> Option<ErrorCqe> {
        let mut dump = Dump::new();
        rows.iter().filter_map(|row| dump.add(&Row::parse(row).expect("a row"))).last()
    }

    const EMPTY: &str = "00000000 00000000 00000000 00000000";

    #[test]
    fn words_of_a_user_space_dump() {
        let rows = [
            EMPTY,
            EMPTY,
            "000000b9 00000000 00000000 00000000",
            "00000000 00008813 100076ab 008ae4d3",
        ];
        let cqe = dump(&rows).unwrap();
        assert_eq!((cqe.syndrome, cqe.vendor_err, cqe.qpn, cqe.srqn), (0x13, 0x88, 0x76ab, 0xb9));
        assert_eq!((cqe.wqe_counter, cqe.role), (0x8a, Some(Role::Requester)));
        assert_eq!(cqe.operation().as_deref(), Some("RDMA_READ (0x10)"));
    }

    #[test]
    fn entries_of_public_reports() {
        for (row, syndrome, vendor_err, qpn, role) in [
            ("00000000 a9005604 000001e9 0054e8e2", 0x04, 0x56, 0x1e9, Role::Responder),
            ("00000000 a9005604 000000ed 0ddaffe2", 0x04, 0x56, 0xed, Role::Responder),
            ("00000000 00008813 080361b3 1ea142d3", 0x13, 0x88, 0x361b3, Role::Requester),
            ("00000000 0f007806 25000058 00daacd2", 0x06, 0x78, 0x58, Role::Requester),
            ("00000000 00008716 0a001f8e 000027d2", 0x16, 0x87, 0x1f8e, Role::Requester),
            ("00000000 92005204 0a00082f 0000c5d2", 0x04, 0x52, 0x82f, Role::Requester),
            ("00000000 93005204 0a0019a1 c0921cd2", 0x04, 0x52, 0x19a1, Role::Requester),
        ] {
            let cqe = dump(&[EMPTY, EMPTY, EMPTY, row]).unwrap();
            let found = (cqe.syndrome, cqe.vendor_err, cqe.qpn, cqe.role);
            assert_eq!(found, (syndrome, vendor_err, qpn, Some(role)), "{row}");
            assert_eq!(cqe.operation().is_some(), role == Role::Requester);
        }
    }

    #[test]
    fn the_last_row_of_a_kernel_dump_is_enough() {
        let row = "infiniband mlx5_0: cqe_dump: 00000030: 00 00 00 00 0f 00 78 06 25 00 00 58 00 da ac d2";
        assert_eq!(dump(&[row]).map(|cqe| cqe.qpn), Some(0x58));
    }

    #[test]
    fn what_is_no_row() {
        for line in [
            "",
            "00000000 00000000 00000000",
            "00000000 00000000 00000000 0000000g",
            "00000000 00000000 00000000 00000000 00000000",
            "cqe_dump: zz: 00",
            "cqe_dump: 00000030: 00 00",
        ] {
            assert_eq!(Row::parse(line), None, "{line:?}");
        }
        assert!(Row::parse("[ 12.3] 00000000 00000000 00000000 00000001").is_some());
    }
}
