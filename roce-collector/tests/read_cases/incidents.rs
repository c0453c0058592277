//! What died in a file, and why: real captures of both taps, with and without the log of the application.

use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use roce_collector::capture::CaptureReader;
use roce_collector::diagnosis::{HostFacts, Outcome, Verdict};
use roce_collector::explain::{DecoderLimits, Scanner};
use roce_collector::incident::Incident;
use roce_collector::read::{Engine, FlowFilter, IncidentFinder, ReadReport, Reading, Source, Tap};
use roce_common::marking::MarkingPolicy;
use roce_testkit::capture::Format;
use roce_testkit::scenario::{Connection, Frame, LossAt, go_back_n, reads};

use super::{capture, open_bytes, read};

/// Everything of a capture file, and its report without a log.
fn reading(mut reader: CaptureReader) -> Reading {
    let mut engine = Engine::new(10_000, MarkingPolicy::DEFAULT);
    while let Some(frame) = reader.next_frame().expect("a sound file") {
        engine.frame(&frame);
    }
    engine.finish()
}

/// The incidents of a file beside the lines of a log; `on` is the host on which it was captured.
fn with_log(file: &Path, log: &str, on: Option<&str>) -> Vec<Incident> {
    let reading = reading(CaptureReader::open(file).unwrap_or_else(|error| panic!("{error}")));
    let hosts: Vec<_> = on.into_iter().map(|ip| ip.parse().expect("an address")).collect();
    beside(&reading, log, &hosts)
}

/// The incidents of a reading beside the lines of a log.
fn beside(reading: &Reading, log: &str, hosts: &[IpAddr]) -> Vec<Incident> {
    let tap = Tap { name: "test.pcap", hosts };
    let mut finder = IncidentFinder::new(reading, tap, HostFacts::default());
    let source: Arc<str> = "job.log".into();
    let mut scanner = Scanner::new(DecoderLimits::default());
    scanner.feed(log.as_bytes(), &mut |record| finder.take(&source, record));
    scanner.finish(&mut |record| finder.take(&source, record));
    let incidents = finder.finish();
    assert_eq!(incidents.left_out, 0);
    incidents.found
}

/// Outcome and verdict of each.
fn said(incidents: &[Incident]) -> Vec<(Outcome, Verdict)> {
    incidents.iter().map(|incident| (incident.outcome, incident.verdict.id)).collect()
}

/// What a capture of the lab must be said to show, by its name.
fn expected(name: &str) -> &'static [(Outcome, Verdict)] {
    let is_behind_the_hole = name.contains(".vb.");
    if name.contains("hole-") && is_behind_the_hole {
        &[] // What came there was answered; then nothing came.
    } else if name.contains("-retry7-") {
        &[(Outcome::Stalled, Verdict::ForwardBlackHole)]
    } else if name.contains("hole-") {
        &[(Outcome::Unknown, Verdict::ForwardBlackHole)]
    } else if name.contains("err-badrkey-") || name.contains("err-oob-") {
        &[(Outcome::Died, Verdict::AccessError)]
    } else if name.contains("err-toolong-") {
        &[(Outcome::Died, Verdict::RemoteOperationError)]
    } else if name.contains("err-rnr-v4") {
        &[(Outcome::Unknown, Verdict::ReceiverNotReady)]
    } else {
        &[]
    }
}

fn captures_in(folder: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut captures: Vec<_> =
        paths.filter(|path| path.to_string_lossy().ends_with(".pcap.gz")).collect();
    captures.sort();
    captures
}

/// `ROCE_LAB=FOLDER` runs it over all captures of the lab, of which testdata has some.
#[test]
fn every_lab_capture_shows_its_failure_and_no_other() {
    let folder = std::env::var_os("ROCE_LAB").map_or_else(|| capture("lab"), PathBuf::from);
    let captures = captures_in(&folder);
    assert!(captures.len() > 50, "{folder:?}");
    for path in captures {
        let name = path.file_name().expect("a name").to_string_lossy();
        let incidents = with_log(&path, "", None);
        assert_eq!(said(&incidents), expected(&name), "{name}: {incidents:#?}");
    }
}

