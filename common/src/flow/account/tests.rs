//! Accounting against a plain count of every packet.

use super::*;
use crate::flow::{NarrowKey, NarrowSlot, opcode_index};
use crate::wire::{AddressFamily, Bth, Extended, Opcode, RoceVersion, TrafficClass, VlanTags};
use proptest::prelude::*;
use std::collections::HashMap;
use std::vec::Vec;

extern crate std;

fn packet(opcode: u8, tos: u8, payload: u32, port: u16) -> RocePacket {
    let mut bth = [0; Bth::LEN];
    bth[0] = opcode;
    bth[7] = 9;
    let overhead = 14 + 20 + 8 + 12 + Opcode(opcode).extended_len() as u32 + 4;
    RocePacket {
        version: RoceVersion::V2,
        family: AddressFamily::V4,
        vlans: VlanTags::UNTAGGED,
        traffic_class: TrafficClass(tos),
        source_port: port,
        bth: Bth::from_bytes(bth),
        extended: Extended::ABSENT,
        wire_bytes: overhead + payload,
        payload_bytes: payload,
        network_offset: 14,
        bth_offset: 42,
        is_first_fragment: false,
    }
}

fn empty_slot() -> NarrowSlot {
    let key = NarrowKey { source: 1, destination: 2, tagged_qp: 0x0100_0009 };
    NarrowSlot::new(key)
}

/// Plays packets into a record and closes its open run.
fn play(packets: &[RocePacket]) -> (NarrowSlot, FlowCold) {
    let (mut slot, mut cold) = (empty_slot(), FlowCold::default());
    for packet in packets {
        let seen = Observation::of(packet, 0);
        account(&mut slot, &seen, &MarkingPolicy::DEFAULT, &mut cold);
    }
    let run = slot.open_run(&cold);
    cold.book(run, 9, &MarkingPolicy::DEFAULT);
    (slot, cold)
}

proptest! {
    #[test]
    fn a_record_equals_a_plain_count(
        stream in prop::collection::vec((0u8..0x0d, 0u8..4, 0u8..6, 0u32..9000, 0u16..3), 0..300)
    ) {
        let packets: Vec<_> = stream
            .iter()
            .map(|&(opcode, ecn, dscp, payload, port)| packet(opcode, dscp << 2 | ecn, payload, port))
            .collect();
        let (slot, cold) = play(&packets);

        prop_assert_eq!(slot.packets as usize, packets.len());
        let wire: u64 = packets.iter().map(|p| u64::from(p.wire_bytes)).sum();
        let payload: u64 = packets.iter().map(|p| u64::from(p.payload_bytes)).sum();
        prop_assert_eq!(slot.wire_bytes(), wire);
        prop_assert_eq!(wire - u64::from(cold.header_bytes), payload);

        let mut opcodes = HashMap::new();
        let mut ecn = [0u32; 4];
        let mut dscp = HashMap::new();
        for p in &packets {
            *opcodes.entry(opcode_index(p.bth.opcode())).or_insert(0u32) += 1;
            ecn[p.traffic_class.ecn() as usize] += 1;
            *dscp.entry(p.traffic_class.dscp()).or_insert(0u32) += 1;
        }
        for (index, &count) in cold.opcodes.iter().enumerate() {
            prop_assert_eq!(count, opcodes.get(&index).copied().unwrap_or(0));
        }
        prop_assert_eq!(cold.ecn, ecn);
        for (index, count) in cold.dscp.iter().enumerate() {
            if let Some(value) = cold.dscp_value(index) {
                prop_assert_eq!(*count, dscp[&value]);
            }
        }
        prop_assert_eq!(cold.dscp.iter().sum::<u32>() as usize, packets.len());
        let changes = packets
            .windows(2)
            .filter(|pair| pair[0].traffic_class.dscp() != pair[1].traffic_class.dscp())
            .count();
        prop_assert_eq!(cold.dscp_changes as usize, changes);
        let port_changes =
            packets.windows(2).filter(|pair| pair[0].source_port != pair[1].source_port).count();
        prop_assert_eq!(cold.source_port_changes as usize, port_changes);
        let wrong = packets.iter().filter(|p| p.traffic_class.dscp() != 26).count();
        prop_assert_eq!(cold.wrong_dscp as usize, wrong);
        prop_assert_eq!(cold.wrong_ecn, ecn[0]);
    }
}

#[test]
fn long_header_chains_keep_the_payload_exact() {
    let mut long = packet(4, 106, 1000, 1);
    long.wire_bytes += 900;
    let (slot, cold) = play(&[long, long, packet(4, 106, 10, 1)]);
    assert_eq!(slot.wire_bytes() - u64::from(cold.header_bytes), 2010);
    assert_eq!(slot.packets, 3);
}

#[test]
fn differences_survive_the_wrap_of_the_slot_counters() {
    let (mut slot, mut cold) = (empty_slot(), FlowCold::default());
    let data = Observation::of(&packet(7, 106, 1024, 1), 0);
    account(&mut slot, &data, &MarkingPolicy::DEFAULT, &mut cold);
    slot.packets = u32::MAX;
    slot.bytes_and_class |= u64::MAX << RunClass::BITS;
    for _ in 0..3 {
        account(&mut slot, &data, &MarkingPolicy::DEFAULT, &mut cold);
    }
    let other = Observation::of(&packet(8, 106, 1024, 1), 0);
    account(&mut slot, &other, &MarkingPolicy::DEFAULT, &mut cold);
    assert_eq!(slot.packets, 3);
    assert_eq!(cold.opcodes[7], 2, "2^32 + 2 packets of one run");
    assert_eq!(slot.wire_bytes(), 4 * (1024 + 58) - 1, "modulo 2^40");
}
