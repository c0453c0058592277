//! Generated traffic: the report is what was sent.

use std::collections::BTreeMap;

use roce_collector::flow::{EcnReport, FlowReport, NakReport, SequenceReport};
use roce_collector::read::{Colours, FlowFilter, ReadReport, write_text};
use roce_common::marking::MarkingPolicy;
use roce_testkit::capture::{
    Format, LINKTYPE_ETHERNET, LINKTYPE_LINUX_SLL, LINKTYPE_LINUX_SLL2, PcapWriter, PcapngWriter,
};
use roce_testkit::packet::{Opcode, Packet};
use roce_testkit::scenario::{FlowTruth, ManyFlows, PsnTruth, Scenario, Truth, all};

use super::{finding, open_bytes, read_bytes, report_under};

/// A flow of the report in the words of the truth. Losses are not looked for yet.
fn as_truth(flow: &FlowReport, truth: &FlowTruth) -> FlowTruth {
    let naks = flow.naks.expect("whole headers");
    let EcnReport { not_ect, ect0, ect1, ce } = flow.ecn;
    let NakReport {
        psn_sequence_error,
        invalid_request,
        remote_access_error,
        remote_operational_error,
        invalid_rd_request,
        unknown,
    } = naks;
    assert_eq!((unknown, flow.dscp_other), (0, 0));
    let named = |name: &str| truth.opcodes.keys().find(|known| **known == name).copied();
    let mut found = FlowTruth {
        packets: flow.packets,
        wire_bytes: flow.wire_bytes,
        payload_bytes: flow.payload_bytes,
        opcodes: flow
            .opcodes
            .iter()
            .map(|(name, packets)| (named(name).unwrap_or("one that was not sent"), *packets))
            .collect(),
        dscp: flow.dscp.clone(),
        acks: flow.acks.expect("whole headers"),
        rnr_naks: flow.rnr_naks.expect("whole headers"),
        cnps: flow.cnps,
        // What the report does not have.
        requests: truth.requests,
        responses: truth.responses,
        psn: psn_truth(flow),
        ..FlowTruth::default()
    };
    (found.ecn.not_ect, found.ecn.ect0, found.ecn.ect1, found.ecn.ce) = (not_ect, ect0, ect1, ce);
    found.naks.psn_sequence_error = psn_sequence_error;
    found.naks.invalid_request = invalid_request;
    found.naks.remote_access_error = remote_access_error;
    found.naks.remote_operational_error = remote_operational_error;
    found.naks.invalid_rd_request = invalid_rd_request;
    found
}

fn psn_truth(flow: &FlowReport) -> PsnTruth {
    let sequence = flow.psn.and_then(|psn| psn.sequence).unwrap_or_default();
    let SequenceReport { lost, recovered, retransmitted, .. } = sequence;
    PsnTruth { lost, recovered, retransmitted }
}

fn assert_is_truth(report: &ReadReport, truth: &Truth, context: &str) {
    let flows: BTreeMap<_, _> =
        report.flows.iter().map(|flow| ((flow.src, flow.dst, flow.dst_qp), flow)).collect();
    assert_eq!(flows.len(), report.flows.len(), "{context}: flows with one key");
    assert_eq!(flows.len(), truth.flows.len(), "{context}: flows");
    for (key, sent) in &truth.flows {
        let flow = flows.get(&(key.src, key.dst, key.dst_qp));
        let flow = flow.unwrap_or_else(|| panic!("{context}: no flow {key:?}"));
        assert_eq!(as_truth(flow, sent), *sent, "{context}: {key:?}");
    }
    let packets = truth.totals().packets;
    assert_eq!(report.packets.roce_v2 + report.packets.roce_v1, packets, "{context}");
    assert_eq!(report.icrc.good, packets, "{context}");
}

/// Little and big endian, micro and nanoseconds.
fn formats(link_type: u16) -> impl Iterator<Item = Format> {
    [(false, false), (false, true), (true, false), (true, true)].into_iter().map(
        move |(big_endian, nanoseconds)| Format {
            link_type,
            big_endian,
            nanoseconds,
            ..Format::default()
        },
    )
}

/// The scenario as a pcapng file whose frames have another link layer.
fn pcapng(scenario: &Scenario, format: Format) -> Vec<u8> {
    let mut writer = PcapngWriter::new(Vec::new(), format).expect("memory");
    for frame in &scenario.frames {
        let bytes = relink(&frame.bytes, format.link_type);
        writer.write(frame.nanos, &bytes).expect("memory");
    }
    writer.finish().expect("memory")
}

/// Puts another link layer before what an Ethernet frame carries.
fn relink(frame: &[u8], link_type: u16) -> Vec<u8> {
    let (header, rest) = frame.split_at(14);
    let ether_type = &header[12..];
    match link_type {
        LINKTYPE_LINUX_SLL => {
            [&[0, 0, 0, 1, 0, 6], &header[6..12], &[0, 0], ether_type, rest].concat()
        }
        LINKTYPE_LINUX_SLL2 => {
            let fixed = [0, 0, 0, 0, 0, 2, 0, 1, 0, 6];
            [ether_type, &fixed, &header[6..12], &[0, 0], rest].concat()
        }
        _ => frame.to_vec(),
    }
}

