//! Packets in a row that look alike.

use crate::marking::PacketClass;
use crate::wire::{Opcode, RocePacket, TrafficClass};

/// What packets of one run have in common, in 24 bits: opcode, TOS byte and header bytes.
///
/// The header bytes are all that is not payload: link to transport headers, padding and ICRC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunClass(u32);

/// A number of packets of one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// What they have in common.
    pub class: RunClass,
    /// How many, wrapping.
    pub packets: u32,
}

impl RunClass {
    /// Bits that a class takes.
    pub const BITS: u32 = 24;
    const MASK: u32 = (1 << Self::BITS) - 1;
    /// Largest header length that fits; longer ones need [`Self::excess_overhead`].
    const MAX_OVERHEAD: u32 = 0xff;

    /// Class of a packet.
    #[inline(always)]
    pub const fn of(packet: &RocePacket) -> Self {
        let overhead = packet.wire_bytes.wrapping_sub(packet.payload_bytes);
        let overhead = if overhead > Self::MAX_OVERHEAD { Self::MAX_OVERHEAD } else { overhead };
        Self(packet.bth.opcode().0 as u32 | (packet.traffic_class.0 as u32) << 8 | overhead << 16)
    }

    /// Header bytes of a packet that its class has no room for: 0 but for long IPv6 extension chains.
    #[inline(always)]
    pub const fn excess_overhead(packet: &RocePacket) -> u32 {
        packet.wire_bytes.wrapping_sub(packet.payload_bytes).saturating_sub(Self::MAX_OVERHEAD)
    }

    /// The class with these bits.
    #[inline(always)]
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits & Self::MASK)
    }

    /// The 24 bits.
    #[inline(always)]
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Opcode.
    #[inline(always)]
    pub const fn opcode(self) -> Opcode {
        Opcode(self.0 as u8)
    }

    /// DSCP and ECN.
    #[inline(always)]
    pub const fn traffic_class(self) -> TrafficClass {
        TrafficClass((self.0 >> 8) as u8)
    }

    /// Header bytes of each packet.
    #[inline(always)]
    pub const fn overhead(self) -> u32 {
        self.0 >> 16
    }

    /// What the packets are for, when they go to `dest_qp`.
    #[inline(always)]
    pub fn packet_class(self, dest_qp: u32) -> PacketClass {
        PacketClass::of(self.opcode(), dest_qp)
    }
}

impl Run {
    /// Header bytes of all its packets, wrapping.
    #[inline(always)]
    pub const fn header_bytes(&self) -> u32 {
        self.packets.wrapping_mul(self.class.overhead())
    }
}
