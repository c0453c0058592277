//! What must hold for any case, also for one that no network brings forth.

use std::time::Duration;

use proptest::option::of;
use proptest::prelude::*;

use super::super::diagnose;
use crate::capture::Timestamp;
use crate::diagnosis::reading::blames_network;
use crate::diagnosis::{
    Answers, Case, Failure, HostFacts, Ladder, Neighbours, Outcome, Payload, PeerQp, Place,
    Requests, SideFacts, Sight, TapSight, Traffic, Verdict,
};
use crate::explain::{Cause, WcStatus};
use crate::flow::{NakReport, SequenceReport};

/// Small numbers mostly, and the largest.
fn count() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0..6_u64, 2 => 0..5000_u64, 1 => any::<u64>()]
}

fn small() -> impl Strategy<Value = u32> {
    prop_oneof![6 => 0..9_u32, 1 => any::<u32>()]
}

fn time() -> impl Strategy<Value = Option<Timestamp>> {
    let near = (0..300_u64).prop_map(|seconds| Timestamp::from_nanos(seconds * 1_000_000_000));
    of(prop_oneof![8 => near, 1 => any::<u64>().prop_map(Timestamp::from_nanos)])
}

fn ladder() -> impl Strategy<Value = Ladder> {
    (small(), small(), time(), any::<bool>()).prop_map(|(psn, tries, first_try, was_answered)| {
        Ladder {
            psn,
            tries,
            first_try,
            age: first_try.map(|time| Duration::from_nanos(time.as_nanos())),
            longest_silence: Duration::from_millis(tries.into()),
            was_answered,
        }
    })
}

fn sequence() -> impl Strategy<Value = SequenceReport> {
    (0..9_u64, 0..9_u64, 0..9_u64, 0..9_u64).prop_map(
        |(lost, reordered, go_back_n_episodes, timeouts)| SequenceReport {
            lost,
            reordered,
            go_back_n_episodes,
            timeouts,
            ..SequenceReport::default()
        },
    )
}

fn requests() -> impl Strategy<Value = Requests> {
    let payload = (small(), small()).prop_map(|(passed, repeated)| Payload { passed, repeated });
    (
        (count(), time(), of(sequence()), of(ladder()), small(), of(payload)),
        (
            [count(), count(), count(), count()],
            count(),
            count(),
            time(),
            any::<bool>(),
            any::<bool>(),
        ),
    )
        .prop_map(|(what, marks)| {
            let (packets, last_seen, sequence, ladder, rewinds_after_ack, payload) = what;
            let (ecn, wrong_dscp, cnps, last_congestion, was_disconnected, is_from_start) = marks;
            Requests {
                packets,
                last_seen,
                sequence,
                ladder,
                rewinds_after_ack,
                payload,
                ecn,
                wrong_dscp,
                cnps,
                last_congestion,
                was_disconnected,
                is_from_start,
                dscp: [(26, packets), (0, wrong_dscp)].into(),
            }
        })
}

fn naks() -> impl Strategy<Value = NakReport> {
    let code = || prop_oneof![9 => Just(0_u64), 1 => 1..9_u64];
    (0..9_u64, code(), code(), code(), code(), code()).prop_map(
        |(sequence, invalid, access, operation, rd, unknown)| NakReport {
            psn_sequence_error: sequence,
            invalid_request: invalid,
            remote_access_error: access,
            remote_operational_error: operation,
            invalid_rd_request: rd,
            unknown,
        },
    )
}

fn answers() -> impl Strategy<Value = Answers> {
    (count(), time(), of(naks()), of(count()), count(), of(count())).prop_map(
        |(packets, last_seen, naks, rnr_naks, rnr_in_a_row, since_ladder)| Answers {
            packets,
            last_seen,
            naks,
            rnr_naks,
            rnr_in_a_row,
            rnr_timer_ms: Some(0.64),
            since_ladder,
        },
    )
}

fn tap() -> impl Strategy<Value = TapSight> {
    let place =
        prop_oneof![Just(Place::AtRequester), Just(Place::OnTheWay), Just(Place::AtResponder)];
    let rejected = prop_oneof![9 => Just(None), 1 => any::<u16>().prop_map(Some)];
    (place, of(requests()), of(answers()), rejected).prop_map(
        |(place, requests, answers, rejected)| TapSight {
            tap: "tap".to_owned(),
            place,
            requests,
            answers,
            rejected,
        },
    )
}

fn sight() -> impl Strategy<Value = Sight> {
    prop_oneof![
        1 => Just(Sight::NotLooked),
        1 => Just(Sight::NotFound),
        1 => Just(Sight::Blind("offloaded".to_owned())),
        9 => prop::collection::vec(tap(), 0..4).prop_map(Sight::Seen),
    ]
}

