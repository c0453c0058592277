//! Node-wide counters of one tap: one direction of one interface.

use crate::marking::PacketClass;
use crate::wire::{Nak, ParseReason, RocePacket, RoceVersion, Syndrome};
use core::hint::black_box;

/// Taps a datapath can have: eight interfaces in both directions.
pub const MAX_TAPS: u32 = 16;

/// Counters of [`TapCounters::nak`]: the codes of [`Nak::ALL`], one for any other, one for RNR.
pub const NAK_COUNTERS: usize = 7;
/// Index of NAKs with an undefined code.
pub const NAK_UNKNOWN: u8 = 5;
/// Index of RNR NAKs.
pub const NAK_RNR: u8 = 6;
/// Not a negative acknowledgement.
pub const NO_NAK: u8 = 0xff;

/// What every RoCE packet of one tap adds to, kept once for each CPU so that no update is atomic.
///
/// A reader sees counters that may be a few packets apart from each other.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TapCounters {
    /// Packets by [`PacketClass`] and TOS byte, which is DSCP and ECN.
    pub marking: [[u64; 256]; PacketClass::ALL.len()],
    /// Packets by opcode byte.
    pub opcode: [u64; 256],
    /// Bytes from the Ethernet header to the end of the IP packet.
    pub wire_bytes: u64,
    /// Packets of `RoCEv1`; all others are `RoCEv2`.
    pub v1_packets: u64,
    /// Tagged data packets by priority code point.
    pub data_pcp: [u64; 8],
    /// Negative acknowledgements; see [`NAK_COUNTERS`].
    pub nak: [u64; NAK_COUNTERS],
    /// Frames by [`ParseReason`].
    pub reason: [u64; ParseReason::ALL.len()],
    /// Packets that found no free slot in the flow table and went to the fallback map.
    pub table_full: u64,
    /// Packets whose slot was held by another CPU for too long and that went to the fallback map.
    pub slot_busy: u64,
    /// Packets that the fallback map had no room for: counted here, without their flow.
    pub other_packets: u64,
    /// Bytes of those packets.
    pub other_bytes: u64,
    /// Packets of an interface that is not in the tap list.
    pub unknown_tap: u64,
    /// Events that the ring buffer had no room for.
    pub events_lost: u64,
    /// Packets of connections in trouble that no recorder was free for.
    pub frames_unrecorded: u64,
}

impl TapCounters {
    /// Adds one packet.
    #[inline(always)]
    pub fn count(&mut self, packet: &RocePacket) {
        let opcode = packet.bth.opcode();
        let class = PacketClass::of(opcode, packet.bth.dest_qp());
        let row = match class {
            PacketClass::Data => 0,
            PacketClass::Acknowledge => 256,
            PacketClass::Cnp => 512,
            PacketClass::Management => 768,
        };
        let marking = self.marking.as_flattened_mut();
        add(marking, row + packet.traffic_class.0 as usize, 1);
        add(&mut self.opcode, opcode.0 as usize, 1);
        self.wire_bytes = self.wire_bytes.wrapping_add(packet.wire_bytes as u64);
        if packet.version == RoceVersion::V1 {
            self.v1_packets = self.v1_packets.wrapping_add(1);
        }
        if class == PacketClass::Data
            && let Some(tag) = packet.vlans.outer()
        {
            add_checked(&mut self.data_pcp, tag.pcp() as usize);
        }
        if packet.is_first_fragment {
            self.count_reason(ParseReason::FirstFragment);
        }
        let nak = nak_index(packet);
        if nak != NO_NAK {
            add_checked(&mut self.nak, nak as usize);
        }
    }

    /// Adds one frame that could not be read.
    #[inline(always)]
    pub fn count_reason(&mut self, reason: ParseReason) {
        add_checked(&mut self.reason, reason as usize);
    }

    /// Adds the counters of another CPU.
    pub fn merge(&mut self, other: &Self) {
        let Self {
            marking,
            opcode,
            wire_bytes,
            v1_packets,
            data_pcp,
            nak,
            reason,
            table_full,
            slot_busy,
            other_packets,
            other_bytes,
            unknown_tap,
            events_lost,
            frames_unrecorded,
        } = other;
        merge(self.marking.as_flattened_mut(), marking.as_flattened());
        merge(&mut self.opcode, opcode);
        merge(&mut self.data_pcp, data_pcp);
        merge(&mut self.nak, nak);
        merge(&mut self.reason, reason);
        let scalars = [
            (&mut self.wire_bytes, wire_bytes),
            (&mut self.v1_packets, v1_packets),
            (&mut self.table_full, table_full),
            (&mut self.slot_busy, slot_busy),
            (&mut self.other_packets, other_packets),
            (&mut self.other_bytes, other_bytes),
            (&mut self.unknown_tap, unknown_tap),
            (&mut self.events_lost, events_lost),
            (&mut self.frames_unrecorded, frames_unrecorded),
        ];
        for (sum, value) in scalars {
            *sum = sum.wrapping_add(*value);
        }
    }

    /// RoCE packets of both versions.
    pub fn packets(&self) -> u64 {
        self.opcode.iter().sum()
    }
}

impl Default for TapCounters {
    fn default() -> Self {
        Self {
            marking: [[0; 256]; 4],
            opcode: [0; 256],
            wire_bytes: 0,
            v1_packets: 0,
            data_pcp: [0; 8],
            nak: [0; NAK_COUNTERS],
            reason: [0; ParseReason::ALL.len()],
            table_full: 0,
            slot_busy: 0,
            other_packets: 0,
            other_bytes: 0,
            unknown_tap: 0,
            events_lost: 0,
            frames_unrecorded: 0,
        }
    }
}

/// Which NAK counter an acknowledgement belongs to, or [`NO_NAK`] when it is none or positive.
#[inline(always)]
pub fn nak_index(packet: &RocePacket) -> u8 {
    let Some(aeth) = packet.aeth() else { return NO_NAK };
    if !packet.bth.opcode().is_acknowledge() {
        return NO_NAK;
    }
    match aeth.syndrome() {
        Syndrome::Nak(Nak::PsnSequenceError) => 0,
        Syndrome::Nak(Nak::InvalidRequest) => 1,
        Syndrome::Nak(Nak::RemoteAccessError) => 2,
        Syndrome::Nak(Nak::RemoteOperationalError) => 3,
        Syndrome::Nak(Nak::InvalidRdRequest) => 4,
        Syndrome::Nak(Nak::Unknown(_)) => NAK_UNKNOWN,
        Syndrome::RnrNak { .. } => NAK_RNR,
        Syndrome::Ack { .. } | Syndrome::Reserved(_) => NO_NAK,
    }
}

/// [`add`] where the compiler knows more about `index` than the verifier of an older kernel, and would
/// drop the check that the latter needs. For what is not the usual packet: it costs a store and a load.
#[inline(always)]
fn add_checked(counters: &mut [u64], index: usize) {
    add(counters, black_box(index), 1);
}

#[inline(always)]
fn add(counters: &mut [u64], index: usize, count: u64) {
    if let Some(counter) = counters.get_mut(index) {
        *counter = counter.wrapping_add(count);
    }
}

fn merge(sums: &mut [u64], values: &[u64]) {
    for (sum, value) in sums.iter_mut().zip(values) {
        *sum = sum.wrapping_add(*value);
    }
}
