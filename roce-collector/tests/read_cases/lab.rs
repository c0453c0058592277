//! Captures of a real driver against what tshark says of them.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use super::{capture, read};
use roce_collector::flow::SequenceReport;
use roce_collector::read::ReadReport;

type Counts = BTreeMap<String, u64>;

/// Counts of the expectation file; none where it has no such key.
fn expected(counts: &Value) -> Counts {
    let Some(counts) = counts.as_object() else { return Counts::new() };
    counts.iter().map(|(name, count)| (name.clone(), count.as_u64().expect("a count"))).collect()
}

/// `RC WRITE_ONLY` of the expectation file in our words.
fn rename(opcode: &str) -> String {
    let (transport, name) = opcode.split_once(' ').expect("transport and name");
    let name = match name {
        "ACK" => "ACKNOWLEDGE".into(),
        "ATOMIC_ACK" => "ATOMIC_ACKNOWLEDGE".into(),
        "READ_REQ" => "RDMA_READ_REQUEST".into(),
        _ if name.starts_with("READ_RESP") => name.replace("READ_RESP", "RDMA_READ_RESPONSE"),
        _ if name.starts_with("WRITE") => format!("RDMA_{name}"),
        _ => name.into(),
    };
    format!("{transport} {name}")
}

fn add(counts: &mut Counts, key: String, packets: u64) {
    if packets != 0 {
        *counts.entry(key).or_default() += packets;
    }
}

/// Every count of the report that the expectation file has too, with its keys.
fn seen(report: &ReadReport) -> BTreeMap<&'static str, Counts> {
    let mut seen: BTreeMap<_, Counts> = BTreeMap::new();
    for flow in &report.flows {
        let mut count = |what, key, packets| add(seen.entry(what).or_default(), key, packets);
        let naks = flow.naks.expect("whole headers");
        let mut positive = flow.acks.expect("whole headers");
        for (name, packets) in &flow.opcodes {
            count("opcodes", format!("{} {name}", flow.transport), *packets);
            let has_aeth = name.starts_with("RDMA_READ_RESPONSE") && !name.ends_with("MIDDLE")
                || name == "ATOMIC_ACKNOWLEDGE";
            positive += if has_aeth { *packets } else { 0 };
        }
        count("aeth", "ACK".into(), positive);
        count("aeth", "NAK_PSN_SEQ".into(), naks.psn_sequence_error);
        count("aeth", "NAK_REM_ACCESS".into(), naks.remote_access_error);
        let others = naks.total() - naks.psn_sequence_error - naks.remote_access_error;
        count("aeth", "another NAK".into(), others);
        if let Some(timer) = flow.rnr_timer_ms {
            assert!((timer - 655.36).abs() < 1e-9, "timer code 0, not {timer} ms");
            count("aeth", "RNR_NAK(timer=0)".into(), flow.rnr_naks.expect("whole headers"));
        }
        let ecn = [flow.ecn.not_ect, flow.ecn.ect1, flow.ecn.ect0, flow.ecn.ce];
        for (codepoint, packets) in ecn.iter().enumerate() {
            count("ecn", format!("{}:{codepoint}", flow.src), *packets);
        }
        for (dscp, packets) in &flow.dscp {
            count("dscp", format!("{}:{dscp}", flow.src), *packets);
        }
        count("flows", format!("{}->qp0x{:06x}", flow.src, flow.dst_qp), flow.packets);
    }
    seen
}

#[test]
fn every_lab_capture_is_read_as_tshark_reads_it() {
    let text = fs::read_to_string(capture("lab/expected.json")).expect("the expectation file");
    let files: BTreeMap<String, Value> = serde_json::from_str(&text).expect("valid JSON");
    assert!(files.len() > 20);
    for (name, file) in files {
        let report = read(&format!("lab/{name}"));
        let frames = file["frames"].as_u64().expect("a count");
        assert_eq!((report.packets.total, report.packets.roce_v2), (frames, frames), "{name}");
        assert_eq!(report.packets.other, file["not_roce"], "{name}");
        assert_eq!(report.icrc.bad, 0, "{name}");
        assert_eq!(report.icrc.not_checkable, report.packets.truncated, "{name}");

        let seen = seen(&report);
        let opcodes: Counts =
            expected(&file["opcodes"]).iter().map(|(name, n)| (rename(name), *n)).collect();
        assert_eq!(seen["opcodes"], opcodes, "{name}");
        for what in ["aeth", "ecn", "dscp", "flows"] {
            let seen = seen.get(what).cloned().unwrap_or_default();
            assert_eq!(seen, expected(&file[what]), "{name}: {what}");
        }
    }
}

/// PSN figures of a file: requests of reliable connections, and everything else with an order.
fn sequences(report: &ReadReport) -> (SequenceReport, SequenceReport) {
    let (mut requests, mut others) = (SequenceReport::default(), SequenceReport::default());
    for flow in &report.flows {
        if let Some(sequence) = flow.psn.and_then(|psn| psn.sequence) {
            let sum = if flow.transport == "RC" { &mut requests } else { &mut others };
            *sum = sum.plus(&sequence);
        }
        others = others.plus(&flow.response_psn.unwrap_or_default());
    }
    (requests, others)
}

