//! Totals against a plain count, whatever moments the record is looked at.

use super::*;
use proptest::prelude::*;
use roce_common::flow::{NarrowKey, NarrowSlot, Observation, RunClass, WideKey, account};
use roce_common::sequence::SequenceWord;
use roce_common::tap::NAK_UNKNOWN;
use roce_common::wire::{Parsed, RocePacket, SliceReader, parse_ethernet};
use roce_testkit::packet::{self, Ecn, Packet};

const POLICY: MarkingPolicy = MarkingPolicy::DEFAULT;
const DEST_QP: u32 = 9;

/// A frame of a response record, what the parser makes of it, and its AETH syndrome.
#[derive(Clone, Debug)]
struct Sample {
    frame: Vec<u8>,
    packet: RocePacket,
    syndrome: Option<u8>,
}

impl Sample {
    fn new(packet: &Packet, syndrome: u8) -> Self {
        let frame = packet.build();
        let Parsed::Roce(packet) = parse_ethernet(&SliceReader(&frame)) else {
            panic!("a RoCE frame")
        };
        let syndrome = packet.bth.opcode().is_acknowledge().then_some(syndrome);
        Self { frame, packet, syndrome }
    }

    fn nak(&self) -> Option<u8> {
        match self.syndrome? {
            code @ 0x60..=0x64 => Some(code - 0x60),
            0x65..=0x7f => Some(NAK_UNKNOWN),
            0x20..=0x3f => Some(NAK_RNR),
            _ => None,
        }
    }
}

/// Runs of ACKs with every syndrome and READ responses, on more DSCPs than a record tells apart.
fn samples() -> impl Strategy<Value = Vec<Sample>> {
    let ecn = prop::sample::select(vec![Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce]);
    let one = (
        0x0d_u8..0x13,
        ecn,
        0_u8..6,
        0_usize..300,
        0_u16..3,
        0_u8..0x80,
        0_u32..1 << 24,
        any::<bool>(),
    );
    let one = one.prop_map(|(opcode, ecn, dscp, payload, port, syndrome, psn, is_tagged)| {
        let packet = Packet::new(packet::Opcode(opcode))
            .dest_qp(DEST_QP)
            .ecn(ecn)
            .dscp(dscp)
            .udp_source(port)
            .psn(psn)
            .aeth(packet::Aeth { syndrome, msn: 0 });
        let has_payload = (0x0d..0x11).contains(&opcode);
        let packet = if has_payload { packet.payload_len(payload) } else { packet };
        let tag = packet::VlanTag::customer(100 + u16::from(dscp), 3);
        Sample::new(&if is_tagged { packet.vlan(tag) } else { packet }, syndrome)
    });
    let run = (one, 1_usize..20).prop_map(|(sample, times)| vec![sample; times]);
    prop::collection::vec(run, 0..30).prop_map(|runs| runs.concat())
}

/// What a record counts, added up without any cleverness.
fn plain_count(samples: &[Sample]) -> RecordTotals {
    let mut count = RecordTotals::default();
    let mut told_apart = Vec::new();
    for Sample { packet, .. } in samples {
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
        let is_wrong_dscp = class.dscp() != 26;
        let is_wrong_ecn = class.ecn() as u8 == 0 && !opcode.is_acknowledge();
        count.wrong_dscp += u64::from(is_wrong_dscp);
        count.wrong_ecn += u64::from(is_wrong_ecn);
        count.mismarked += u64::from(is_wrong_dscp || is_wrong_ecn);
    }
    for sample in samples {
        let Some(nak) = sample.nak() else { continue };
        count.naks[usize::from(nak)] += 1;
        if nak == NAK_RNR {
            count.rnr_timer_code = sample.syndrome.map(|syndrome| syndrome & 0x1f);
        }
    }
    let packets: Vec<_> = samples.iter().map(|sample| sample.packet).collect();
    let changes = |differ: fn(&RocePacket, &RocePacket) -> bool| {
        packets.windows(2).filter(|pair| differ(&pair[0], &pair[1])).count() as u64
    };
    count.dscp_changes = changes(|a, b| a.traffic_class.dscp() != b.traffic_class.dscp());
    count.source_port_changes = changes(|a, b| a.source_port != b.source_port);
    count.first_psn = packets.first().map(|packet| packet.bth.psn());
    // The PSN engine keeps it, not the record's counters.
    let word = packets.iter().fold(SequenceWord::default(), |word, it| word.seen(it.bth.psn()));
    count.highest_psn = word.last();
    let starts_run =
        |at: usize| at == 0 || RunClass::of(&packets[at - 1]) != RunClass::of(&packets[at]);
    let sizes = [256, 512, 1024, 2048, 4096];
    count.path_mtu = (0..packets.len())
        .filter(|at| starts_run(*at) && packets[*at].bth.opcode().fills_path_mtu())
        .map(|at| packets[at].payload_bytes)
        .rfind(|payload| sizes.contains(payload));
    count.source_port = packets.last().map(|packet| packet.source_port);
    count.vlan = samples.last().and_then(vlan);
    count
}

