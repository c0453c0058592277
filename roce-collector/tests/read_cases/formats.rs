//! One traffic in every form a capture can have.

use super::read;
use roce_collector::flow::FlowReport;
use roce_collector::read::ReadReport;

const REFERENCE: &str = "derived/hns_scrubbed.pcap";

/// Flows without their times, which differ in precision.
fn flows(report: &ReadReport) -> Vec<FlowReport> {
    report.flows.iter().map(|flow| FlowReport { last_seen: None, ..flow.clone() }).collect()
}

#[test]
fn link_types_and_formats_make_no_difference() {
    let reference = read(REFERENCE);
    for name in [
        "derived/hns_scrubbed.pcapng",
        "derived/hns_scrubbed_ns.pcap",
        "variants/hns_sll.pcap.gz",
        "variants/hns_sll2.pcap.gz",
        "variants/hns_raw.pcap.gz",
        "variants/hns_ns.pcapng.gz",
    ] {
        let report = read(name);
        assert_eq!(flows(&report), flows(&reference), "{name}");
        assert_eq!(report.icrc, reference.icrc, "{name}");
        assert_eq!(report.findings, reference.findings, "{name}");
        for (time, expected) in [
            (report.input.first_time, reference.input.first_time),
            (report.input.last_time, reference.input.last_time),
        ] {
            let apart = time.unwrap().as_nanos().abs_diff(expected.unwrap().as_nanos());
            assert!(apart < 1000, "{name}: {apart} ns apart");
        }
    }
}

#[test]
fn four_link_types_in_one_file() {
    let (report, reference) = (read("variants/hns_mixed.pcapng.gz"), read(REFERENCE));
    assert_eq!((report.packets.roce_v2, report.icrc.good), (420, 420));
    for (flow, one) in flows(&report).iter().zip(flows(&reference)) {
        assert_eq!((flow.dst_qp, flow.packets), (one.dst_qp, 4 * one.packets));
        assert_eq!(flow.wire_bytes, 4 * one.wire_bytes);
        assert!(flow.opcodes.iter().all(|(name, packets)| *packets == 4 * one.opcodes[name]));
    }
}

#[test]
fn frames_cut_behind_the_headers() {
    let (report, reference) = (read("variants/hns_snap64.pcap.gz"), read(REFERENCE));
    assert_eq!(flows(&report), flows(&reference), "lengths come from the headers");
    assert!(report.packets.truncated > 0);
    assert_eq!(report.icrc.not_checkable, report.packets.truncated);
    assert_eq!(report.icrc.good + report.icrc.not_checkable, 105);
    assert!(report.findings.iter().all(|finding| finding.id != "cut_headers"));
}
