//! Reads the frames back with a decoder of its own and compares with the truth.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::*;
use crate::packet::{all_opcodes, internet_checksum};

fn be16(bytes: &[u8]) -> u64 {
    u64::from(bytes[0]) << 8 | u64::from(bytes[1])
}

fn be24(bytes: &[u8]) -> u32 {
    u32::from(bytes[0]) << 16 | u32::from(bytes[1]) << 8 | u32::from(bytes[2])
}

fn v6(bytes: &[u8]) -> IpAddr {
    Ipv6Addr::from(<[u8; 16]>::try_from(bytes).unwrap()).into()
}

/// Counts one frame into `flows`, from its bytes alone.
fn count(frame: &[u8], flows: &mut BTreeMap<FlowKey, FlowTruth>) {
    let mut at = 12;
    while matches!(be16(&frame[at..]), 0x8100 | 0x88a8) {
        at += 4;
    }
    let (ethertype, ip) = (be16(&frame[at..]), at + 2);
    let header = &frame[ip..];
    let (src, dst, class, ip_len, bth) = match ethertype {
        0x0800 => {
            assert_eq!(internet_checksum(&header[..20]), 0);
            let address = |at: usize| {
                IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(&header[at..at + 4]).unwrap()))
            };
            (address(12), address(16), header[1], be16(&header[2..]), ip + 28)
        }
        0x86dd | 0x8915 => {
            let class = (be16(header) >> 4) as u8;
            let udp = if ethertype == 0x86dd { 8 } else { 0 };
            (v6(&header[8..24]), v6(&header[24..40]), class, 40 + be16(&header[4..]), ip + 40 + udp)
        }
        other => panic!("EtherType {other:#06x}"),
    };
    assert_eq!(ip as u64 + ip_len, frame.len() as u64, "length field and frame");
    if ethertype != 0x8915 {
        assert_eq!(be16(&frame[bth - 6..]), 4791);
        assert_eq!(be16(&frame[bth - 4..]), (frame.len() - bth + 8) as u64);
    }

    let opcode = frame[bth];
    let row = all_opcodes().iter().find(|row| row.code.0 == opcode).unwrap();
    let name = row.name.split_once('_').map_or(row.name, |(_, rest)| rest);
    let reserved = if name == "CNP" { 16 } else { 0 };
    let body = bth + 12 + row.headers_len() + reserved;
    let pad = usize::from(frame[bth + 1] >> 4 & 3);

    let key = FlowKey { src, dst, dst_qp: be24(&frame[bth + 5..]) };
    let flow = flows.entry(key).or_default();
    let response = name == "ACKNOWLEDGE" || name.contains("RESPONSE") || name.contains("_ACK");
    flow.packets += 1;
    flow.wire_bytes += frame.len() as u64;
    flow.payload_bytes += (frame.len() - 4 - pad - body) as u64;
    flow.responses += u64::from(response);
    flow.requests += u64::from(!response && name != "CNP");
    flow.cnps += u64::from(name == "CNP");
    *flow.opcodes.entry(name).or_default() += 1;
    *flow.dscp.entry(class >> 2).or_default() += 1;
    match class & 3 {
        0 => flow.ecn.not_ect += 1,
        1 => flow.ecn.ect1 += 1,
        2 => flow.ecn.ect0 += 1,
        _ => flow.ecn.ce += 1,
    }
    if name == "ACKNOWLEDGE" {
        match frame[bth + 12] {
            0..=0x1f => flow.acks += 1,
            0x20..=0x3f => flow.rnr_naks += 1,
            0x60 => flow.naks.psn_sequence_error += 1,
            other => panic!("syndrome {other:#04x}"),
        }
    }
}

/// Counts the repeats among request PSNs and checks them against the truth.
fn repeats(scenario: &Scenario) -> u64 {
    let mut seen = std::collections::BTreeSet::new();
    let mut repeated = 0;
    for frame in &scenario.frames {
        let bth = 14 + 20 + 8;
        let opcode = crate::packet::Opcode(frame.bytes[bth]);
        if opcode.is_request() {
            repeated += u64::from(!seen.insert(be24(&frame.bytes[bth + 9..])));
        }
    }
    repeated
}

