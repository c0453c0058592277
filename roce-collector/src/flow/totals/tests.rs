//! Totals against a plain count, whatever moments the record is looked at.

use super::*;
use proptest::prelude::*;
use roce_common::flow::{NarrowKey, NarrowSlot, Observation, SlotLock, WideKey, account};
use roce_common::tap::nak_index;
use roce_common::wire::{AddressFamily, Aeth, Bth, Opcode, RocePacket, RoceVersion, TrafficClass};

const POLICY: MarkingPolicy = MarkingPolicy::DEFAULT;
const DEST_QP: u32 = 9;

/// A packet of a response record: ACKs of every syndrome, READ responses.
fn packet(opcode: u8, tos: u8, payload: u32, port: u16, syndrome: u8, psn: u32) -> RocePacket {
    let mut bth = [0; Bth::LEN];
    bth[0] = opcode;
    bth[5..8].copy_from_slice(&DEST_QP.to_be_bytes()[1..]);
    bth[9..12].copy_from_slice(&psn.to_be_bytes()[1..]);
    let opcode = Opcode(opcode);
    let overhead = 14 + 20 + 8 + 12 + opcode.extended_len() as u32 + 4;
    RocePacket {
        version: RoceVersion::V2,
        family: AddressFamily::V4,
        vlans: [(tos & 4 != 0).then_some(VlanTag(100)), None],
        traffic_class: TrafficClass(tos),
        source_port: port,
        bth: Bth::from_bytes(bth),
        aeth: opcode.has_aeth().then(|| Aeth::from_bytes([syndrome, 0, 0, 0])),
        dma_len: None,
        source_qp: None,
        wire_bytes: overhead + payload,
        payload_bytes: payload,
        network_offset: 14,
        bth_offset: 42,
        is_first_fragment: false,
    }
}

fn packets() -> impl Strategy<Value = Vec<RocePacket>> {
    // DSCPs 0 to 5 are more than a record tells apart; few ports and opcodes make runs.
    let one = (0x0d_u8..0x13, 0_u8..4, 0_u8..6, 0_u32..9000, 0_u16..3, 0_u8..0x80, 0_u32..1 << 24);
    let one = one.prop_map(|(opcode, ecn, dscp, payload, port, syndrome, psn)| {
        packet(opcode, dscp << 2 | ecn, payload, port, syndrome, psn)
    });
    let run = (one, 1_usize..20).prop_map(|(packet, times)| vec![packet; times]);
    prop::collection::vec(run, 0..40).prop_map(|runs| runs.concat())
}

/// What a record counts, added up without any cleverness.
fn plain_count(packets: &[RocePacket]) -> RecordTotals {
    let mut count = RecordTotals::default();
    let mut told_apart = Vec::new();
    for packet in packets {
        let (class, opcode) = (packet.traffic_class, packet.bth.opcode());
        count.packets += 1;
        count.wire_bytes += u64::from(packet.wire_bytes);
        count.payload_bytes += u64::from(packet.payload_bytes);
        count.opcodes[opcode_index(opcode)] += 1;
        count.ecn[class.ecn() as usize] += 1;
        if !told_apart.contains(&class.dscp()) && told_apart.len() < DSCP_VALUES {
            told_apart.push(class.dscp());
        }
        if told_apart.contains(&class.dscp()) {
            *count.dscp.entry(class.dscp()).or_default() += 1;
        } else {
            count.dscp_other += 1;
        }
        count.wrong_dscp += u64::from(class.dscp() != 26);
        count.wrong_ecn += u64::from(class.ecn() as u8 == 0 && !opcode.is_acknowledge());
        if let Some(nak) = nak_index(opcode, packet.aeth) {
            count.naks[usize::from(nak)] += 1;
            if nak == NAK_RNR {
                count.rnr_timer_code = packet.aeth.map(|aeth| aeth.syndrome_byte() & 0x1f);
            }
        }
    }
    let changes = |differ: fn(&RocePacket, &RocePacket) -> bool| {
        packets.windows(2).filter(|pair| differ(&pair[0], &pair[1])).count() as u64
    };
    count.dscp_changes = changes(|a, b| a.traffic_class.dscp() != b.traffic_class.dscp());
    count.source_port_changes = changes(|a, b| a.source_port != b.source_port);
    count.first_psn = packets.first().map(|packet| packet.bth.psn());
    count.highest_psn = packets
        .iter()
        .map(|packet| packet.bth.psn())
        .reduce(|highest, psn| if psn.is_after(highest) { psn } else { highest });
    count.source_port = packets.last().map(|packet| packet.source_port);
    count.vlan = packets.last().and_then(|packet| packet.vlans[0]);
    count
}

