//! What the parser and the counters need to know of every opcode byte.

use super::{Aeth, AtomicAckEth, AtomicEth, Deth, Ieth, ImmDt, Opcode, Reth, Transport, XrcEth};

/// What the parser and the counters need to know of an opcode.
#[derive(Clone, Copy)]
#[repr(align(4))]
pub(super) struct Facts {
    /// Length of all extended headers.
    pub(super) extended_len: u8,
    /// Bytes between the BTH and the word of [`super::Extended`].
    pub(super) word_offset: u8,
    /// `Facts::AETH` and its siblings.
    pub(super) flags: u8,
}

/// Facts of every opcode byte. A table keeps the kernel path free of branches.
pub(super) static FACTS: [Facts; 256] = facts_table();

/// Sets of five-bit operation codes, as bit masks.
pub(super) mod operations {
    pub(in crate::wire) const RETH: u32 = set(&[0x06, 0x0a, 0x0b, 0x0c, 0x1c, 0x1d]);
    pub(in crate::wire) const AETH: u32 = set(&[0x0d, 0x0f, 0x10, 0x11, 0x12]);
    pub(in crate::wire) const IMM_DT: u32 = set(&[0x03, 0x05, 0x09, 0x0b]);
    pub(in crate::wire) const ATOMIC_ETH: u32 = set(&[0x13, 0x14]);
    pub(in crate::wire) const ATOMIC_ACK_ETH: u32 = set(&[0x12]);
    pub(in crate::wire) const IETH: u32 = set(&[0x16, 0x17]);
    pub(in crate::wire) const FETH: u32 = set(&[0x1c]);
    pub(in crate::wire) const RESPONSE: u32 = set(&[0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x12]);
    pub(in crate::wire) const ACKNOWLEDGE: u32 = set(&[0x11]);
    pub(in crate::wire) const RC: u32 = 0x001f_ffff | set(&[0x16, 0x17, 0x1c, 0x1d]);
    pub(in crate::wire) const FULL: u32 = set(&[0x00, 0x01, 0x06, 0x07, 0x0d, 0x0e]);
    pub(in crate::wire) const PLACEMENT: u32 = set(&[0x1c, 0x1d]);
    pub(in crate::wire) const UC: u32 = 0x0000_0fff;
    pub(in crate::wire) const UD: u32 = set(&[0x04, 0x05]);

    const fn set(members: &[u8]) -> u32 {
        let mut mask = 0;
        let mut rest = members;
        while let [first, tail @ ..] = rest {
            mask |= 1 << *first;
            rest = tail;
        }
        mask
    }
}

/// FETH of a FLUSH request: placement and selectivity bits (Linux `rxe_hdr.h`).
pub(super) const FETH_LEN: usize = 4;
/// RDETH, which precedes everything in RD.
const RDETH_LEN: usize = 4;
/// Reserved bytes of a CNP.
const CNP_RESERVED_LEN: usize = 16;

impl Facts {
    pub(super) const AETH: u8 = 1 << 0;
    pub(super) const RETH: u8 = 1 << 1;
    pub(super) const DETH: u8 = 1 << 2;
    pub(super) const XRC_ETH: u8 = 1 << 3;
    pub(super) const FETH: u8 = 1 << 4;
    pub(super) const RESPONSE: u8 = 1 << 5;
    pub(super) const ACKNOWLEDGE: u8 = 1 << 6;
    pub(super) const DEFINED: u8 = 1 << 7;

    /// Headers with a word that is kept.
    pub(super) const WORD: u8 = Self::AETH | Self::RETH | Self::DETH;

    const UNKNOWN: Self = Self { extended_len: 0, word_offset: 0, flags: 0 };

    pub(super) const fn of(opcode: Opcode) -> Self {
        let defined = match opcode.transport() {
            Transport::Rc => operations::RC,
            // No source for XRC defines FLUSH and ATOMIC WRITE.
            Transport::Xrc => operations::RC & !operations::PLACEMENT,
            Transport::Uc => operations::UC,
            Transport::Ud => operations::UD,
            Transport::Cnp if opcode.0 == Opcode::CNP.0 => {
                let extended_len = CNP_RESERVED_LEN as u8;
                return Self { extended_len, flags: Self::DEFINED, ..Self::UNKNOWN };
            }
            Transport::Rd => return Self { extended_len: RDETH_LEN as u8, ..Self::UNKNOWN },
            Transport::Cnp | Transport::Manufacturer => 0,
        };
        if !opcode.is_one_of(defined) {
            return Self::UNKNOWN;
        }
        let mut facts = Self { flags: Self::DEFINED, ..Self::UNKNOWN };
        if matches!(opcode.transport(), Transport::Ud) {
            facts.word_offset = Deth::SOURCE_QP_OFFSET as u8;
            facts = facts.with(Deth::LEN, Self::DETH);
        }
        if opcode.is_one_of(operations::RESPONSE) {
            facts = facts.with(0, Self::RESPONSE);
        } else if matches!(opcode.transport(), Transport::Xrc) {
            facts = facts.with(XrcEth::LEN, Self::XRC_ETH);
        }
        if opcode.is_one_of(operations::ACKNOWLEDGE) {
            facts = facts.with(0, Self::ACKNOWLEDGE);
        }
        if opcode.is_one_of(operations::FETH) {
            facts = facts.with(FETH_LEN, Self::FETH);
        }
        if opcode.is_one_of(operations::RETH) {
            facts.word_offset = facts.extended_len + Reth::DMA_LEN_OFFSET as u8;
            facts = facts.with(Reth::LEN, Self::RETH);
        }
        if opcode.is_one_of(operations::AETH) {
            facts = facts.with(Aeth::LEN, Self::AETH);
        }
        if opcode.is_one_of(operations::IMM_DT) {
            facts = facts.with(ImmDt::LEN, 0);
        }
        if opcode.is_one_of(operations::ATOMIC_ETH) {
            facts = facts.with(AtomicEth::LEN, 0);
        }
        if opcode.is_one_of(operations::ATOMIC_ACK_ETH) {
            facts = facts.with(AtomicAckEth::LEN, 0);
        }
        if opcode.is_one_of(operations::IETH) {
            facts = facts.with(Ieth::LEN, 0);
        }
        facts
    }

    const fn with(self, len: usize, flag: u8) -> Self {
        Self { extended_len: self.extended_len + len as u8, flags: self.flags | flag, ..self }
    }
}

#[expect(clippy::indexing_slicing, reason = "evaluated at compile time")]
const fn facts_table() -> [Facts; 256] {
    let mut table = [Facts::UNKNOWN; 256];
    let mut opcode = 0;
    while opcode < 256 {
        table[opcode] = Facts::of(Opcode(opcode as u8));
        opcode += 1;
    }
    table
}