#[test]
fn every_lab_capture_has_the_losses_and_repeats_it_had() {
    let text = fs::read_to_string(capture("lab/expected.json")).expect("the expectation file");
    let files: BTreeMap<String, Value> = serde_json::from_str(&text).expect("valid JSON");
    for (name, file) in files {
        let (requests, others) = sequences(&read(&format!("lab/{name}")));
        let reference = |key: &str| file["reference"][key].as_u64().unwrap_or(0);
        assert_eq!(requests.retransmitted, reference("req_repeated"), "{name}");
        assert_eq!((requests.open, requests.unseen, requests.tap_duplicates), (0, 0, 0), "{name}");
        // What netem held back was not lost, although NAKs and repeats follow.
        let skipped = reference("req_skipped");
        let is_late = name.starts_with("reorder");
        let (lost, reordered) = if is_late { (0, skipped) } else { (skipped, 0) };
        assert_eq!((requests.lost, requests.recovered), (lost, lost), "{name}");
        assert_eq!(requests.reordered, reordered, "{name}");
        // A NAK after an RNR NAK is no loss; else each NAK makes one rewind.
        let naks = if reference("rnr") == 0 { reference("nak_seq") } else { 0 };
        if !name.contains("-read-resp") {
            assert_eq!(requests.go_back_n_episodes, naks, "{name}");
            let lost = if name.starts_with("loss2-uc-v4.vb") { 31 } else { 0 };
            assert_eq!(others, SequenceReport { lost, ..SequenceReport::default() }, "{name}");
        }
    }
}

#[test]
fn lost_read_responses_are_no_lost_requests() {
    let (requests, responses) = sequences(&read("lab/loss1-read-resp-v4.va.pcap.gz"));
    assert_eq!((requests.lost, requests.retransmitted), (0, 663));
    assert_eq!((responses.lost, responses.recovered, responses.reordered), (16, 16, 0));
    assert_eq!((responses.open, responses.unseen, responses.retransmitted), (0, 0, 2578));
}

#[test]
fn silence_is_a_timeout() {
    let (requests, _) = sequences(&read("lab/hole-stream-v4.va.pcap.gz"));
    assert_eq!((requests.timeouts, requests.go_back_n_episodes, requests.lost), (3, 0, 0));
}

#[test]
fn a_climb_without_an_answer_is_a_retry_ladder() {
    let report = read("lab/hole-stream-v4.va.pcap.gz");
    let retries = report.flows[0].retries.expect("a ladder");
    assert_eq!((retries.psn, retries.tries, retries.answered), (9_621_019, 3, false));
    assert!((500.0..600.0).contains(&retries.spacing_ms), "{retries:?}");
    assert!((540.0..600.0).contains(&retries.longest_silence_ms), "{retries:?}");
    let report = read("lab/loss1-write-v4.vb.pcap.gz");
    assert!(report.flows.iter().all(|flow| flow.retries.is_none()), "NAKs, no ladder");
}

#[test]
fn distances_and_round_trips() {
    let report = read("lab/loss1-write-v4.vb.pcap.gz");
    let data = report.flows.iter().find(|flow| flow.psn.is_some()).expect("requests");
    assert_eq!(data.go_back_psns.values().sum::<u64>(), 28, "as many as NAKs");
    assert!(data.reorder_psns.is_empty());
    let rtt = data.rtt_us.expect("samples");
    assert!(rtt.samples > 50 && rtt.p50 < rtt.p99 && rtt.p99 < 100_000.0, "{rtt:?}");

    let acknowledged = data.acknowledged.expect("ACKs");
    assert_eq!((Some(acknowledged.psn), acknowledged.msn), (data.psn.map(|psn| psn.last), 600));
    assert!((3.0..5.0).contains(&acknowledged.psns_per_answer), "4 packets a message");

    let report = read("lab/reorder-write-v4.vb.pcap.gz");
    let data = report.flows.iter().find(|flow| flow.psn.is_some()).expect("requests");
    assert_eq!(data.reorder_psns.values().sum::<u64>(), 2, "two were held back");
}

#[test]
fn every_connection_is_paired() {
    let report = read("lab/cm-ucmatose-v4.va.pcap.gz");
    assert_eq!(report.pairs.len(), 3, "{:#?}", report.pairs);
    for pair in &report.pairs {
        assert_eq!(pair.a.ip.to_string(), "10.0.0.1");
        assert!(pair.evidence[0].contains("connection manager"), "{pair:?}");
        assert!(pair.confidence > 0.98, "{pair:?}");
    }
    let report = read("lab/loss1-write-v4.vb.pcap.gz");
    let [pair] = &report.pairs[..] else { panic!("{:#?}", report.pairs) };
    assert!(pair.confidence > 0.7, "{pair:?}");
    assert_eq!(report.flows[0].pmtu, Some(1024));
}
