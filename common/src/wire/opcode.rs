//! BTH opcodes: three bits of transport, five bits of operation.

use super::XrcEth;
use super::opcode_facts::{FACTS, FETH_LEN, Facts, operations};

/// The opcode byte of a BTH. Every value is representable; see [`Self::operation`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Opcode(pub u8);

/// Transport service, from the upper three bits of the opcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// Reliable connection.
    Rc,
    /// Unreliable connection.
    Uc,
    /// Reliable datagram; no known product implements it.
    Rd,
    /// Unreliable datagram.
    Ud,
    /// The group of the congestion notification packet.
    Cnp,
    /// Extended reliable connection.
    Xrc,
    /// Groups 6 and 7, left to manufacturers.
    Manufacturer,
}

/// What a packet does, whatever its transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of the IBTA opcode table")]
pub enum Operation {
    SendFirst,
    SendMiddle,
    SendLast,
    SendLastImmediate,
    SendOnly,
    SendOnlyImmediate,
    RdmaWriteFirst,
    RdmaWriteMiddle,
    RdmaWriteLast,
    RdmaWriteLastImmediate,
    RdmaWriteOnly,
    RdmaWriteOnlyImmediate,
    RdmaReadRequest,
    RdmaReadResponseFirst,
    RdmaReadResponseMiddle,
    RdmaReadResponseLast,
    RdmaReadResponseOnly,
    Acknowledge,
    AtomicAcknowledge,
    CompareSwap,
    FetchAdd,
    SendLastInvalidate,
    SendOnlyInvalidate,
    Flush,
    AtomicWrite,
    Cnp,
    /// No standard defines this opcode byte.
    Unknown(u8),
}

/// Which way a packet goes, decided at compile time for tables over all opcodes.
pub(crate) enum OpcodeKind {
    Request,
    /// READ response or atomic acknowledge.
    Response,
    Acknowledge,
    Cnp,
    Unknown,
}

impl Opcode {
    /// Congestion notification packet.
    pub const CNP: Self = Self(0x81);
    /// RC acknowledgement.
    pub const RC_ACKNOWLEDGE: Self = Self(0x11);

    /// Transport service.
    #[inline(always)]
    pub const fn transport(self) -> Transport {
        match self.0 >> 5 {
            0 => Transport::Rc,
            1 => Transport::Uc,
            2 => Transport::Rd,
            3 => Transport::Ud,
            4 => Transport::Cnp,
            5 => Transport::Xrc,
            _ => Transport::Manufacturer,
        }
    }

    /// Whether the packet answers a request, so that its PSN belongs to the other direction's requests.
    #[inline(always)]
    pub fn is_response(self) -> bool {
        self.has(Facts::RESPONSE)
    }

    /// Whether this is an ACK, NAK or RNR NAK packet: a response without data.
    #[inline(always)]
    pub fn is_acknowledge(self) -> bool {
        self.has(Facts::ACKNOWLEDGE)
    }

    /// Whether the packet is followed by more of its message, so that it is as large as the path MTU.
    #[inline(always)]
    pub fn fills_path_mtu(self) -> bool {
        self.is_defined() && self.is_one_of(operations::FULL)
    }

    /// Whether the opcode byte is one that a standard defines.
    #[inline(always)]
    pub fn is_defined(self) -> bool {
        self.has(Facts::DEFINED)
    }

    /// Whether an AETH follows.
    #[inline(always)]
    pub fn has_aeth(self) -> bool {
        self.has(Facts::AETH)
    }

    /// Whether a RETH follows.
    #[inline(always)]
    pub fn has_reth(self) -> bool {
        self.has(Facts::RETH)
    }

    /// Whether a DETH follows.
    #[inline(always)]
    pub fn has_deth(self) -> bool {
        self.has(Facts::DETH)
    }

    /// Whether an `XRCETH` follows.
    #[inline(always)]
    pub fn has_xrc_eth(self) -> bool {
        self.has(Facts::XRC_ETH)
    }

    /// Whether immediate data follows.
    pub fn has_imm_dt(self) -> bool {
        self.is_defined() && self.is_one_of(operations::IMM_DT)
    }

