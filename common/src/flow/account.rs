//! How one packet changes its record.

use super::{FlowCold, FlowKey, FlowSlot, Run, RunClass, SlotLock};
use crate::marking::MarkingPolicy;
use crate::psn::Psn;
use crate::tap::nak_index;
use crate::wire::{Opcode, RocePacket, Syndrome, VlanTag};

/// What a record needs to know of one packet.
#[derive(Clone, Copy, Debug)]
pub struct Observation {
    class: RunClass,
    wire_bytes: u32,
    excess_overhead: u32,
    source_port: u16,
    psn: Option<Psn>,
    nak: Option<u8>,
    rnr_timer_code: Option<u8>,
    vlan: Option<VlanTag>,
    tick: u8,
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
    /// Takes what matters from a packet that arrived at coarse time `tick`.
    #[inline(always)]
    pub fn of(packet: &RocePacket, tick: u8) -> Self {
        let opcode = packet.bth.opcode();
        let [vlan, _] = packet.vlans;
        Self {
            class: RunClass::of(packet),
            wire_bytes: packet.wire_bytes,
            excess_overhead: RunClass::excess_overhead(packet),
            source_port: packet.source_port,
            // The PSN of a CNP means nothing.
            psn: if opcode.0 == Opcode::CNP.0 { None } else { Some(packet.bth.psn()) },
            nak: nak_index(opcode, packet.aeth),
            rnr_timer_code: match packet.aeth {
                Some(aeth) => match aeth.syndrome() {
                    Syndrome::RnrNak { timer_code } => Some(timer_code),
                    _ => None,
                },
                None => None,
            },
            vlan,
            tick,
        }
    }
}

/// Counts one packet in `slot`, whose lock the caller holds and whose word was `lock`.
///
/// Returns the word that releases the lock. Two records that saw the same packets are equal, whatever
/// held them: a kernel map or a capture reader.
#[inline(always)]
pub fn account<'a, K: FlowKey>(
    slot: &mut FlowSlot<K>,
    lock: SlotLock,
    seen: &Observation,
    marking: &MarkingPolicy,
    cold: impl ColdAccess<'a>,
) -> SlotLock {
    let is_new_run = slot.run_class() != seen.class;
    let is_new_port = slot.source_port() != seen.source_port;
    if is_new_run || is_new_port || seen.nak.is_some() || seen.excess_overhead != 0 {
        if let Some(cold) = cold.cold() {
            rare(slot, seen, marking, cold, is_new_run, is_new_port);
        }
    }
    let bytes = slot.wire_bytes().wrapping_add(seen.wire_bytes as u64);
    slot.bytes_and_port = bytes << 16 | seen.source_port as u64;
    slot.packets = slot.packets.wrapping_add(1);
    slot.class_and_tick = seen.class.bits() | (seen.tick as u32) << 24;
    match seen.psn {
        Some(psn) => lock.after(psn),
        None => SlotLock(lock.0 & !SlotLock::LOCKED),
    }
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
    let is_first = slot.packets == 0 && cold.dscp_used == 0;
    if is_first && let Some(psn) = seen.psn {
        cold.first_psn = psn.get();
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
        cold.vlan = match seen.vlan {
            Some(tag) => tag.0 as u32,
            None => FlowCold::UNTAGGED,
        };
    }
    if is_new_port && slot.packets != 0 {
        cold.source_port_changes = cold.source_port_changes.wrapping_add(1);
    }
    if let Some(index) = seen.nak {
        if let Some(counter) = cold.naks.get_mut(index as usize) {
            *counter = counter.wrapping_add(1);
        }
        if let Some(code) = seen.rnr_timer_code {
            cold.rnr_timer_code = code as u32;
        }
    }
    cold.header_bytes = cold.header_bytes.wrapping_add(seen.excess_overhead);
}

#[cfg(test)]
mod tests;
