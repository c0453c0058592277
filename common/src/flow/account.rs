//! How one packet changes its record.

use super::cold::add;
use super::{FlowCold, FlowKey, FlowSlot, Run, RunClass};
use crate::marking::MarkingPolicy;
use crate::psn::Psn;
use crate::sequence::{SequenceKind, SequenceTraits};
use crate::tap::{NAK_RNR, NO_NAK, nak_index};
use crate::wire::{Extended, RocePacket};

/// What a record needs to know of one packet, as plain words.
#[derive(Clone, Copy, Debug)]
pub struct Observation {
    class: RunClass,
    wire_bytes: u32,
    excess_overhead: u32,
    vlan: u32,
    /// NAK counter, or [`NO_NAK`].
    nak: u8,
    /// Value bits of the AETH syndrome: of an RNR NAK its timer code.
    syndrome_value: u8,
    /// PSN.
    pub psn: Psn,
    /// What the packet is to its PSN space.
    pub traits: SequenceTraits,
    /// Whether AckReq is set.
    pub asks_for_answer: bool,
    /// Payload bytes; 0 of a first fragment, which does not tell.
    pub payload: u32,
    /// Word of the AETH, or DMA length of the RETH, where there is one and it was captured.
    pub extended: Extended,
    /// UDP source port.
    pub source_port: u16,
    /// Coarse time, wrapping.
    pub jiffies: u16,
}

/// Gives the cold part that belongs to a slot. Called at most once for a packet, and seldom.
pub trait ColdAccess<'a> {
    /// The cold part; `None` only where the table is broken.
    fn cold(self) -> Option<&'a mut FlowCold>;
}

impl<'a> ColdAccess<'a> for &'a mut FlowCold {
    #[inline(always)]
    fn cold(self) -> Option<&'a mut FlowCold> {
        Some(self)
    }
}

impl Observation {
    /// Takes what matters from a packet that arrived at the coarse time `jiffies`.
    #[inline(always)]
    pub fn of(packet: &RocePacket, jiffies: u16) -> Self {
        Self {
            class: RunClass::of(packet),
            wire_bytes: packet.wire_bytes,
            excess_overhead: RunClass::excess_overhead(packet),
            psn: packet.bth.psn(),
            traits: SequenceTraits::of_opcode(packet.bth.opcode()),
            asks_for_answer: packet.bth.ack_req(),
            extended: packet.extended,
            vlan: packet.vlans.outer_word(),
            payload: if packet.is_first_fragment { 0 } else { packet.payload_bytes },
            source_port: packet.source_port,
            nak: nak_index(packet),
            syndrome_value: match packet.aeth() {
                Some(aeth) => aeth.syndrome_byte() & 0x1f,
                None => 0,
            },
            jiffies,
        }
    }

    /// Class of its run.
    #[inline(always)]
    pub const fn class(&self) -> RunClass {
        self.class
    }

    /// What the packet is to its PSN space, in full.
    #[inline(always)]
    pub fn kind(&self) -> SequenceKind {
        SequenceKind::of_opcode(self.class.opcode())
    }

    /// Whether it is a NAK or an RNR NAK.
    #[inline(always)]
    pub const fn is_nak(&self) -> bool {
        self.nak != NO_NAK
    }
}

/// Counts one packet in `slot`, whose lock the caller holds; the PSN state in the lock's word is left to
/// the PSN engine.
///
/// Two records that saw the same packets are equal, whatever held them: a kernel map or a capture reader.
#[inline(always)]
pub fn account<'a, K: FlowKey>(
    slot: &mut FlowSlot<K>,
    seen: &Observation,
    marking: &MarkingPolicy,
    cold: impl ColdAccess<'a>,
) {
    let is_new_run = slot.run_class() != seen.class;
    let is_new_port = slot.source_port() != seen.source_port;
    let is_rare = is_new_run || is_new_port || seen.nak != NO_NAK || seen.excess_overhead != 0;
    if is_rare && let Some(cold) = cold.cold() {
        rare(slot, seen, marking, cold, is_new_run, is_new_port);
    }
    let bytes = slot.wire_bytes().wrapping_add(seen.wire_bytes as u64);
    slot.bytes_and_class = bytes << RunClass::BITS | seen.class.bits() as u64;
    slot.packets = slot.packets.wrapping_add(1);
    slot.port_and_time = seen.source_port as u32 | (seen.jiffies as u32) << 16;
}

#[inline(always)]
fn rare<K: FlowKey>(
    slot: &FlowSlot<K>,
    seen: &Observation,
    marking: &MarkingPolicy,
    cold: &mut FlowCold,
    is_new_run: bool,
    is_new_port: bool,
) {
    // No packet has a class of no header bytes, so the class tells even when the counter has wrapped.
    let is_first = slot.run_class().bits() == 0;
    if is_first {
        cold.set_first_psn(seen.psn);
    }
    if is_new_run {
        let run: Run = slot.open_run(cold);
        if run.packets != 0 {
            cold.book(run, slot.key.dest_qp(), marking);
            if run.class.traffic_class().dscp() != seen.class.traffic_class().dscp() {
                cold.dscp_changes = cold.dscp_changes.wrapping_add(1);
            }
        }
        cold.run_packets = slot.packets;
        cold.set_vlan(seen.vlan);
        cold.learn_payload(seen.payload, seen.class.opcode().fills_path_mtu());
    }
    if is_new_port && !is_first {
        cold.source_port_changes = cold.source_port_changes.wrapping_add(1);
    }
    // `NO_NAK` is past the end.
    add(&mut cold.naks, seen.nak as usize, 1);
    if seen.nak == NAK_RNR {
        cold.set_rnr_timer_code(seen.syndrome_value);
    }
    cold.header_bytes = cold.header_bytes.wrapping_add(seen.excess_overhead);
}

#[cfg(test)]
mod tests;