#[test]
fn truth_is_what_the_frames_say() {
    for scenario in all() {
        let mut flows = BTreeMap::new();
        for frame in &scenario.frames {
            count(&frame.bytes, &mut flows);
        }
        for (key, flow) in &mut flows {
            flow.psn = scenario.truth.flow(key).psn; // not a fact of single frames
        }
        assert_eq!(flows, scenario.truth.flows, "{}", scenario.name);
        assert_eq!(scenario.truth.totals().packets, scenario.frames.len() as u64);
        assert!(scenario.frames.is_sorted_by_key(|frame| frame.nanos));
    }
}

#[test]
fn repeated_psns_are_what_the_truth_calls_retransmitted() {
    let connection = Connection::ipv4(1);
    for at in [LossAt::BeforeTap, LossAt::AfterTap] {
        let scenario = go_back_n(&connection, 2, at);
        let truth = scenario.truth.flow(&connection.request_flow());
        assert_eq!(repeats(&scenario), truth.psn.retransmitted);
        assert_eq!(truth.psn.lost, if at == LossAt::BeforeTap { 2 } else { 0 });
        let answers = scenario.truth.flow(&connection.response_flow());
        assert_eq!(answers.naks.psn_sequence_error, 2);
    }
    let scenario = receiver_not_ready(&connection, 7);
    assert_eq!(repeats(&scenario), 7);
    assert_eq!(scenario.truth.totals().rnr_naks, 7);
    assert_eq!(repeats(&write_stream(&connection, 3, 8)), 0);
}

#[test]
fn scenarios_are_deterministic_and_share_no_flow() {
    assert_eq!(all(), all());
    let together = Scenario::together("all", all());
    let flows: usize = all().iter().map(|scenario| scenario.truth.flows.len()).sum();
    assert_eq!(together.truth.flows.len(), flows);
    assert_eq!(together.truth.totals().packets, together.frames.len() as u64);
}

#[test]
fn marks_and_notifications_are_counted() {
    let connection = Connection::ipv4(1);
    let truth = congestion(&connection, 5).truth;
    assert_eq!(
        truth.flow(&connection.request_flow()).ecn,
        Ecns { ce: 10, ect0: 30, ..Ecns::default() }
    );
    let answers = truth.flow(&connection.response_flow());
    assert_eq!((answers.cnps, answers.acks), (5, 5));
    assert_eq!(answers.dscp, BTreeMap::from([(26, 5), (48, 5)]));
    let wrong = wrong_marking(&connection, 2).truth.totals();
    assert_eq!((wrong.dscp, wrong.ecn.not_ect), (BTreeMap::from([(0, 10)]), 10));
}

#[test]
fn many_flows_are_what_their_truth_says() {
    let flows = ManyFlows::new(300, 1000, 64);
    let pieces = [vec![flows.clone()], flows.split_every_flow(3), flows.split_by_flow(2)];
    for parts in pieces {
        let mut counted = BTreeMap::new();
        let mut promised = Truth::default();
        for part in parts {
            promised.merge(&part.truth());
            let mut of_part = BTreeMap::new();
            let truth = part.truth();
            for frame in part {
                count(&frame, &mut of_part);
                count(&frame, &mut counted);
            }
            assert_eq!(of_part, truth.flows);
        }
        assert_eq!(counted, promised.flows);
        assert_eq!(counted.len(), 300);
        assert_eq!(promised, flows.truth());
    }
}

#[test]
fn many_flows_have_contiguous_psns() {
    let mut next = BTreeMap::new();
    for frame in ManyFlows::new(7, 100, 0) {
        let expected = next.entry(be24(&frame[47..])).or_insert(0);
        assert_eq!(be24(&frame[51..]), *expected);
        *expected += 1;
    }
    assert_eq!(next.len(), 7);
}

#[test]
fn many_flows_build_the_frames_the_packet_builder_builds() {
    use crate::packet::{Ecn, Opcode, Packet, Reth};
    let mut flows = ManyFlows::new(3000, 4000, 100);
    let frame = flows.nth(3700).unwrap();
    let expected = Packet::new(Opcode::RC_RDMA_WRITE_ONLY)
        .ip("198.18.130.188".parse().unwrap(), "198.19.255.1".parse().unwrap())
        .dscp(26)
        .ecn(Ecn::Ect0)
        .udp_source(0xc000 + 700)
        .dest_qp(0x1_0000 + 700)
        .psn(1)
        .reth(Reth { va: 0, rkey: 0x1234, dma_len: 100 })
        .payload_len(100)
        .build();
    assert_eq!(frame, expected);
}
