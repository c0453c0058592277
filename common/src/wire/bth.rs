//! Base transport header.

use super::Opcode;
use crate::psn::Psn;

/// BTH: the 12 bytes that every RoCE packet has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bth {
    bytes: [u8; Self::LEN],
}

impl Bth {
    /// Length of the header.
    pub const LEN: usize = 12;

    /// Takes the bytes as they are.
    #[inline(always)]
    pub const fn from_bytes(bytes: [u8; Self::LEN]) -> Self {
        Self { bytes }
    }

    /// What the packet is.
    #[inline(always)]
    pub const fn opcode(&self) -> Opcode {
        Opcode(self.bytes[0])
    }

    /// SE: the responder should raise a solicited event.
    #[inline(always)]
    pub const fn solicited_event(&self) -> bool {
        self.bytes[1] & 0x80 != 0
    }

    /// M: migration state.
    #[inline(always)]
    pub const fn mig_req(&self) -> bool {
        self.bytes[1] & 0x40 != 0
    }

    /// Padding bytes between payload and ICRC, 0 to 3.
    #[inline(always)]
    pub const fn pad_count(&self) -> u8 {
        self.bytes[1] >> 4 & 3
    }

    /// Transport header version, 0 in every known packet.
    #[inline(always)]
    pub const fn transport_version(&self) -> u8 {
        self.bytes[1] & 0x0f
    }

    /// P_Key.
    #[inline(always)]
    pub const fn partition_key(&self) -> u16 {
        u16::from_be_bytes([self.bytes[2], self.bytes[3]])
    }

    /// FECN. `RoCEv2` marks congestion in the IP header instead.
    #[inline(always)]
    pub const fn fecn(&self) -> bool {
        self.bytes[4] & 0x80 != 0
    }

    /// BECN, set in a CNP.
    #[inline(always)]
    pub const fn becn(&self) -> bool {
        self.bytes[4] & 0x40 != 0
    }

    /// Destination QP number, 24 bits.
    #[inline(always)]
    pub const fn dest_qp(&self) -> u32 {
        u32::from_be_bytes([0, self.bytes[5], self.bytes[6], self.bytes[7]])
    }

    /// AckReq: the requester wants an acknowledgement of this packet.
    #[inline(always)]
    pub const fn ack_req(&self) -> bool {
        self.bytes[8] & 0x80 != 0
    }

    /// Packet sequence number.
    #[inline(always)]
    pub const fn psn(&self) -> Psn {
        Psn::new(u32::from_be_bytes([0, self.bytes[9], self.bytes[10], self.bytes[11]]))
    }
}