/// A mirror that loses one packet of ten makes no incident, and no other verdict of one.
#[test]
fn what_a_mirror_loses_is_no_incident() {
    let folders = ["lab", "scenarios"].map(|folder| captures_in(&capture(folder)));
    for path in folders.iter().flatten() {
        let open = || CaptureReader::open(path).unwrap_or_else(|error| panic!("{error}"));
        let whole = said(&beside(&reading(open()), "", &[]));
        let mut engine = Engine::new(10_000, MarkingPolicy::DEFAULT);
        let mut reader = open();
        let mut random: u32 = 1;
        while let Some(frame) = reader.next_frame().expect("a sound file") {
            // Numerical Recipes' generator: the upper bits are good enough.
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if !(random >> 16).is_multiple_of(10) {
                engine.frame(&frame);
            }
        }
        let thinned = said(&beside(&engine.finish(), "", &[]));
        let is_known = |said: &(Outcome, Verdict)| {
            whole.contains(said) || whole.len() == 1 && said.1 == Verdict::Unknown
        };
        assert!(thinned.iter().all(is_known), "{}: {whole:?} {thinned:?}", path.display());
    }
}

#[test]
fn other_captures_show_none() {
    for folder in ["derived", "lossless", "tcpdump"] {
        for entry in fs::read_dir(capture(folder)).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            if path.extension().is_some_and(|it| it == "pcap") && name != "rnr_exhausted.pcap" {
                assert_eq!(said(&with_log(&path, "", None)), [], "{name}");
            }
        }
    }
}

const A: &str = "10.0.0.1";
const B: &str = "10.0.0.2";

/// A scenario of the virtual lab at one tap, with the words of its application where it failed.
fn scenario(name: &str, tap: &str, on: Option<&str>, has_log: bool) -> Vec<Incident> {
    let file = capture(&format!("scenarios/{name}.{tap}.pcap.gz"));
    let log = if has_log {
        fs::read_to_string(capture(&format!("scenarios/{name}.log"))).expect("a log")
    } else {
        String::new()
    };
    with_log(&file, &log, on)
}

#[test]
fn packets_alone_tell_most_causes() {
    use Verdict::{
        AccessError, CongestionLoss, ForwardBlackHole, MismarkedLossyDrop, MtuBlackHole,
        PeerSilent, ReceiverNotReady, ReverseBlackHole,
    };
    for (name, tap, verdict) in [
        ("acks_lost", "vb", ReverseBlackHole),
        ("bad_rkey", "va", AccessError),
        ("congestion", "va", CongestionLoss),
        ("forward_hole", "va", ForwardBlackHole),
        ("large_lost", "va", MtuBlackHole),
        ("no_receives", "va", ReceiverNotReady),
        ("peer_killed", "va", PeerSilent),
        ("peer_killed", "vb", PeerSilent),
        ("wrong_dscp_lost", "va", MismarkedLossyDrop),
    ] {
        let outcome = if verdict == AccessError { Outcome::Died } else { Outcome::Unknown };
        let incidents = scenario(name, tap, None, false);
        assert_eq!(said(&incidents), [(outcome, verdict)], "{name} {tap}: {incidents:#?}");
        assert_eq!(incidents[0].sources, ["wire"], "{name}");
    }
    let stalled = scenario("retries_for_ever", "va", None, false);
    let [incident] = &stalled[..] else { panic!("{stalled:#?}") };
    assert_eq!(incident.outcome, Outcome::Stalled, "never called dead");
    let tries = incident.evidence.iter().find(|it| it.what.contains("sent again"));
    let tries = &tries.expect("the ladder").value;
    assert!(tries.contains("45 times in 7.0 s"), "count and age: {tries}");
}

