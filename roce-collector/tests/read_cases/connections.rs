//! The life of connections, as connection manager messages tell it.

use roce_collector::capture::CaptureReader;
use roce_collector::read::{Engine, FlowFilter, ReadReport, Source};
use roce_common::marking::MarkingPolicy;

use super::{capture, read};

/// The files one after the other, as one capture.
fn in_a_row(names: &[&str], qp: Option<u32>) -> ReadReport {
    let mut engine = Engine::new(10_000, MarkingPolicy::DEFAULT);
    let mut info = None;
    for name in names {
        let mut reader = CaptureReader::open(&capture(name)).expect("a capture file");
        info = info.or(Some(reader.info()));
        while let Some(frame) = reader.next_frame().expect("a sound file") {
            engine.frame(&frame);
        }
    }
    let info = info.expect("a file");
    let source = Source { file: "test".as_ref(), info, capture_dropped: None, error: None };
    ReadReport::of(&engine.finish(), &source, &FlowFilter { qp, peer: None })
}

#[test]
fn a_connection_opens_and_closes() {
    let report = read("lab/cm-ucmatose-v4.va.pcap.gz");
    assert_eq!(report.pairs.len(), 3);
    for pair in &report.pairs {
        assert!(pair.opened.is_some() && pair.closed > pair.opened, "{pair:?}");
        assert_eq!(pair.timeline, None, "nobody asked");
    }
}

#[test]
fn a_qp_number_that_is_used_again_starts_anew() {
    // Host A uses QP 23 in both, with other PSNs.
    let names = ["lab/err-rnr-recover-v4.va.pcap.gz", "lab/cm-ucmatose-v4.va.pcap.gz"];
    let report = in_a_row(&names, None);
    let ends: Vec<_> = report.pairs.iter().map(|pair| (pair.a.qp, pair.b.qp)).collect();
    assert_eq!(ends, [(21, 20), (22, 21), (23, 22), (23, 23)]);
    let (again, ended) = (&report.pairs[2], &report.pairs[3]);
    assert!(again.evidence.iter().any(|why| why.contains("2 connections")), "{again:?}");
    assert!(ended.closed.is_some() && ended.closed < again.opened, "{ended:?}");
    for flow in &report.flows {
        let sequence = flow.sequence().unwrap_or_default();
        assert_eq!((sequence.lost, sequence.unseen, sequence.open), (0, 0, 0), "{flow:?}");
    }
}

#[test]
fn a_refused_connection_is_told() {
    let name = "lab/cm-reject-nolistener-v4.va.pcap.gz";
    let all = in_a_row(&[name], None);
    assert!(all.pairs.is_empty() && all.unconnected.is_empty());
    let found = (1..64).find_map(|qp| in_a_row(&[name], Some(qp)).unconnected.pop());
    let other = found.expect("a QP that asked for a connection");
    assert_eq!(other.end.ip.to_string(), "10.0.0.1");
    let what: Vec<_> = other.timeline.iter().map(|entry| entry.what.as_str()).collect();
    let [request, reject] = what[..] else { panic!("{what:?}") };
    assert!(request.starts_with("CM REQ: QP"), "{request}");
    assert_eq!(reject, "CM REJ: refused, reason 8 (invalid service ID: nobody listens)");
}