fn empty() -> (NarrowSlot, FlowCold) {
    let key = NarrowKey { source: 1, destination: 2, tagged_qp: 0x0900_0000 | DEST_QP };
    let slot = NarrowSlot { key, lock: 0, bytes_and_port: 0, packets: 0, class_and_tick: 0 };
    (slot, FlowCold::default())
}

/// A record whose every counter is about to wrap.
fn about_to_wrap(first: &RocePacket) -> (NarrowSlot, FlowCold) {
    const NEAR: u32 = u32::MAX - 20;
    let (mut slot, cold) = empty();
    slot.packets = NEAR;
    slot.bytes_and_port = (u64::MAX - 5000) << 16 | u64::from(first.source_port);
    let cold = FlowCold {
        header_bytes: NEAR,
        run_packets: NEAR,
        first_psn: first.bth.psn().get(),
        opcodes: [NEAR; OPCODE_COUNTERS],
        ecn: [NEAR; 4],
        dscp: [NEAR; DSCP_VALUES + 1],
        dscp_changes: NEAR,
        source_port_changes: NEAR,
        wrong_dscp: NEAR,
        wrong_ecn: NEAR,
        naks: [NEAR; NAK_COUNTERS],
        ..cold
    };
    (slot, cold)
}

/// Plays packets into a record and looks at it after those where `looks` says so, and at the end.
fn play(
    (mut slot, mut cold): (NarrowSlot, FlowCold),
    packets: &[RocePacket],
    looks: &[bool],
) -> RecordTotals {
    let mut totals = RecordTotals::default();
    let mut before = RecordSnapshot::of(&slot, &cold, &POLICY);
    for (index, packet) in packets.iter().enumerate() {
        let seen = Observation::of(packet, 0);
        let lock = SlotLock(slot.lock);
        slot.lock = account(&mut slot, lock, &seen, &POLICY, &mut cold).0;
        if looks[index % looks.len()] {
            let now = RecordSnapshot::of(&slot, &cold, &POLICY);
            totals.advance(&before, &now);
            before = now;
        }
    }
    totals.advance(&before, &RecordSnapshot::of(&slot, &cold, &POLICY));
    totals
}

proptest! {
    #[test]
    fn totals_equal_a_plain_count(
        packets in packets(),
        looks in prop::collection::vec(any::<bool>(), 1..50),
    ) {
        prop_assert_eq!(play(empty(), &packets, &looks), plain_count(&packets));
    }

    #[test]
    fn totals_do_not_wrap_with_the_record(
        packets in packets().prop_filter("one packet at least", |packets| !packets.is_empty()),
        looks in prop::collection::vec(any::<bool>(), 1..50),
    ) {
        // One port: a record takes packet 2^32 for its first, and a first packet changes no port.
        let packets: Vec<_> =
            packets.iter().map(|packet| RocePacket { source_port: 7, ..*packet }).collect();
        let record = about_to_wrap(&packets[0]);
        prop_assert_eq!(play(record, &packets, &looks), plain_count(&packets));
    }

    #[test]
    fn spilled_packets_count_as_others_do(packets in packets()) {
        let mut spilled = RecordTotals::default();
        for packet in &packets {
            let nak = nak_index(packet.bth.opcode(), packet.aeth).map_or(0, |index| index + 1);
            let class = roce_common::flow::RunClass::of(packet).bits();
            let (slot, _) = empty();
            let key = SpillKey {
                flow: WideKey::from(slot.key),
                class_and_nak: class | u32::from(nak) << 24,
            };
            let count = SpillCount {
                packets: 1,
                wire_bytes: u64::from(packet.wire_bytes),
                payload_bytes: u64::from(packet.payload_bytes),
            };
            spilled.add_spill(&key, &count, &POLICY);
        }
        let expected = RecordTotals {
            // What needs an order is not known.
            dscp_changes: 0,
            source_port_changes: 0,
            rnr_timer_code: None,
            vlan: None,
            first_psn: None,
            highest_psn: None,
            source_port: None,
            spilled_packets: packets.len() as u64,
            ..plain_count(&packets)
        };
        prop_assert_eq!(spilled, expected);
    }
}

#[test]
fn looks_without_packets_change_nothing() {
    let (slot, cold) = empty();
    let look = RecordSnapshot::of(&slot, &cold, &POLICY);
    let mut totals = RecordTotals::default();
    totals.advance(&RecordSnapshot::default(), &look);
    assert_eq!(totals, RecordTotals::default());
    assert!(look.is_same_as(&RecordSnapshot::default()));
}
