//! The network is never blamed for what a peer refused or the own host forbade, whatever packets show.

use std::time::Duration;

use roce_collector::diagnosis::{
    HostFacts, Ladder, Payload, Place, Requests, Sight, TapSight, Verdict,
};
use roce_collector::flow::SequenceReport;

use super::{Entry, at, blames_network, code, entries, groups, incident, logged};

/// A tap that saw losses, repeats without an answer, wrong marking and marks of congestion.
fn everything_wrong() -> Sight {
    let ladder = Ladder {
        psn: 7,
        tries: 7,
        first_try: Some(at(-1.0)),
        age: Some(Duration::from_secs(1)),
        longest_silence: Duration::from_millis(500),
        was_answered: false,
    };
    let sequence = SequenceReport { lost: 50, retransmitted: 50, ..SequenceReport::default() };
    let requests = Requests {
        packets: 1000,
        last_seen: Some(at(0.0)),
        sequence: Some(sequence),
        ladder: Some(ladder),
        rewinds_after_ack: 7,
        ecn: [500, 0, 0, 500],
        wrong_dscp: 1000,
        cnps: 100,
        payload: Some(Payload { passed: 256, repeated: 4096 }),
        ..Requests::default()
    };
    let tap = |place| TapSight {
        tap: "eth0".to_owned(),
        place,
        requests: Some(requests.clone()),
        ..TapSight::default()
    };
    Sight::Seen(vec![tap(Place::AtRequester), tap(Place::AtResponder)])
}

/// Hosts that count pauses, drops, and links that went down.
fn bad_counters() -> HostFacts {
    let json = r#"{"rx_pause_frames": 100000, "rx_pause_ratio": 0.9, "tx_pause_ratio": 0.9, "rx_discards": 1000,
        "link_downs": 3, "gid_changes": 2, "has_gid": false, "mtu": 1500, "active_mtu": 4096}"#;
    HostFacts {
        requester: serde_json::from_str(json).expect("facts"),
        responder: serde_json::from_str(json).expect("facts"),
    }
}

#[test]
fn not_for_any_status_but_silence() {
    let mut checked = 0;
    for Entry { id, lines, .. } in entries() {
        for group in groups(logged("job.log", &lines.join("\n"), Some(0.0))) {
            let incident = incident(&group, everything_wrong(), bad_counters());
            let verdict = incident.verdict.id;
            match code(&incident) {
                // The same packets and counters do blame it for a status that the network may bring forth.
                Some(12) => assert!(blames_network(verdict), "{id}: {verdict:?}"),
                Some(5) => assert_eq!(verdict, Verdict::FlushSecondary, "{id}"),
                Some(_) => {
                    checked += 1;
                    assert!(!blames_network(verdict), "{id}: {verdict:?}");
                }
                None => {}
            }
        }
    }
    assert!(checked >= 10, "{checked}");
}

#[test]
fn not_for_any_status_of_the_own_host() {
    for status in [1, 2, 4, 6, 7, 8, 9, 10, 11, 13, 15, 16, 21] {
        let line = format!(
            "h:1:2 [0] NCCL WARN NET/IB : Got completion from peer 10.0.0.12<52184> with error {status}, \
             opcode 0, len 0, vendor err 81"
        );
        let group = groups(logged("job.log", &line, Some(0.0))).remove(0);
        let incident = incident(&group, everything_wrong(), bad_counters());
        assert_eq!(code(&incident), Some(status));
        assert!(!blames_network(incident.verdict.id), "{status}: {:?}", incident.verdict);
        if matches!(status, 4 | 6 | 8) {
            assert_eq!(incident.verdict.id, Verdict::ProtectionError, "{status}");
        }
    }
}
