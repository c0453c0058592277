//! The time line of a queue pair, as text and as JSON.

use std::collections::{BTreeMap, BTreeSet};

use roce_collector::capture::CaptureReader;
use roce_collector::pair::QpEnd;
use roce_collector::read::{Colours, Engine, FlowFilter, ReadReport, Source, write_text};
use roce_common::marking::MarkingPolicy;
use roce_testkit::capture::Format;
use roce_testkit::scenario::{
    Connection, Endpoint, LossAt, Scenario, answers_lost, congestion, go_back_n, write_stream,
};
use serde_json::Value;

use super::{capture, open_bytes};

fn report(mut reader: CaptureReader, qp: u32) -> ReadReport {
    let mut engine = Engine::new(10_000, MarkingPolicy::DEFAULT);
    while let Some(frame) = reader.next_frame().expect("a sound file") {
        engine.frame(&frame);
    }
    let source =
        Source { file: "test".as_ref(), info: reader.info(), capture_dropped: None, error: None };
    ReadReport::of(&engine.finish(), &source, &FlowFilter { qp: Some(qp), peer: None })
}

fn of_file(name: &str, qp: u32) -> ReadReport {
    report(CaptureReader::open(&capture(name)).expect("a capture file"), qp)
}

/// The time line that people see, without the heading.
fn text(report: &ReadReport) -> String {
    let filter = FlowFilter { qp: Some(0), peer: None };
    let mut out = Vec::new();
    write_text(&mut out, report, &filter, Colours::Off).expect("memory");
    let text = String::from_utf8(out).expect("text");
    assert!(text.lines().all(|line| line.len() <= 120 && line.trim_end() == line), "{text}");
    let (_, lines) = text.split_once("TIME LINE").expect("a time line");
    lines.lines().skip(2).flat_map(|line| [line, "\n"]).collect()
}

/// The entries of the only pair.
fn entries(report: &ReadReport) -> Vec<Value> {
    let json = serde_json::to_value(report).expect("JSON");
    let [pair] = &json["pairs"].as_array().expect("pairs")[..] else { panic!("{}", json["pairs"]) };
    pair["timeline"].as_array().expect("a time line").clone()
}

fn kinds(entries: &[Value]) -> BTreeMap<&str, usize> {
    let mut kinds = BTreeMap::new();
    for entry in entries {
        *kinds.entry(entry["kind"].as_str().expect("a kind")).or_default() += 1;
    }
    kinds
}

#[test]
fn a_loss_and_its_repair() {
    let report = of_file("derived/gbn_one_loss_psn_wrap.pcap", 0xb1);
    let expected = "    \
    0.000000                  1  A > B  first packet: RDMA_WRITE_FIRST, PSN 16777212
    0.000040    +40 us        4  A > B  gap: PSN 16777215 missing
    0.000075    +35 us        8  A < B  NAK PSN sequence error: wants PSN 16777215
    0.000085    +10 us        9  A > B  rewind to PSN 16777215: 10 us after the NAK; 4 packets again and 1 that had been
                                        missing, up to PSN 3
    0.000125    +40 us       13  A > B  last packet: RDMA_WRITE_LAST, PSN 3
    0.000133     +8 us       14  A < B  last answer: ACKNOWLEDGE, PSN 3
";
    assert_eq!(text(&report), expected);
    let entries = entries(&report);
    assert_eq!(entries[1]["t"], "2023-11-14T22:13:20.000050000Z");
    assert_eq!(entries[1]["what"], "gap: PSN 16777215 missing");
    let rewind = serde_json::json!({
        "t": "2023-11-14T22:13:20.000095000Z", "frame": 9, "src": "10.0.0.1", "dst_qp": 0xb1,
        "what": "rewind to PSN 16777215: 10 us after the NAK; 4 packets again and 1 that had been \
                 missing, up to PSN 3",
        "kind": "rewind", "psn": 16_777_215, "last": 3, "packets": 5, "filled": 1,
        "cause": "nak", "after_us": 10
    });
    assert_eq!(entries[3], rewind);
}

#[test]
fn repeats_are_folded_in_text_only() {
    let report = of_file("derived/rnr_exhausted.pcap", 0xb3);
    let text = text(&report);
    assert!(text.contains("... 8 more like the last 2 lines ..."), "{text}");
    assert!(text.contains("RNR NAK: not ready for PSN 200, try again after 640 us"), "{text}");
    assert!(text.contains("rewind to PSN 200: 640 us after the RNR NAK; 1 packet again"), "{text}");
    let entries = entries(&report);
    let kinds = kinds(&entries);
    assert_eq!((kinds["rnr_nak"], kinds["rewind"], kinds["unanswered"]), (8, 7, 1));
    assert_eq!(entries.last().map(|entry| &entry["kind"]), Some(&"unanswered".into()));
}

