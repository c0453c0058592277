//! Base transport header.

use super::Opcode;
use crate::psn::Psn;

/// BTH: the 12 bytes that every RoCE packet has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bth {
    /// Opcode to destination QP. Kept as words, because of single bytes the compiler loads each.
    first: u64,
    /// AckReq and PSN.
    last: u32,
}

impl Bth {
    /// Length of the header.
    pub const LEN: usize = 12;

    /// Takes the bytes as they are.
    #[inline(always)]
    pub const fn from_bytes(bytes: [u8; Self::LEN]) -> Self {
        let ([first @ .., _, _, _, _], [.., l0, l1, l2, l3]) = (&bytes, &bytes);
        Self { first: u64::from_be_bytes(*first), last: u32::from_be_bytes([*l0, *l1, *l2, *l3]) }
    }

    /// What the packet is.
    #[inline(always)]
    pub const fn opcode(&self) -> Opcode {
        Opcode((self.first >> 56) as u8)
    }

    /// SE: the responder should raise a solicited event.
    #[inline(always)]
    pub const fn solicited_event(&self) -> bool {
        self.first >> 55 & 1 != 0
    }

    /// M: migration state.
    #[inline(always)]
    pub const fn mig_req(&self) -> bool {
        self.first >> 54 & 1 != 0
    }

    /// Padding bytes between payload and ICRC, 0 to 3.
    #[inline(always)]
    pub const fn pad_count(&self) -> u8 {
        (self.first >> 52) as u8 & 3
    }

    /// Transport header version, 0 in every known packet.
    #[inline(always)]
    pub const fn transport_version(&self) -> u8 {
        (self.first >> 48) as u8 & 0x0f
    }

    /// P_Key.
    #[inline(always)]
    pub const fn partition_key(&self) -> u16 {
        (self.first >> 32) as u16
    }

    /// FECN. `RoCEv2` marks congestion in the IP header instead.
    #[inline(always)]
    pub const fn fecn(&self) -> bool {
        self.first >> 31 & 1 != 0
    }

    /// BECN, set in a CNP.
    #[inline(always)]
    pub const fn becn(&self) -> bool {
        self.first >> 30 & 1 != 0
    }

    /// Destination QP number, 24 bits.
    #[inline(always)]
    pub const fn dest_qp(&self) -> u32 {
        self.first as u32 & 0x00ff_ffff
    }

    /// AckReq: the requester wants an acknowledgement of this packet.
    #[inline(always)]
    pub const fn ack_req(&self) -> bool {
        self.last >> 31 != 0
    }

    /// Packet sequence number.
    #[inline(always)]
    pub const fn psn(&self) -> Psn {
        Psn::new(self.last)
    }
}