    /// Whether an `AtomicETH` follows.
    pub fn has_atomic_eth(self) -> bool {
        self.is_defined() && self.is_one_of(operations::ATOMIC_ETH)
    }

    /// Whether an `AtomicAckETH` follows.
    pub fn has_atomic_ack_eth(self) -> bool {
        self.is_defined() && self.is_one_of(operations::ATOMIC_ACK_ETH)
    }

    /// Whether an IETH follows.
    pub fn has_ieth(self) -> bool {
        self.is_defined() && self.is_one_of(operations::IETH)
    }

    /// Bytes between the BTH and the word that [`super::Extended`] keeps; `None` when there is none.
    #[inline(always)]
    pub(super) fn word_offset(self) -> Option<usize> {
        match FACTS.get(self.0 as usize) {
            Some(facts) if facts.flags & Facts::WORD != 0 => Some(facts.word_offset as usize),
            _ => None,
        }
    }

    /// Bytes between the BTH and the RETH: an `XRCETH`, or the FETH of a FLUSH.
    #[inline(always)]
    pub fn reth_offset(self) -> usize {
        let xrc = if self.has(Facts::XRC_ETH) { XrcEth::LEN } else { 0 };
        let feth = if self.has(Facts::FETH) { FETH_LEN } else { 0 };
        xrc + feth
    }

    /// Length of all headers between BTH and payload; 0 for an unknown opcode.
    ///
    /// The 16 reserved bytes of a CNP count as header, for they carry nothing.
    #[inline(always)]
    pub fn extended_len(self) -> usize {
        match FACTS.get(self.0 as usize) {
            Some(facts) => facts.extended_len as usize,
            None => 0,
        }
    }

    #[inline(always)]
    fn has(self, flag: u8) -> bool {
        match FACTS.get(self.0 as usize) {
            Some(facts) => facts.flags & flag != 0,
            None => false,
        }
    }

    pub(crate) const fn classify(self) -> OpcodeKind {
        let flags = Facts::of(self).flags;
        if flags & Facts::DEFINED == 0 {
            OpcodeKind::Unknown
        } else if self.0 == Self::CNP.0 {
            OpcodeKind::Cnp
        } else if flags & Facts::ACKNOWLEDGE != 0 {
            OpcodeKind::Acknowledge
        } else if flags & Facts::RESPONSE != 0 {
            OpcodeKind::Response
        } else {
            OpcodeKind::Request
        }
    }

    #[inline(always)]
    pub(super) const fn is_one_of(self, operations: u32) -> bool {
        operations >> (self.0 & 0x1f) & 1 != 0
    }

    /// What the packet does.
    pub fn operation(self) -> Operation {
        if self.0 == Self::CNP.0 {
            return Operation::Cnp;
        }
        if !self.is_defined() {
            return Operation::Unknown(self.0);
        }
        match self.0 & 0x1f {
            0x00 => Operation::SendFirst,
            0x01 => Operation::SendMiddle,
            0x02 => Operation::SendLast,
            0x03 => Operation::SendLastImmediate,
            0x04 => Operation::SendOnly,
            0x05 => Operation::SendOnlyImmediate,
            0x06 => Operation::RdmaWriteFirst,
            0x07 => Operation::RdmaWriteMiddle,
            0x08 => Operation::RdmaWriteLast,
            0x09 => Operation::RdmaWriteLastImmediate,
            0x0a => Operation::RdmaWriteOnly,
            0x0b => Operation::RdmaWriteOnlyImmediate,
            0x0c => Operation::RdmaReadRequest,
            0x0d => Operation::RdmaReadResponseFirst,
            0x0e => Operation::RdmaReadResponseMiddle,
            0x0f => Operation::RdmaReadResponseLast,
            0x10 => Operation::RdmaReadResponseOnly,
            0x11 => Operation::Acknowledge,
            0x12 => Operation::AtomicAcknowledge,
            0x13 => Operation::CompareSwap,
            0x14 => Operation::FetchAdd,
            0x16 => Operation::SendLastInvalidate,
            0x17 => Operation::SendOnlyInvalidate,
            0x1c => Operation::Flush,
            0x1d => Operation::AtomicWrite,
            _ => Operation::Unknown(self.0),
        }
    }
}