#[test]
fn reports_are_the_truth_in_every_format() {
    for scenario in all() {
        for format in formats(LINKTYPE_ETHERNET) {
            let context = format!("{}, pcap {format:?}", scenario.name);
            assert_is_truth(
                &read_bytes(scenario.to_pcap(format).unwrap()),
                &scenario.truth,
                &context,
            );
        }
        for link_type in [LINKTYPE_ETHERNET, LINKTYPE_LINUX_SLL, LINKTYPE_LINUX_SLL2] {
            for format in formats(link_type) {
                let context = format!("{}, pcapng {format:?}", scenario.name);
                assert_is_truth(&read_bytes(pcapng(&scenario, format)), &scenario.truth, &context);
            }
        }
    }
}

#[test]
fn everything_at_once() {
    let scenario = Scenario::together("all", all());
    let report = read_bytes(scenario.to_pcap(Format::default()).unwrap());
    assert_is_truth(&report, &scenario.truth, "all");
}

fn named(name: &str) -> Scenario {
    let scenario = all().into_iter().find(|scenario| scenario.name == name);
    scenario.unwrap_or_else(|| panic!("no scenario {name}"))
}

#[test]
fn findings_follow_the_traffic() {
    let expected = [
        ("DSCP 0 and Not-ECT", vec!["dscp_zero", "not_ecn_capable"]),
        ("RoCEv1", vec!["roce_v1"]),
        ("CE marks answered by CNPs", vec![]),
    ];
    for (name, ids) in expected {
        let report = read_bytes(named(name).to_pcap(Format::default()).unwrap());
        let found: Vec<_> = report.findings.iter().map(|finding| finding.id).collect();
        assert_eq!(found, ids, "{name}");
    }
}

#[test]
fn priorities_are_checked_when_asked() {
    let file = named("VLAN").to_pcap(Format::default()).unwrap();
    let found = |data_pcp| {
        let policy = MarkingPolicy { data_pcp, ..MarkingPolicy::DEFAULT };
        let report = report_under(policy, open_bytes(file.clone()));
        finding(&report, "pcp_unexpected").map(str::to_owned)
    };
    assert_eq!((found(3), found(MarkingPolicy::ANY)), (None, None), "they have priority 3");
    let message = found(5).expect("a finding");
    assert!(message.contains("another priority than 5: 8 on priority 3"), "{message}");
}

#[test]
fn fragments_of_roce_packets_are_a_finding() {
    let mut scenario = named("CE marks answered by CNPs");
    scenario.frames.truncate(3);
    scenario.frames[1].bytes[20] |= 0x20; // more fragments follow
    let report = read_bytes(scenario.to_pcap(Format::default()).unwrap());
    assert_eq!(report.packets.malformed, [("first_fragment", 1)].into());
    assert_eq!((report.packets.roce_v2, report.icrc.not_checkable), (3, 1));
    let message = finding(&report, "fragments").expect("a finding");
    assert!(message.starts_with("1 RoCE packet fragmented"), "{message}");
    assert_eq!(finding(&report, "malformed"), None);
}

#[test]
fn frames_cut_before_the_syndrome_make_it_unknown() {
    let scenario = all().into_iter().find(|scenario| scenario.truth.totals().rnr_naks > 0);
    let scenario = scenario.expect("a scenario with RNR NAKs");
    // Ethernet, IPv4, UDP and BTH: 54 bytes.
    let report = read_bytes(scenario.to_pcap(Format { snaplen: 54, ..Format::default() }).unwrap());
    assert_eq!(report.packets.truncated, scenario.frames.len() as u64);
    let acknowledged = report.flows.iter().find(|flow| flow.opcodes.contains_key("ACKNOWLEDGE"));
    let flow = acknowledged.expect("a flow with ACKs");
    assert_eq!((flow.acks, flow.naks, flow.rnr_naks), (None, None, None), "not 0");
    assert!(report.findings.iter().any(|finding| finding.id == "cut_headers"));

    let report = read_bytes(scenario.to_pcap(Format { snaplen: 50, ..Format::default() }).unwrap());
    assert_eq!(report.packets.malformed, [("truncated_bth", scenario.frames.len() as u64)].into());
    assert!(report.findings.iter().any(|finding| finding.id == "cut_headers"));
}

#[test]
fn the_longest_addresses_fit_into_the_line() {
    let [src, dst] =
        ["fd00:1111:2222:3333:4444:5555:6666:7777", "fd00:aaaa:bbbb:cccc:dddd:eeee:ffff:9999"];
    let packet =
        Packet::new(Opcode::RC_RDMA_WRITE_ONLY).ip(src.parse().unwrap(), dst.parse().unwrap());
    let mut writer = PcapWriter::new(Vec::new(), Format::default()).unwrap();
    writer.write(0, &packet.dest_qp(0xff_ffff).payload_len(1000).build()).unwrap();
    let report = read_bytes(writer.finish().unwrap());
    let mut text = Vec::new();
    write_text(&mut text, &report, &FlowFilter::default(), Colours::Off).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(text.lines().all(|line| line.len() <= 120), "{text}");
    let (_, text) = text.split_once("SOURCE").expect("a table");
    for group in src.split(':').chain(dst.split(':')) {
        assert!(text.contains(group), "{group} is broken: {text}");
    }
}

#[test]
fn nine_thousand_flows() {
    let frames = ManyFlows::new(9_000, 30_000, 20);
    let truth = frames.truth();
    let mut writer = PcapWriter::new(Vec::new(), Format::default()).unwrap();
    for (number, frame) in frames.enumerate() {
        writer.write(number as u64, &frame).unwrap();
    }
    assert_is_truth(&read_bytes(writer.finish().unwrap()), &truth, "many flows");
}