fn vlan(sample: &Sample) -> Option<VlanTag> {
    match sample.frame[12..16] {
        [0x81, 0x00, high, low] => Some(VlanTag(u16::from_be_bytes([high, low]))),
        _ => None,
    }
}

fn empty() -> (NarrowSlot, FlowCold) {
    let key = NarrowKey { source: 1, destination: 2, tagged_qp: 0x0900_0000 | DEST_QP };
    let slot = NarrowSlot::new(key);
    (slot, FlowCold::default())
}

/// A record whose every counter is about to wrap.
fn about_to_wrap(first: &RocePacket) -> (NarrowSlot, FlowCold) {
    const NEAR: u32 = u32::MAX - 20;
    let (mut slot, cold) = empty();
    slot.packets = NEAR;
    slot.bytes_and_class = (u64::MAX - 5000) << RunClass::BITS;
    slot.port_and_time = u32::from(first.source_port);
    let cold = FlowCold {
        header_bytes: NEAR,
        run_packets: NEAR,
        first_and_codes: first.bth.psn().get(),
        opcodes: [NEAR; OPCODE_COUNTERS],
        ecn: [NEAR; 4],
        dscp: [NEAR; DSCP_VALUES + 1],
        dscp_changes: NEAR,
        source_port_changes: NEAR,
        wrong_dscp: NEAR,
        wrong_ecn: NEAR,
        mismarked: NEAR,
        naks: [NEAR; NAK_COUNTERS],
        ..cold
    };
    (slot, cold)
}

/// Plays packets into a record and looks at it after those where `looks` says so, and at the end.
fn play(
    (mut slot, mut cold): (NarrowSlot, FlowCold),
    samples: &[Sample],
    looks: &[bool],
) -> RecordTotals {
    let mut totals = RecordTotals::default();
    let mut before = RecordSnapshot::of(&slot, &cold, &POLICY);
    for (index, Sample { packet, .. }) in samples.iter().enumerate() {
        let seen = Observation::of(packet, 0);
        account(&mut slot, &seen, &POLICY, &mut cold);
        slot.lock = SequenceWord(slot.lock).seen(seen.psn).0;
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
        samples in samples(),
        looks in prop::collection::vec(any::<bool>(), 1..50),
    ) {
        prop_assert_eq!(play(empty(), &samples, &looks), plain_count(&samples));
    }

    #[test]
    fn totals_do_not_wrap_with_the_record(
        mut samples in samples().prop_filter("one packet at least", |samples| !samples.is_empty()),
        looks in prop::collection::vec(any::<bool>(), 1..50),
    ) {
        // One port: a record takes packet 2^32 for its first, and a first packet changes no port.
        for sample in &mut samples {
            sample.packet.source_port = 7;
        }
        let record = about_to_wrap(&samples[0].packet);
        prop_assert_eq!(play(record, &samples, &looks), plain_count(&samples));
    }

    #[test]
    fn spilled_packets_count_as_others_do(samples in samples()) {
        let mut spilled = RecordTotals::default();
        for Sample { frame, packet, .. } in &samples {
            let flow = WideKey::of(&SliceReader(frame), packet).expect("addresses");
            let key = SpillKey::of(flow, packet);
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
            path_mtu: None,
            first_psn: None,
            highest_psn: None,
            source_port: None,
            spilled_packets: samples.len() as u64,
            ..plain_count(&samples)
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
