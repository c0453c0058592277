//! Records of packets that could not be counted in their slot.

use super::{RunClass, WideKey};
use crate::tap::{NO_NAK, nak_index};
use crate::wire::RocePacket;

/// Key of the fallback map: a flow and what its packets have in common.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SpillKey {
    /// The flow, also when it belongs to the narrow table.
    pub flow: WideKey,
    /// [`RunClass`] in the lower 24 bits; above, the NAK counter or [`NO_NAK`].
    pub class_and_nak: u32,
}

/// Value of the fallback map, added to with atomic operations.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpillCount {
    /// Packets.
    pub packets: u64,
    /// Bytes from the Ethernet header to the end of the IP packet.
    pub wire_bytes: u64,
    /// Payload bytes.
    pub payload_bytes: u64,
}

impl SpillKey {
    /// Key of a packet of `flow`.
    #[inline(always)]
    pub fn of(flow: WideKey, packet: &RocePacket) -> Self {
        let class = RunClass::of(packet).bits();
        Self { flow, class_and_nak: class | (nak_index(packet) as u32) << 24 }
    }

    /// What the packets have in common.
    pub const fn class(&self) -> RunClass {
        RunClass::from_bits(self.class_and_nak)
    }

    /// NAK counter of the packets, if they are negative acknowledgements.
    pub const fn nak(&self) -> Option<u8> {
        match (self.class_and_nak >> 24) as u8 {
            NO_NAK => None,
            counter => Some(counter),
        }
    }
}

const _: () = assert!(size_of::<SpillKey>() == 48);