#[test]
fn timeouts_and_the_life_of_a_connection() {
    let report = of_file("lab/hole-stream-v4.va.pcap.gz", 0x13);
    let entries = entries(&report);
    let shown: Vec<_> = entries.iter().map(|entry| entry["kind"].as_str().unwrap()).collect();
    let expected = [
        "connect_request",
        "connect_reply",
        "ready_to_use",
        "first",
        "first_answer",
        "last_answer",
        "rewind",
        "rewind",
        "rewind",
        "last",
        "unanswered",
        "disconnect_request",
        "disconnect_request",
        "disconnect_reply",
    ];
    assert_eq!(shown, expected, "{}", text(&report));
    for rewind in &entries[6..9] {
        assert_eq!((&rewind["cause"], &rewind["packets"]), (&"timeout".into(), &2.into()));
        assert!((500_000..600_000).contains(&rewind["silent_us"].as_u64().unwrap()), "{rewind}");
    }
    let [pair] = &report.pairs[..] else { panic!("{:#?}", report.pairs) };
    assert!(pair.opened.is_some() && pair.closed > pair.opened, "{pair:?}");
}

#[test]
fn the_network_is_not_blamed_for_a_wrong_key() {
    let report = of_file("lab/err-badrkey-write-v4.va.pcap.gz", 0x18);
    let text = text(&report);
    let nak = "NAK remote access error at PSN 7822462: key, address or rights, not the network";
    assert!(text.contains(nak), "{text}");
    assert!(!text.contains("gap") && !text.contains("rewind"), "{text}");
}

#[test]
fn late_packets_are_called_late() {
    let report = of_file("lab/reorder-write-v4.vb.pcap.gz", 0x1a);
    let entries = entries(&report);
    let kinds = kinds(&entries);
    assert_eq!((kinds["gap"], kinds["late"]), (2, 2), "{}", text(&report));
}

#[test]
fn what_the_tap_missed_and_silence() {
    let mut scenario = write_stream(&Connection::ipv4(1), 4, 8);
    scenario.frames.remove(12);
    for frame in &mut scenario.frames[20..] {
        frame.nanos += 3_000_000_000;
    }
    let qp = Connection::ipv4(1).responder.qp;
    let report = report(open_bytes(scenario.to_pcap(Format::default()).expect("memory")), qp);
    let text = text(&report);
    assert!(text.contains("passes 1 packet that this tap did not see: no loss"), "{text}");
    assert!(text.contains("silence of 3.00 s in both directions ends"), "{text}");
}

#[test]
fn one_direction_alone_has_a_time_line_too() {
    let connection = Connection::ipv4(1);
    let mut scenario = write_stream(&connection, 4, 8);
    let forward = scenario.frames[0].bytes[26..30].to_vec();
    scenario.frames.retain(|frame| frame.bytes[26..30] == forward[..]);
    scenario.frames.remove(12);
    let file = scenario.to_pcap(Format::default()).expect("memory");
    let report = report(open_bytes(file), connection.responder.qp);
    assert!(report.pairs.is_empty());
    let timeline = report.flows[0].timeline.as_ref().expect("a time line");
    let kinds: Vec<_> = timeline.iter().map(|entry| entry.what.as_str()).collect();
    assert!(kinds.iter().any(|what| what.starts_with("gap")), "{kinds:?}");
}

fn of_scenario(scenario: &Scenario) -> ReadReport {
    let file = scenario.to_pcap(Format::default()).expect("memory");
    report(open_bytes(file), Connection::ipv4(1).responder.qp)
}

#[test]
fn marks_and_notifications_are_runs() {
    let mut scenario = congestion(&Connection::ipv4(1), 6);
    let half = scenario.frames.len() / 2;
    for frame in &mut scenario.frames[half..] {
        frame.nanos += 200_000_000; // less than a silence, more than a pause
    }
    let entries = entries(&of_scenario(&scenario));
    for kind in ["ce_marks", "cnp"] {
        let runs: Vec<_> = entries.iter().filter(|entry| entry["kind"] == kind).collect();
        assert_eq!(runs.len(), 2, "{kind}: {entries:#?}");
        let packets: u64 = runs.iter().map(|run| run["packets"].as_u64().unwrap()).sum();
        assert_eq!(packets, if kind == "cnp" { 6 } else { 12 });
    }
    assert!(entries.iter().all(|entry| entry["kind"] != "silence"));
}

