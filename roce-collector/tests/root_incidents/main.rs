//! The real daemon, real traffic of queue pairs that die, and what the daemon says of them. Needs root and
//! BPF: fails without.

#![expect(clippy::unwrap_used, reason = "a test fails by it")]

mod lab;

use std::fs;
use std::thread;
use std::time::Duration;

use lab::{Lab, capture, incidents, scenario};
use roce_collector::diagnosis::{Outcome, Verdict};

/// The lines of a program whose write failed, as perftest prints them.
const PERFTEST: &str =
    " Completion with error at client\n Failed status 12: wr_id 0 syndrom 0x81\n";

#[test]
fn root_a_refused_write_is_an_access_error_and_no_fault_of_the_network() {
    let lab = Lab::new();
    let daemon = lab.start(&[]);
    lab.replay(&capture("err-badrkey-write-v4.va"));
    let incident = Lab::incident(&daemon);
    assert_eq!(incident.verdict.id, Verdict::AccessError, "{incident:#?}");
    assert_eq!((incident.outcome, &*incident.source), (Outcome::Died, "wire"));
    assert_eq!(incident.local.ip, Some("10.0.0.1".parse().unwrap()));
    assert!(incident.ruled_out.contains(&Verdict::ForwardBlackHole));
    assert!(incident.timeline.iter().any(|entry| entry.what.contains("NAK remote access error")));
}

#[test]
fn root_a_log_line_and_packets_are_one_incident() {
    let lab = Lab::new();
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("job.log");
    fs::write(&log, "").unwrap();
    let daemon = lab.start(&["--log-source", log.to_str().unwrap()]);
    lab.replay(&capture("hole-stream-v4.va"));
    fs::write(&log, PERFTEST).unwrap();
    // Packets tell first; the application's line makes it certain.
    let incident = Lab::incident_when(&daemon, |incident| incident.outcome == Outcome::Died);
    assert_eq!(incident.verdict.id, Verdict::ForwardBlackHole, "{incident:#?}");
    let status = incident.status.as_ref().map(|status| (status.code, &*status.name));
    assert_eq!(status, Some((12, "RETRY_EXC_ERR")));
    assert!(["log", "wire"].iter().all(|source| incident.sources.iter().any(|it| it == source)));
    assert!(incident.peer.qp.is_some() && incident.peer.ip.is_some(), "packets say who");

    // The warning came first, and the log has the incident as JSON.
    let output = daemon.output();
    let warned = output.find("retry ladder").expect("a warning");
    let told = output.find(&incident.id).expect("the incident in the log");
    assert!(warned < told);
    thread::sleep(Duration::from_secs(3));
    assert_eq!(incidents(&daemon).len(), 1, "nothing is told twice");
    let metrics = daemon.get("/metrics").unwrap().ok().unwrap();
    let errors = metrics.lines().find(|line| line.starts_with("roce_qp_errors_total{")).unwrap();
    assert!(errors.contains("cause=\"forward_black_hole\"") && errors.ends_with(" 1"), "{errors}");
}

#[test]
fn root_a_receiver_without_receives_is_named() {
    let lab = Lab::new();
    let daemon = lab.start(&[]);
    lab.replay(&capture("err-rnr-v4.va"));
    let incident = Lab::incident(&daemon);
    assert_eq!(incident.verdict.id, Verdict::ReceiverNotReady, "{incident:#?}");
}

#[test]
fn root_retries_for_ever_are_a_stall() {
    let lab = Lab::new();
    let daemon = lab.start(&[]);
    lab.replay(&capture("hole-send-retry7-v6.va"));
    let incident = Lab::incident(&daemon);
    assert_eq!(incident.outcome, Outcome::Stalled, "{incident:#?}");
    assert!(incident.evidence.iter().any(|evidence| evidence.value.contains("time")), "count");
}

/// What a tap sees of queue pairs that die in known ways, without the words of an application.
#[test]
fn root_a_mirror_tells_why_queue_pairs_die() {
    let captures = [
        ("acks_lost.vb", Verdict::ReverseBlackHole),
        ("peer_killed.vb", Verdict::PeerSilent),
        ("large_lost.va", Verdict::MtuBlackHole),
        ("wrong_dscp_lost.va", Verdict::MismarkedLossyDrop),
        ("bad_rkey.va", Verdict::AccessError),
        ("no_receives.va", Verdict::ReceiverNotReady),
    ];
    thread::scope(|scope| {
        for (name, expected) in captures {
            scope.spawn(move || {
                let lab = Lab::new();
                let daemon = lab.start(&[]);
                lab.replay(&scenario(name));
                let incident = Lab::incident(&daemon);
                assert_eq!(incident.verdict.id, expected, "{name}: {incident:#?}");
                assert!(incident.local.ip.is_some() && incident.peer.ip.is_some(), "{name}");
            });
        }
    });
}

/// Losses that are made good, reordering, copies and congestion are no incidents.
#[test]
fn root_traffic_that_goes_on_is_no_incident() {
    let captures = [
        "loss1-write-v4.va",
        "loss1-write-v4.vb",
        "loss1-read-resp-v4.va",
        "ackloss5-write-v4.vb",
        "dup5-ack-v4.va",
        "ecn-ce10pct-nft-v4.vb",
        "err-rnr-recover-v4.va",
        "rc-write-4qp-v4.vb",
    ];
    thread::scope(|scope| {
        for name in captures {
            scope.spawn(move || {
                let lab = Lab::new();
                let daemon = lab.start(&[]);
                lab.replay(&capture(name));
                thread::sleep(Duration::from_secs(8));
                let told = incidents(&daemon);
                assert!(told.is_empty(), "{name}: {told:#?}");
            });
        }
    });
}