#[test]
fn reordering_is_no_incident() {
    for tap in ["va", "vb"] {
        assert_eq!(said(&scenario("reordering", tap, None, true)), [], "{tap}");
    }
}

#[test]
fn the_log_and_the_packets_are_one_incident() {
    use Verdict::{
        AccessError, CongestionLoss, ForwardBlackHole, MismarkedLossyDrop, MtuBlackHole,
        PeerSilent, ReceiverNotReady, ReverseBlackHole,
    };
    for (name, tap, on, verdict) in [
        ("acks_lost", "vb", B, ReverseBlackHole),
        ("bad_rkey", "va", A, AccessError),
        ("congestion", "va", A, CongestionLoss),
        ("congestion", "vb", B, CongestionLoss),
        ("forward_hole", "va", A, ForwardBlackHole),
        ("forward_hole", "vb", B, ForwardBlackHole),
        ("large_lost", "va", A, MtuBlackHole),
        ("no_receives", "va", A, ReceiverNotReady),
        ("peer_killed", "va", A, PeerSilent),
        ("peer_killed", "vb", B, PeerSilent),
        ("wrong_dscp_lost", "va", A, MismarkedLossyDrop),
        ("wrong_dscp_lost", "vb", B, MismarkedLossyDrop),
    ] {
        let incidents = scenario(name, tap, Some(on), true);
        assert_eq!(said(&incidents), [(Outcome::Died, verdict)], "{name} {tap}: {incidents:#?}");
        let incident = &incidents[0];
        assert_eq!(incident.source, "log", "{name}");
        assert!(incident.status.is_some() && incident.time.is_some(), "{name}: {incident:#?}");
        let qps = (incident.local.qp, incident.peer.qp);
        assert!(matches!(qps, (Some(17..30), Some(67..80))), "{name}: the packets' QPs, {qps:?}");
    }
}

/// What the tap of the responder cannot say without a log, and says with one.
#[test]
fn behind_the_hole_only_the_log_knows() {
    assert_eq!(said(&scenario("forward_hole", "vb", Some(B), false)), []);
    let incidents = scenario("forward_hole", "vb", Some(B), true);
    assert!(incidents[0].verdict.text.contains("none of them reached"), "{incidents:#?}");
}

/// Lines L07: the first has the QP number, the second says why.
fn nccl(qp: Option<u32>, local: &str, peer: &str) -> String {
    let first = qp.map_or_else(String::new, |qp| {
        format!(
            "host-a:4242:4300 [0] transport/net_ib/p2p.cc:854 NCCL WARN NET/IB: Got CQE with error \
             (devIndex=0, req=0x7f0000001000, comm=0x7f0000002000 (send), wr_id=66, qp_num={qp})\n"
        )
    });
    format!(
        "{first}host-a:4242:4300 [0] transport/net_ib/p2p.cc:688 NCCL WARN NET/IB: Got completion from peer \
         192.0.2.12<52184> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_RDMA_WRITE(1) vendor_err=129  \
         localGid ::ffff:{local} remoteGids::ffff:{peer} hca mlx5_3\n"
    )
}

#[test]
fn a_line_finds_its_packets_by_qp_number() {
    // Two connections of the same hosts; QP 21 is one of those that are fine.
    let file = capture("lab/rc-write-4qp-v4.vb.pcap.gz");
    let report = read("lab/rc-write-4qp-v4.vb.pcap.gz");
    for pair in &report.pairs {
        let incidents = with_log(&file, &nccl(Some(pair.a.qp), A, B), None);
        let [incident] = &incidents[..] else { panic!("{incidents:#?}") };
        assert_eq!(incident.outcome, Outcome::Died);
        let ends = (incident.local.qp, incident.peer.ip, incident.peer.qp);
        assert_eq!(ends, (Some(pair.a.qp), Some(pair.b.ip), Some(pair.b.qp)), "{incident:#?}");
    }
    let unnamed = with_log(&file, &nccl(None, A, B), None);
    let evidence = format!("{:?}", unnamed[0].evidence);
    assert!(evidence.contains("4 connections fit"), "{evidence}");
    assert_eq!(unnamed[0].peer.qp, None, "none is picked by chance");
}