#[test]
fn thousands_of_episodes_are_bounded_and_counted() {
    let report = of_scenario(&go_back_n(&Connection::ipv4(1), 3000, LossAt::BeforeTap));
    let entries = entries(&report);
    assert!((500..600).contains(&entries.len()), "{}", entries.len());
    let omitted = entries.iter().filter(|entry| entry["kind"] == "omitted");
    let omitted: u64 = omitted.map(|entry| entry["entries"].as_u64().unwrap()).sum();
    // A gap, a NAK and a rewind each; first and last packets come on top.
    assert_eq!(entries.len() as u64 - 2 + omitted, 9000 + 3, "{:#?}", kinds(&entries));
    assert!(text(&report).lines().count() < 40, "folded: {}", text(&report));
}

#[test]
fn at_the_sender_the_lost_packet_is_seen_twice() {
    let report = of_scenario(&go_back_n(&Connection::ipv4(1), 1, LossAt::AfterTap));
    let entries = entries(&report);
    let kinds = kinds(&entries);
    assert_eq!(kinds.get("gap"), None, "{entries:#?}");
    let rewind = entries.iter().find(|entry| entry["kind"] == "rewind").expect("a rewind");
    assert_eq!((&rewind["packets"], &rewind["filled"]), (&5.into(), &0.into()));
    assert_eq!((&rewind["cause"], &rewind["after_us"]), (&"nak".into(), &11.into()));
}

/// Rewinds of a time line, and how many of them came although the PSN had been acknowledged.
fn rewinds(entries: &[Value]) -> (usize, usize) {
    let rewinds = entries.iter().filter(|entry| entry["kind"] == "rewind");
    let acknowledged = rewinds.clone().filter(|entry| entry["was_acknowledged"] == true);
    (rewinds.count(), acknowledged.count())
}

#[test]
fn a_rewind_although_it_was_acknowledged() {
    let connection = Connection::ipv4(1);
    let scenario = answers_lost(&connection, 3);
    let frames = scenario.to_pcap(Format::default()).expect("memory");
    let qp = connection.responder.qp;
    let report = report(open_bytes(frames.clone()), qp);
    assert_eq!(rewinds(&entries(&report)), (3, 3));
    let text = text(&report);
    let line = "timeout, 67.1 ms of silence, although it had been acknowledged; 8 packets again";
    assert!(text.split_whitespace().collect::<Vec<_>>().join(" ").contains(line), "{text}");

    // Without the ACKs, which is how the requester's side sees it.
    let mut reader = open_bytes(frames);
    let mut engine = Engine::new(10_000, MarkingPolicy::DEFAULT);
    while let Some(frame) = reader.next_frame().expect("a sound file") {
        if frame.data.len() > 100 {
            engine.frame(&frame);
        }
    }
    let reading = engine.finish();
    let (a, b) = (connection.requester, connection.responder);
    let end = |end: Endpoint| QpEnd { ip: end.ip, qp: end.qp };
    let entries = serde_json::to_value(reading.timeline(end(a), end(b))).expect("JSON");
    assert_eq!(rewinds(entries.as_array().expect("a list")), (3, 0));
}

#[test]
fn real_losses_and_holes_are_not_taken_for_lost_answers() {
    let cases = [
        ("lab/loss1-write-v4.va.pcap.gz", 28),
        ("lab/loss1-write-v4.vb.pcap.gz", 28),
        ("lab/hole-stream-v4.va.pcap.gz", 3),
        ("lab/hole-send-retry7-v6.va.pcap.gz", 111),
        ("lab/loss1-read-resp-v4.va.pcap.gz", 42),
        ("lab/loss1-read-req-v4.vb.pcap.gz", 5),
        ("lab/dup5-ack-v4.va.pcap.gz", 0),
    ];
    for (name, expected) in cases {
        let qps = super::read(name).flows.into_iter().map(|flow| flow.dst_qp);
        let qps: BTreeSet<_> = qps.filter(|qp| *qp != 1).collect();
        let mut seen = (0, 0);
        for qp in qps {
            let json = serde_json::to_value(of_file(name, qp)).expect("JSON");
            for pair in json["pairs"].as_array().expect("pairs") {
                let (count, acknowledged) = rewinds(pair["timeline"].as_array().expect("a list"));
                seen = (seen.0 + count, seen.1 + acknowledged);
            }
        }
        assert_eq!(seen, (expected, 0), "{name}");
    }
}