fn side() -> impl Strategy<Value = SideFacts> {
    let ratio = || of(prop_oneof![Just(0.0), Just(0.5), Just(f64::NAN), 0.0..2.0]);
    (
        (of(0..3_u64), of(0..3_u64), ratio(), ratio(), of(any::<bool>()), of(0..3_u64)),
        (of(0..3_u64), of(0..3_u64), of(0..3_u64), time(), of(0..3_u64), of(any::<bool>())),
        (of(small()), of(small()), of(any::<bool>())),
    )
        .prop_map(|(pause, events, mtu)| SideFacts {
            rx_pause_frames: pause.0,
            tx_pause_frames: pause.1,
            rx_pause_ratio: pause.2,
            tx_pause_ratio: pause.3,
            has_pfc: pause.4,
            rx_discards: pause.5,
            out_of_buffer: events.0,
            duplicate_requests: events.1,
            link_downs: events.2,
            last_link_down: events.3,
            gid_changes: events.4,
            has_gid: events.5,
            mtu: mtu.0,
            active_mtu: mtu.1,
            is_process_alive: mtu.2,
            ..SideFacts::default()
        })
}

fn neighbours() -> impl Strategy<Value = Neighbours> {
    let traffic = || {
        (count(), count(), count()).prop_map(|(packets, lost, retransmitted)| Traffic {
            packets,
            lost,
            retransmitted,
        })
    };
    let peer_qp = prop_oneof![
        6 => Just(PeerQp::NotKnown),
        1 => Just(PeerQp::Alive),
        1 => Just(PeerQp::Failed),
        1 => Just(PeerQp::Gone),
    ];
    (small(), small(), small(), traffic(), traffic(), peer_qp).prop_map(
        |(to_peer, answered, unanswered, rightly_marked, wrongly_marked, peer_qp)| Neighbours {
            to_peer,
            answered,
            unanswered,
            rightly_marked,
            wrongly_marked,
            peer_qp,
        },
    )
}

fn failure() -> impl Strategy<Value = Failure> {
    let status = prop_oneof![
        2 => Just(None),
        2 => Just(Some(WcStatus::RETRY_EXC)),
        4 => (1..22_u64).prop_map(WcStatus::new),
    ];
    let cause =
        prop_oneof![Just(Cause::LinkFlap), Just(Cause::GidChange), Just(Cause::FlushSecondary)];
    let blamed = prop::collection::vec((cause, time()), 0..3);
    (time(), status, blamed, any::<bool>(), of(0..3_u64)).prop_map(
        |(time, status, blamed, is_flush_only, completed)| Failure {
            time,
            outcome: Outcome::Died,
            status,
            blamed,
            is_flush_only,
            completed,
            ..Failure::default()
        },
    )
}

fn case() -> impl Strategy<Value = Case> {
    let facts = prop_oneof![
        3 => Just(HostFacts::default()),
        1 => (side(), side()).prop_map(|(requester, responder)| HostFacts { requester, responder }),
    ];
    (failure(), sight(), neighbours(), facts).prop_map(|(failure, sight, neighbours, facts)| Case {
        failure,
        sight,
        neighbours,
        facts,
    })
}

/// Statuses with which a device says that the request was refused, or that a buffer of its own was.
const NOT_THE_NETWORK: [WcStatus; 11] = [
    WcStatus::LOC_LEN,
    WcStatus::LOC_QP_OP,
    WcStatus::LOC_PROT,
    WcStatus::MW_BIND,
    WcStatus::BAD_RESP,
    WcStatus::LOC_ACCESS,
    WcStatus::REM_INV_REQ,
    WcStatus::REM_ACCESS,
    WcStatus::REM_OP,
    WcStatus::REM_ABORT,
    WcStatus::RNR_RETRY_EXC,
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn any_case_has_one_sound_answer(case in case()) {
        let diagnosis = diagnose(&case);
        let confidence = diagnosis.finding.confidence;
        prop_assert!((0.0..=0.99).contains(&confidence), "{confidence}");
        prop_assert_eq!(confidence > 0.0, diagnosis.verdict != Verdict::Unknown);
        prop_assert!(!diagnosis.ruled_out.contains(&diagnosis.verdict));
        prop_assert!(!diagnosis.finding.text.is_empty());
        prop_assert!(diagnosis.finding.evidence.iter().all(|fact| !fact.value.is_empty()));
    }

    #[test]
    fn what_was_refused_is_not_the_networks_fault(case in case()) {
        let naks = case.sight.answers().filter_map(|answers| answers.naks);
        let is_refused = naks.into_iter().any(|naks| naks.total() > naks.psn_sequence_error);
        let is_told = case.failure.status.is_some_and(|status| NOT_THE_NETWORK.contains(&status));
        if is_refused || is_told {
            let verdict = diagnose(&case).verdict;
            prop_assert!(!blames_network(verdict), "{verdict:?}");
        }
    }

    #[test]
    fn a_flush_alone_blames_neither_path_nor_peer(mut case in case()) {
        case.failure.status = Some(WcStatus::WR_FLUSH);
        let verdict = diagnose(&case).verdict;
        prop_assert!(!blames_network(verdict), "{verdict:?}");
    }

    #[test]
    fn three_places_never_contradict_each_other(case in case()) {
        let places = [Verdict::ForwardBlackHole, Verdict::ReverseBlackHole, Verdict::PeerSilent];
        let diagnosis = diagnose(&case);
        if places.contains(&diagnosis.verdict) && diagnosis.finding.confidence >= 0.8 {
            let others = places.iter().filter(|place| **place != diagnosis.verdict);
            for other in others {
                prop_assert!(diagnosis.ruled_out.contains(other), "{other:?}");
            }
        }
    }
}