impl Transport {
    /// Label in metrics and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rc => "RC",
            Self::Uc => "UC",
            Self::Rd => "RD",
            Self::Ud => "UD",
            Self::Cnp => "CNP",
            Self::Xrc => "XRC",
            Self::Manufacturer => "MANUFACTURER",
        }
    }
}

impl Operation {
    /// IBTA name in upper snake case without the transport; `UNKNOWN` for every unknown opcode.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SendFirst => "SEND_FIRST",
            Self::SendMiddle => "SEND_MIDDLE",
            Self::SendLast => "SEND_LAST",
            Self::SendLastImmediate => "SEND_LAST_IMM",
            Self::SendOnly => "SEND_ONLY",
            Self::SendOnlyImmediate => "SEND_ONLY_IMM",
            Self::RdmaWriteFirst => "RDMA_WRITE_FIRST",
            Self::RdmaWriteMiddle => "RDMA_WRITE_MIDDLE",
            Self::RdmaWriteLast => "RDMA_WRITE_LAST",
            Self::RdmaWriteLastImmediate => "RDMA_WRITE_LAST_IMM",
            Self::RdmaWriteOnly => "RDMA_WRITE_ONLY",
            Self::RdmaWriteOnlyImmediate => "RDMA_WRITE_ONLY_IMM",
            Self::RdmaReadRequest => "RDMA_READ_REQUEST",
            Self::RdmaReadResponseFirst => "RDMA_READ_RESPONSE_FIRST",
            Self::RdmaReadResponseMiddle => "RDMA_READ_RESPONSE_MIDDLE",
            Self::RdmaReadResponseLast => "RDMA_READ_RESPONSE_LAST",
            Self::RdmaReadResponseOnly => "RDMA_READ_RESPONSE_ONLY",
            Self::Acknowledge => "ACKNOWLEDGE",
            Self::AtomicAcknowledge => "ATOMIC_ACKNOWLEDGE",
            Self::CompareSwap => "COMPARE_SWAP",
            Self::FetchAdd => "FETCH_ADD",
            Self::SendLastInvalidate => "SEND_LAST_INV",
            Self::SendOnlyInvalidate => "SEND_ONLY_INV",
            Self::Flush => "FLUSH",
            Self::AtomicWrite => "ATOMIC_WRITE",
            Self::Cnp => "CNP",
            Self::Unknown(_) => "UNKNOWN",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_lengths_of_every_kind() {
        let expected = [
            (0x06, 16), // WRITE FIRST: RETH
            (0x07, 0),
            (0x0b, 20), // WRITE ONLY IMM: RETH, ImmDt
            (0x0c, 16),
            (0x0d, 4),
            (0x0e, 0), // READ RESPONSE MIDDLE has no AETH
            (0x11, 4),
            (0x12, 12), // ATOMIC ACK: AETH, AtomicAckETH
            (0x13, 28),
            (0x17, 4),
            (0x1c, 20), // FLUSH: FETH, RETH
            (0x1d, 16),
            (0x2b, 20),
            (0x64, 8),
            (0x65, 12),
            (0x81, 16),
            (0xa6, 20), // XRC WRITE FIRST: XRCETH, RETH
            (0xb1, 4),  // XRC ACK has no XRCETH
            (0xc0, 0),
        ];
        for (opcode, len) in expected {
            assert_eq!(Opcode(opcode).extended_len(), len, "opcode {opcode:#04x}");
        }
    }

    #[test]
    fn undefined_codes_keep_their_value() {
        for opcode in [0x15, 0x18, 0x2c, 0x60, 0x80, 0x9f, 0xff] {
            assert_eq!(Opcode(opcode).operation(), Operation::Unknown(opcode));
            assert!(!Opcode(opcode).is_defined());
        }
        let defined = (0..=255).filter(|&code| Opcode(code).is_defined()).count();
        assert_eq!(defined, 25 + 12 + 2 + 1 + 23, "RC, UC, UD, CNP, XRC");
    }

    #[test]
    fn a_cnp_is_no_response() {
        assert!(!Opcode::CNP.is_response());
        assert!(Opcode::RC_ACKNOWLEDGE.is_response());
        assert!(Opcode(0x0e).is_response());
        assert!(!Opcode(0x0c).is_response());
    }
}