/// NCCL before 2.18 prints nothing but the address of its TCP connection.
#[test]
fn addresses_of_other_networks_are_passed_over() {
    let log = "host-a:4242:4300 [0] NCCL WARN NET/IB : Got completion from peer 192.0.2.12<60054> with error 12, \
               opcode 32552, len 32549, vendor err 129\n";
    let file = capture("lab/full-write-v4.vb.pcap.gz");
    let incidents = with_log(&file, log, None);
    let [incident] = &incidents[..] else { panic!("{incidents:#?}") };
    assert_eq!(incident.local.qp, None, "nothing ties it to the only connection: {incident:#?}");
    let numbered = nccl(Some(read("lab/full-write-v4.vb.pcap.gz").pairs[0].a.qp), A, B);
    let first = numbered.lines().next().expect("a line with the QP number");
    let incidents = with_log(&file, &format!("{first}\n{log}"), None);
    let [incident] = &incidents[..] else { panic!("{incidents:#?}") };
    assert_eq!(incident.peer.ip, B.parse().ok(), "{incident:#?}");
}

#[test]
fn a_line_finds_its_packets_by_address() {
    let file = capture("lab/hole-stream-v4.va.pcap.gz");
    for qp in [None, Some(0x13)] {
        let incidents = with_log(&file, &nccl(qp, A, B), Some(A));
        let [incident] = &incidents[..] else { panic!("{incidents:#?}") };
        assert_eq!(incident.sources, ["log", "wire"], "{incident:#?}");
        assert_eq!(incident.verdict.id, Verdict::ForwardBlackHole);
        assert_eq!((incident.local.qp, incident.peer.qp), (Some(0x13), Some(0x13)));
        assert!(incident.time.is_some(), "the line has none, the packets have");
    }
}

/// The port had been down a minute before, the other host died of the same, work was flushed: one incident.
#[test]
fn lines_of_both_hosts_and_events_before_are_one() {
    const NCCL: &str = "transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer";
    let log = format!(
        "2026-11-29T13:17:00Z host-a:4242:4300 [0] NCCL WARN NET/IB : mlx5_0:1 Got non-fatal async event: port \
         error(10)
2026-11-29T13:18:20Z host-a:4242:4300 [0] {NCCL} {B}<52184> with error 12, opcode 0, len 0, vendor err 129 \
         (Recv) localGid ::ffff:{A} remoteGid ::ffff:{B}
2026-11-29T13:18:21Z host-a:4242:4300 [0] {NCCL} {B}<52184> with error 5, opcode 0, len 0, vendor err 249 \
         (Recv) localGid ::ffff:{A} remoteGid ::ffff:{B}
2026-11-29T13:18:22Z host-b:99:99 [0] {NCCL} {A}<52184> with error 12, opcode 0, len 0, vendor err 129 (Send) \
         localGid ::ffff:{B} remoteGid ::ffff:{A}
"
    );
    let incidents = with_log(&capture("lab/hole-stream-v4.va.pcap.gz"), &log, None);
    let [incident] = &incidents[..] else { panic!("{incidents:#?}") };
    assert_eq!((&*incident.source, incident.secondaries), ("log", 3), "{incident:#?}");
    assert!(incident.timeline[0].what.starts_with("port error"), "{incident:#?}");
    // The connection came up after that, and was answered.
    assert_eq!(incident.verdict.id, Verdict::ForwardBlackHole);
    assert!(incident.ruled_out.contains(&Verdict::LinkFlap));
}

