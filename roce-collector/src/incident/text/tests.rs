//! What people see.

use super::*;
use crate::diagnosis::Verdict;
use crate::incident::{
    LocalReport, PeerReport, StatusReport, TimelineEntry, VendorReport, VerdictReport,
};

fn at(millis: u64) -> Timestamp {
    Timestamp::from_nanos(1_795_953_600_000_000_000 + millis * 1_000_000)
}

fn incident() -> Incident {
    let entry = |millis, what: &str| TimelineEntry { t: Some(at(millis)), what: what.to_owned() };
    Incident {
        id: "20261129120000-qp0x45-1".to_owned(),
        revision: 0,
        time: Some(at(90_000)),
        device: Some("mlx5_3".to_owned()),
        source: "log".to_owned(),
        sources: vec!["log".to_owned(), "netlink".to_owned()],
        outcome: Outcome::Died,
        status: Some(StatusReport { code: 10, name: "REM_ACCESS_ERR".to_owned() }),
        vendor_err: Some(VendorReport {
            value: 0x88,
            hex: "0x88".to_owned(),
            producer: "nccl".to_owned(),
        }),
        local: LocalReport {
            ip: "10.0.0.11".parse().ok(),
            qp: Some(0x45),
            pid: Some(4242),
            comm: Some("train\u{1b}[2J".to_owned()),
            pod: None,
        },
        peer: PeerReport { ip: "10.0.0.12".parse().ok(), qp: None },
        verdict: VerdictReport {
            id: Verdict::AccessError,
            confidence: 0.95,
            text: "The peer refused access to its memory: wrong key, address out of range, or missing permission. \
                   The request arrived and was answered: not the network."
                .to_owned(),
        },
        evidence: vec![
            Evidence::new("status", "IBV_WC_REM_ACCESS_ERR (10)"),
            Evidence::new("NAK remote access error", 1),
        ],
        ruled_out: vec![Verdict::ForwardBlackHole, Verdict::PeerSilent],
        next_steps: vec!["check the memory region of the peer: ".repeat(5)],
        timeline: vec![
            entry(0, "port error, nccl in job:1: mlx5_0:1 Got non-fatal async event: port error(10)"),
            entry(90_250, &"x".repeat(250)),
            TimelineEntry { t: None, what: "something without a time".to_owned() },
        ],
        secondaries: 2,
        recording: Some("/var/lib/roce/20261129120000-qp0x45-1.pcapng".to_owned()),
    }
}

fn shown(incident: &Incident, colours: Colours) -> String {
    let mut text = Vec::new();
    write_incident(&mut text, incident, colours).expect("memory");
    String::from_utf8(text).expect("text")
}

#[test]
fn everything_in_a_terminal() {
    let text = shown(&incident(), Colours::Off);
    let expected = "\
DIED access_error 95%: 10.0.0.11 QP 0x45 -> 10.0.0.12 QP ?
  IBV_WC_REM_ACCESS_ERR (10), vendor code 0x88 (136), at 2026-11-29T12:01:30.000000000Z, on mlx5_3,
  process 4242 (train\\u{1b}[2J), told by log, netlink, 2 secondary
  The peer refused access to its memory: wrong key, address out of range, or missing permission. The
  request arrived and was answered: not the network.
  EVIDENCE
    status                   IBV_WC_REM_ACCESS_ERR (10)
    NAK remote access error  1
  TIME LINE
  -90.000000  port error, nccl in job:1: mlx5_0:1 Got non-fatal async event: port error(10)
";
    assert!(text.starts_with(expected), "{text}");
    for line in text.lines() {
        assert!(line.chars().count() <= WIDTH && line.trim_end() == line, "{line}");
    }
    assert!(text.contains("\n              something without a time\n"), "{text}");
    assert!(text.contains("\n  RULED OUT forward_black_hole, peer_silent\n"), "{text}");
    assert!(text.contains("\n    1. check the memory region"), "{text}");
    assert!(text.contains("\n  PACKETS /var/lib/roce/"), "{text}");
    assert!(!text.contains('\x1b'), "no colours, and none of a process");
    assert!(shown(&incident(), Colours::On).starts_with("\x1b[31mDIED\x1b[0m access_error"));
}

#[test]
fn what_is_not_known_is_not_shown() {
    let nothing = Incident {
        time: None,
        device: None,
        status: None,
        vendor_err: None,
        local: LocalReport::default(),
        peer: PeerReport::default(),
        verdict: VerdictReport { id: Verdict::Unknown, confidence: 0.0, text: "?".to_owned() },
        evidence: Vec::new(),
        ruled_out: Vec::new(),
        next_steps: Vec::new(),
        timeline: Vec::new(),
        secondaries: 0,
        recording: None,
        outcome: Outcome::Stalled,
        ..incident()
    };
    let text = shown(&nothing, Colours::Off);
    assert_eq!(text, "STALLED unknown: ? QP ? -> ? QP ?\n  told by log, netlink\n  ?\n\n");
}
