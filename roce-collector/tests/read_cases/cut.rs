//! Frames of which only a part was captured.

use std::collections::BTreeMap;

use roce_collector::flow::{FlowReport, SequenceReport};
use roce_collector::read::ReadReport;
use roce_testkit::capture::{Format, PcapWriter};
use roce_testkit::scenario::{
    Connection, LossAt, Scenario, all, go_back_n, reads, receiver_not_ready,
};

use super::{finding, read_bytes};

/// Ethernet, IPv4, UDP, BTH.
const BTH_END: usize = 14 + 20 + 8 + 12;
const AETH_END: usize = BTH_END + 4;
const RETH_END: usize = BTH_END + 16;

fn at_snaplen(scenario: &Scenario, snaplen: u32) -> ReadReport {
    read_bytes(scenario.to_pcap(Format { snaplen, ..Format::default() }).expect("memory"))
}

/// The scenario with `len` bytes of the frame `index`.
fn with_one_cut(scenario: &Scenario, index: usize, len: usize) -> ReadReport {
    let mut file = PcapWriter::new(Vec::new(), Format::default())
        .and_then(PcapWriter::finish)
        .expect("memory");
    for (number, frame) in scenario.frames.iter().enumerate() {
        let captured = if number == index { &frame.bytes[..len] } else { &frame.bytes[..] };
        let (seconds, nanos) = (frame.nanos / 1_000_000_000, frame.nanos % 1_000_000_000);
        for field in [seconds, nanos, captured.len() as u64, frame.bytes.len() as u64] {
            file.extend((field as u32).to_le_bytes());
        }
        file.extend(captured);
    }
    read_bytes(file)
}

fn sequence(report: &ReadReport) -> SequenceReport {
    let sequences = report.flows.iter().filter_map(FlowReport::sequence);
    sequences.fold(SequenceReport::default(), |sum, sequence| sum.plus(&sequence))
}

fn frames(report: &ReadReport) -> u64 {
    let packets = &report.packets;
    // A first fragment is a RoCE packet, too.
    let malformed = packets.malformed.iter().filter(|(reason, _)| **reason != "first_fragment");
    packets.roce_v2 + packets.roce_v1 + packets.other + malformed.map(|(_, n)| n).sum::<u64>()
}

/// Packets and bytes on the wire of each flow.
fn sizes(report: &ReadReport) -> BTreeMap<(String, u32), (u64, u64, u64)> {
    let size = |flow: &FlowReport| (flow.packets, flow.wire_bytes, flow.payload_bytes);
    report.flows.iter().map(|flow| ((flow.src.to_string(), flow.dst_qp), size(flow))).collect()
}

#[test]
fn every_scenario_at_every_snap_length() {
    for scenario in all() {
        let whole = at_snaplen(&scenario, 65_536);
        let longest = scenario.frames.iter().map(|frame| frame.bytes.len()).max().unwrap_or(0);
        for snaplen in 1..=(longest as u32).min(160) {
            let context = format!("{} at {snaplen} bytes", scenario.name);
            let report = at_snaplen(&scenario, snaplen);
            assert_eq!(frames(&report), report.packets.total, "{context}");
            let (cut, all) = (sequence(&report), sequence(&whole));
            assert!(cut.lost <= all.lost && cut.unseen <= all.unseen, "{context}: {cut:?}");
            assert!(cut.retransmitted <= all.retransmitted, "{context}: {cut:?}");
            // Two VLAN tags, IPv6, XRCETH and RETH.
            if snaplen >= 14 + 8 + 40 + 8 + 12 + 4 + 16 {
                assert_eq!(cut, all, "{context}");
                assert_eq!(sizes(&report), sizes(&whole), "{context}");
            }
        }
    }
}

#[test]
fn one_frame_cut_at_every_length() {
    let connection = Connection::ipv4(1);
    for scenario in [
        go_back_n(&connection, 1, LossAt::BeforeTap),
        receiver_not_ready(&connection, 2),
        reads(&connection, 1, 3),
    ] {
        let all = sequence(&at_snaplen(&scenario, 65_536));
        for (index, frame) in scenario.frames.iter().enumerate() {
            for len in 0..frame.bytes.len().min(100) {
                let context = format!("{}: {len} bytes of frame {}", scenario.name, index + 1);
                let report = with_one_cut(&scenario, index, len);
                assert_eq!(frames(&report), report.packets.total, "{context}");
                assert_eq!(report.packets.truncated, 1, "{context}");
                // A packet that nobody can read is missing; a rewind that repeats it looks like a repair.
                let missing = u64::from(len < BTH_END);
                let cut = sequence(&report);
                assert!(cut.lost <= all.lost + missing, "{context}: {cut:?}");
                if len >= RETH_END {
                    assert_eq!(sequence(&report), all, "{context}");
                }
            }
        }
    }
}

#[test]
fn snap_length_64_shows_losses_and_says_that_read_lengths_are_unknown() {
    let connection = Connection::ipv4(1);
    let losses = go_back_n(&connection, 3, LossAt::BeforeTap);
    let report = at_snaplen(&losses, 64);
    let expected = SequenceReport { lost: 3, recovered: 3, ..sequence(&report) };
    assert_eq!(sequence(&report), expected);
    assert_eq!(sequence(&report).go_back_n_episodes, 3);
    let answers = report.flows.iter().find_map(|flow| flow.answers).expect("the pair is known");
    assert_eq!(answers.naks.map(|naks| naks.psn_sequence_error), Some(3), "an AETH fits");
    assert_eq!(finding(&report, "read_length_unknown"), None);

    let report = at_snaplen(&reads(&connection, 4, 6), 64);
    let message = finding(&report, "read_length_unknown").expect("a finding");
    assert!(
        message.starts_with("READ length unknown: the capture cut 4 READ requests"),
        "{message}"
    );
    assert_eq!(sequence(&report), SequenceReport::default());
    assert!(report.flows.iter().all(|flow| flow.naks.is_some()), "the syndromes are there");
}

#[test]
fn what_was_cut_is_unknown_and_not_0() {
    let scenario = receiver_not_ready(&Connection::ipv4(1), 2);
    for snaplen in BTH_END..AETH_END {
        let report = at_snaplen(&scenario, snaplen as u32);
        let answers = report.flows.iter().find(|flow| flow.opcodes.contains_key("ACKNOWLEDGE"));
        let answers = answers.expect("a flow with ACKs");
        assert_eq!((answers.acks, answers.naks, answers.rnr_naks), (None, None, None));
    }
    let report = at_snaplen(&scenario, AETH_END as u32);
    assert!(report.flows.iter().any(|flow| flow.rnr_naks == Some(2)), "{report:#?}");
}
