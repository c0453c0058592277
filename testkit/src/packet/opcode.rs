//! BTH opcodes by their IBTA names, and the extended headers each one carries.

use std::fmt;

/// A header between the BTH and the payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExtHeader {
    /// Reliable datagram: EE context.
    Rdeth,
    /// Datagram: `Q_Key` and source QP.
    Deth,
    /// XRC: the SRQ a request is for.
    Xrceth,
    /// FLUSH: placement type and selectivity.
    Feth,
    /// RDMA: virtual address, `R_Key`, DMA length.
    Reth,
    /// Atomic request: address, `R_Key`, swap/add and compare operands.
    AtomicEth,
    /// Acknowledge: syndrome and MSN.
    Aeth,
    /// Atomic acknowledge: the original value.
    AtomicAckEth,
    /// Immediate data.
    ImmDt,
    /// The `R_Key` that a SEND with invalidate invalidates.
    Ieth,
}

impl ExtHeader {
    /// Length in bytes.
    pub const fn size(self) -> usize {
        match self {
            Self::Rdeth | Self::Xrceth | Self::Feth | Self::Aeth | Self::ImmDt | Self::Ieth => 4,
            Self::Deth | Self::AtomicAckEth => 8,
            Self::Reth => 16,
            Self::AtomicEth => 28,
        }
    }
}

/// The opcode byte of a BTH: transport in the upper three bits, operation in the lower five.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Opcode(pub u8);

/// One row of [`all_opcodes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpcodeInfo {
    /// The byte on the wire.
    pub code: Opcode,
    /// IBTA name with its transport, for example `RC_RDMA_WRITE_FIRST`.
    pub name: &'static str,
    /// Extended headers in wire order.
    pub headers: &'static [ExtHeader],
}

impl OpcodeInfo {
    /// Bytes of extended headers.
    pub fn headers_len(&self) -> usize {
        self.headers.iter().map(|header| header.size()).sum()
    }
}

macro_rules! opcodes {
    ($($name:ident = $code:literal [$($header:ident)*])*) => {
        impl Opcode {
            $(
                #[doc = concat!("`", stringify!($name), "`, ", stringify!($code), ".")]
                pub const $name: Self = Self($code);
            )*
        }

        const OPCODES: &[OpcodeInfo] = &[$(OpcodeInfo {
            code: Opcode::$name,
            name: stringify!($name),
            headers: &[$(ExtHeader::$header),*],
        }),*];
    };
}