#[test]
fn a_line_of_other_hosts_has_no_packets_here() {
    let file = capture("lab/full-write-v4.va.pcap.gz");
    for log in [nccl(Some(0x999), "10.9.0.1", "10.9.0.2"), nccl(None, "10.9.0.1", "10.9.0.2")] {
        let incidents = with_log(&file, &log, None);
        let [incident] = &incidents[..] else { panic!("{incidents:#?}") };
        assert_eq!((incident.outcome, &*incident.source), (Outcome::Died, "log"));
        assert!(!incident.verdict.text.contains("answers"), "{incident:#?}");
    }
}

#[test]
fn a_line_of_another_day_is_not_about_these_packets() {
    let file = capture("lab/hole-stream-v4.va.pcap.gz");
    let report = read("lab/hole-stream-v4.va.pcap.gz");
    let day =
        |text: &str| format!("{text} {}", nccl(Some(0x13), A, B).lines().next().expect("one"));
    let last = report.input.last_time.expect("a time").to_string();
    let same = with_log(&file, &day(&last), None);
    assert_eq!(same.len(), 1, "{same:#?}");
    let other = with_log(&file, &day("2026-11-20T10:00:00Z"), None);
    assert_eq!(said(&other).len(), 2, "{other:#?}");
    assert!(format!("{other:?}").contains("not of the time of the file"));
}

#[test]
fn storms_of_rnr_naks_are_the_receivers() {
    let incidents = with_log(&capture("derived/rnr_exhausted.pcap"), "", None);
    assert_eq!(said(&incidents), [(Outcome::Unknown, Verdict::ReceiverNotReady)]);
    let incident = &incidents[0];
    assert!(incident.verdict.text.contains("not fabric"), "{incident:#?}");
    let lossy = [Verdict::ForwardBlackHole, Verdict::CongestionLoss, Verdict::DropWithoutPause];
    assert!(lossy.iter().all(|verdict| incident.ruled_out.contains(verdict)), "{incident:#?}");
    // NFS over RDMA says it with status 13.
    let log = "host-a:1:1 [0] NCCL WARN NET/IB : Got completion from peer 10.0.0.2<52184> with error 13, \
               opcode 0, len 0, vendor err 135\n";
    let incidents = with_log(&capture("derived/rnr_exhausted.pcap"), log, None);
    assert_eq!(said(&incidents), [(Outcome::Died, Verdict::ReceiverNotReady)], "{incidents:#?}");
}

#[test]
fn a_wrong_icrc_is_no_retry_verdict() {
    let log = "[ 4929.694628] rdma_rxe: bad ICRC from 10.0.0.2\n";
    let incidents = with_log(&capture("lab/full-write-v4.va.pcap.gz"), log, None);
    for incident in &incidents {
        assert_eq!(incident.verdict.id, Verdict::Unknown, "{incident:#?}");
    }
}

#[test]
fn a_capture_that_ends_in_the_middle_is_no_incident() {
    let mut scenario = go_back_n(&Connection::ipv4(1), 20, LossAt::AfterTap);
    for left in (0..scenario.frames.len()).rev().step_by(3) {
        scenario.frames.truncate(left.max(1));
        let reading = reading(open_bytes(scenario.to_pcap(Format::default()).expect("memory")));
        let found = beside(&reading, "", &[]);
        assert!(found.is_empty(), "{left} frames: {found:#?}");
    }
}

/// Where READ responses are lost behind the tap, the requester asks again for what the tap saw answered.
#[test]
fn reads_that_are_answered_in_vain() {
    let mut scenario = reads(&Connection::ipv4(1), 5, 4);
    let is_request = |frame: &Frame| frame.bytes[42] == 12; // RC READ request
    let last = scenario.frames.iter().rposition(is_request).expect("a READ");
    let again = scenario.frames[last..].to_vec();
    for turn in 1..=4 {
        let late = again.iter().cloned().map(|mut frame| {
            frame.nanos += turn * 500_000_000;
            frame
        });
        scenario.frames.extend(late);
    }
    let file = scenario.to_pcap(Format::default()).expect("memory");
    let incidents = beside(&reading(open_bytes(file)), "", &[]);
    assert_eq!(said(&incidents), [(Outcome::Unknown, Verdict::ReverseBlackHole)], "{incidents:#?}");
}