// Names as in include/rdma/ib_pack.h of Linux; header lists as in drivers/infiniband/sw/rxe/rxe_opcode.c.
opcodes! {
    RC_SEND_FIRST = 0x00 []
    RC_SEND_MIDDLE = 0x01 []
    RC_SEND_LAST = 0x02 []
    RC_SEND_LAST_IMM = 0x03 [ImmDt]
    RC_SEND_ONLY = 0x04 []
    RC_SEND_ONLY_IMM = 0x05 [ImmDt]
    RC_RDMA_WRITE_FIRST = 0x06 [Reth]
    RC_RDMA_WRITE_MIDDLE = 0x07 []
    RC_RDMA_WRITE_LAST = 0x08 []
    RC_RDMA_WRITE_LAST_IMM = 0x09 [ImmDt]
    RC_RDMA_WRITE_ONLY = 0x0a [Reth]
    RC_RDMA_WRITE_ONLY_IMM = 0x0b [Reth ImmDt]
    RC_RDMA_READ_REQUEST = 0x0c [Reth]
    RC_RDMA_READ_RESPONSE_FIRST = 0x0d [Aeth]
    RC_RDMA_READ_RESPONSE_MIDDLE = 0x0e []
    RC_RDMA_READ_RESPONSE_LAST = 0x0f [Aeth]
    RC_RDMA_READ_RESPONSE_ONLY = 0x10 [Aeth]
    RC_ACKNOWLEDGE = 0x11 [Aeth]
    RC_ATOMIC_ACKNOWLEDGE = 0x12 [Aeth AtomicAckEth]
    RC_COMPARE_SWAP = 0x13 [AtomicEth]
    RC_FETCH_ADD = 0x14 [AtomicEth]
    RC_SEND_LAST_INV = 0x16 [Ieth]
    RC_SEND_ONLY_INV = 0x17 [Ieth]
    RC_FLUSH = 0x1c [Feth Reth]
    RC_ATOMIC_WRITE = 0x1d [Reth]

    UC_SEND_FIRST = 0x20 []
    UC_SEND_MIDDLE = 0x21 []
    UC_SEND_LAST = 0x22 []
    UC_SEND_LAST_IMM = 0x23 [ImmDt]
    UC_SEND_ONLY = 0x24 []
    UC_SEND_ONLY_IMM = 0x25 [ImmDt]
    UC_RDMA_WRITE_FIRST = 0x26 [Reth]
    UC_RDMA_WRITE_MIDDLE = 0x27 []
    UC_RDMA_WRITE_LAST = 0x28 []
    UC_RDMA_WRITE_LAST_IMM = 0x29 [ImmDt]
    UC_RDMA_WRITE_ONLY = 0x2a [Reth]
    UC_RDMA_WRITE_ONLY_IMM = 0x2b [Reth ImmDt]

    RD_SEND_FIRST = 0x40 [Rdeth Deth]
    RD_SEND_MIDDLE = 0x41 [Rdeth Deth]
    RD_SEND_LAST = 0x42 [Rdeth Deth]
    RD_SEND_LAST_IMM = 0x43 [Rdeth Deth ImmDt]
    RD_SEND_ONLY = 0x44 [Rdeth Deth]
    RD_SEND_ONLY_IMM = 0x45 [Rdeth Deth ImmDt]
    RD_RDMA_WRITE_FIRST = 0x46 [Rdeth Deth Reth]
    RD_RDMA_WRITE_MIDDLE = 0x47 [Rdeth Deth]
    RD_RDMA_WRITE_LAST = 0x48 [Rdeth Deth]
    RD_RDMA_WRITE_LAST_IMM = 0x49 [Rdeth Deth ImmDt]
    RD_RDMA_WRITE_ONLY = 0x4a [Rdeth Deth Reth]
    RD_RDMA_WRITE_ONLY_IMM = 0x4b [Rdeth Deth Reth ImmDt]
    RD_RDMA_READ_REQUEST = 0x4c [Rdeth Deth Reth]
    RD_RDMA_READ_RESPONSE_FIRST = 0x4d [Rdeth Aeth]
    RD_RDMA_READ_RESPONSE_MIDDLE = 0x4e [Rdeth]
    RD_RDMA_READ_RESPONSE_LAST = 0x4f [Rdeth Aeth]
    RD_RDMA_READ_RESPONSE_ONLY = 0x50 [Rdeth Aeth]
    RD_ACKNOWLEDGE = 0x51 [Rdeth Aeth]
    RD_ATOMIC_ACKNOWLEDGE = 0x52 [Rdeth Aeth AtomicAckEth]
    RD_COMPARE_SWAP = 0x53 [Rdeth Deth AtomicEth]
    RD_FETCH_ADD = 0x54 [Rdeth Deth AtomicEth]
    RD_RESYNC = 0x55 [Rdeth Deth]

    UD_SEND_ONLY = 0x64 [Deth]
    UD_SEND_ONLY_IMM = 0x65 [Deth ImmDt]

    CNP = 0x81 []

    XRC_SEND_FIRST = 0xa0 [Xrceth]
    XRC_SEND_MIDDLE = 0xa1 [Xrceth]
    XRC_SEND_LAST = 0xa2 [Xrceth]
    XRC_SEND_LAST_IMM = 0xa3 [Xrceth ImmDt]
    XRC_SEND_ONLY = 0xa4 [Xrceth]
    XRC_SEND_ONLY_IMM = 0xa5 [Xrceth ImmDt]
    XRC_RDMA_WRITE_FIRST = 0xa6 [Xrceth Reth]
    XRC_RDMA_WRITE_MIDDLE = 0xa7 [Xrceth]
    XRC_RDMA_WRITE_LAST = 0xa8 [Xrceth]
    XRC_RDMA_WRITE_LAST_IMM = 0xa9 [Xrceth ImmDt]
    XRC_RDMA_WRITE_ONLY = 0xaa [Xrceth Reth]
    XRC_RDMA_WRITE_ONLY_IMM = 0xab [Xrceth Reth ImmDt]
    XRC_RDMA_READ_REQUEST = 0xac [Xrceth Reth]
    XRC_RDMA_READ_RESPONSE_FIRST = 0xad [Aeth]
    XRC_RDMA_READ_RESPONSE_MIDDLE = 0xae []
    XRC_RDMA_READ_RESPONSE_LAST = 0xaf [Aeth]
    XRC_RDMA_READ_RESPONSE_ONLY = 0xb0 [Aeth]
    XRC_ACKNOWLEDGE = 0xb1 [Aeth]
    XRC_ATOMIC_ACKNOWLEDGE = 0xb2 [Aeth AtomicAckEth]
    XRC_COMPARE_SWAP = 0xb3 [Xrceth AtomicEth]
    XRC_FETCH_ADD = 0xb4 [Xrceth AtomicEth]
    XRC_SEND_LAST_INV = 0xb6 [Xrceth Ieth]
    XRC_SEND_ONLY_INV = 0xb7 [Xrceth Ieth]
}

/// Every opcode the builder knows, in ascending order.
pub const fn all_opcodes() -> &'static [OpcodeInfo] {
    OPCODES
}

impl Opcode {
    /// The table row, or `None` for a reserved or manufacturer opcode.
    pub fn info(self) -> Option<&'static OpcodeInfo> {
        OPCODES.binary_search_by_key(&self.0, |row| row.code.0).ok().map(|at| &OPCODES[at])
    }

    /// IBTA name with its transport; `UNKNOWN` when the opcode is in no table.
    pub fn name(self) -> &'static str {
        self.info().map_or("UNKNOWN", |row| row.name)
    }

    /// IBTA name without its transport, as reports show it: `RDMA_WRITE_FIRST`, `CNP`.
    pub fn operation(self) -> &'static str {
        let name = self.name();
        ["RC_", "UC_", "RD_", "UD_", "XRC_"]
            .iter()
            .find_map(|transport| name.strip_prefix(transport))
            .unwrap_or(name)
    }

    /// Extended headers in wire order; none for an opcode in no table.
    pub fn headers(self) -> &'static [ExtHeader] {
        self.info().map_or(&[], |row| row.headers)
    }

    /// Whether the PSN of this packet belongs to the request stream of its destination QP.
    ///
    /// Acknowledgements and READ responses repeat PSNs of the opposite direction; a CNP has none.
    pub fn is_request(self) -> bool {
        !self.is_response() && self != Self::CNP
    }

    /// Whether this packet answers a request: READ response, ACK, NAK or atomic acknowledge.
    pub fn is_response(self) -> bool {
        let transport = self.0 & 0xe0;
        let connected = matches!(transport, 0x00 | 0x40 | 0xa0);
        connected && matches!(self.0 & 0x1f, 0x0d..=0x12)
    }
}

impl fmt::Display for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.info() {
            Some(row) => f.write_str(row.name),
            None => write!(f, "{:#04x}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_is_ascending_and_transports_match_their_bits() {
        assert!(OPCODES.windows(2).all(|pair| pair[0].code < pair[1].code));
        for row in OPCODES {
            let transport = row.name.split('_').next().unwrap();
            let bits = match transport {
                "RC" => 0x00,
                "UC" => 0x20,
                "RD" => 0x40,
                "UD" => 0x60,
                "CNP" => 0x80,
                "XRC" => 0xa0,
                other => panic!("transport {other}"),
            };
            assert_eq!(row.code.0 & 0xe0, bits, "{}", row.name);
        }
    }

    #[test]
    fn names_and_classes() {
        assert_eq!(Opcode(0x0c).name(), "RC_RDMA_READ_REQUEST");
        assert_eq!(Opcode::XRC_RDMA_WRITE_ONLY.operation(), "RDMA_WRITE_ONLY");
        assert_eq!(Opcode::CNP.operation(), "CNP");
        assert_eq!(Opcode(0xc0).to_string(), "0xc0");
        assert!(Opcode::RC_RDMA_READ_RESPONSE_MIDDLE.is_response());
        assert!(Opcode::RC_RDMA_READ_REQUEST.is_request());
        assert!(!Opcode::CNP.is_request() && !Opcode::CNP.is_response());
    }
}