/// A mirror of one direction never shows an answer: silence of the responder cannot be told then.
#[test]
fn who_sees_one_direction_alone_claims_no_silence() {
    for name in ["err-rnr-recover-v4.va", "hole-stream-v4.va", "ackloss5-write-v4.vb"] {
        let mut reader = CaptureReader::open(&capture(&format!("lab/{name}.pcap.gz"))).expect(name);
        let mut engine = Engine::new(10_000, MarkingPolicy::DEFAULT);
        while let Some(frame) = reader.next_frame().expect("a sound file") {
            let is_from_a = frame.data[26..30] == [10, 0, 0, 1];
            if is_from_a {
                engine.frame(&frame);
            }
        }
        let reading = engine.finish();
        assert_eq!(said(&beside(&reading, "", &[])), [], "{name}");
        let incidents = beside(&reading, &nccl(None, A, B), &[]);
        let evidence = format!("{:?}", incidents[0].evidence);
        assert!(evidence.contains("anything from 10.0.0.2 to 10.0.0.1"), "{name}: {evidence}");
        assert_ne!(incidents[0].verdict.id, Verdict::NeverConnected, "{name}");
    }
}

#[test]
fn each_queue_pair_has_an_incident_of_its_own() {
    let mut engine = Engine::new(10_000, MarkingPolicy::DEFAULT);
    for name in ["lab/hole-read-v4.va.pcap.gz", "lab/hole-stream-v4.va.pcap.gz"] {
        let mut reader = CaptureReader::open(&capture(name)).expect("a capture");
        while let Some(frame) = reader.next_frame().expect("a sound file") {
            engine.frame(&frame);
        }
    }
    let reading = engine.finish();
    let found = beside(&reading, "", &[]);
    let qps: Vec<_> = found.iter().map(|incident| incident.local.qp).collect();
    assert_eq!(qps, [Some(0x12), Some(0x13)], "{found:#?}");
}

#[test]
fn facts_of_the_hosts_are_heard() {
    let file = capture("lab/hole-stream-v4.va.pcap.gz");
    let reading = reading(CaptureReader::open(&file).expect("a capture"));
    let facts: HostFacts = serde_json::from_str(
        r#"{"responder": {"link_downs": 1, "last_link_down": "2026-11-29T13:18:17.300000000Z"}}"#,
    )
    .expect("facts");
    let tap = Tap { name: "test", hosts: &[] };
    let found = IncidentFinder::new(&reading, tap, facts).finish().found;
    assert_eq!(said(&found), [(Outcome::Unknown, Verdict::LinkFlap)], "{found:#?}");
}

#[test]
fn incidents_are_filtered_like_flows() {
    let file = capture("lab/err-badrkey-write-v4.va.pcap.gz");
    let count = |filter: FlowFilter| {
        let mut reader = CaptureReader::open(&file).expect("a capture");
        let mut engine = Engine::new(100, MarkingPolicy::DEFAULT);
        while let Some(frame) = reader.next_frame().expect("a sound file") {
            engine.frame(&frame);
        }
        let info = reader.info();
        let source = Source { file: &file, info, capture_dropped: None, error: None };
        ReadReport::of(&engine.finish(), &source, &filter).incidents.len()
    };
    let qp = |qp| FlowFilter { qp: Some(qp), peer: None };
    let peer = |ip: &str| FlowFilter { qp: None, peer: ip.parse().ok() };
    assert_eq!([qp(0x18), qp(0x19), peer(B), peer("10.9.9.9")].map(count), [1, 0, 1, 0]);
}
