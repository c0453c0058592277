//! Composed cases: exactly one verdict, in the documented order.

use super::super::{RULES, diagnose};
use crate::diagnosis::testing::{
    answered_before, answered_since, asking, at, is_sure, losing, repeating, retries_exceeded,
    seen, tap, told,
};
use crate::diagnosis::{
    Answers, Case, Opinion, Payload, PeerQp, Place, Requests, Sight, Traffic, Verdict,
};
use crate::explain::{Cause, WcStatus};
use crate::flow::{NakReport, SequenceReport};

type Change = fn(&mut Case);

/// Applies changes to a case.
fn with(mut case: Case, change: impl FnOnce(&mut Case)) -> Case {
    change(&mut case);
    case
}

/// Requests leave, and do not arrive.
fn hole() -> Case {
    let near = tap(Place::AtRequester, asking(3), answered_before());
    let far = tap(Place::AtResponder, asking(0), answered_before());
    seen(vec![near, far])
}

/// The hole in a fabric with everything else wrong, too.
fn everything() -> Case {
    let requests = Requests {
        payload: Some(Payload { passed: 64, repeated: 1024 }),
        ecn: [0, 0, 400, 98],
        cnps: 5,
        last_congestion: Some(at(99)),
        wrong_dscp: 498,
        ..losing(9, asking(3))
    };
    let near = tap(Place::AtRequester, requests, answered_before());
    let far = tap(Place::AtResponder, asking(0), answered_before());
    with(seen(vec![near, far]), |case| {
        case.failure.blamed =
            vec![(Cause::LinkFlap, Some(at(99))), (Cause::GidChange, Some(at(99)))];
        case.facts.requester.rx_pause_ratio = Some(0.9);
        case.facts.responder.rx_discards = Some(5);
        case.neighbours.rightly_marked = Traffic { packets: 1000, ..Traffic::default() };
    })
}

fn with_naks(case: Case, naks: NakReport) -> Case {
    with(case, |case| {
        if let Sight::Seen(taps) = &mut case.sight {
            for answers in taps.iter_mut().filter_map(|tap| tap.answers.as_mut()) {
                answers.naks = Some(naks);
            }
        }
    })
}

/// What each rule says by itself.
fn fitting(case: &Case) -> Vec<Verdict> {
    RULES
        .iter()
        .filter(|(_, judge)| matches!(judge(case), Opinion::Fits(_)))
        .map(|(verdict, _)| *verdict)
        .collect()
}

/// Takes away what decides, one after the other: the next one in the order must win.
#[test]
fn the_first_that_fits_decides() {
    let mut case = with_naks(
        everything(),
        NakReport { remote_access_error: 1, remote_operational_error: 1, ..NakReport::default() },
    );
    case.failure.status = Some(WcStatus::LOC_PROT);
    let mut seen = Vec::new();
    let steps: [(Verdict, Change); 11] = [
        (Verdict::AccessError, |case| {
            *case =
                with_naks(case.clone(), NakReport { invalid_request: 1, ..NakReport::default() });
        }),
        (Verdict::RemoteOperationError, |case| {
            *case = with_naks(case.clone(), NakReport::default());
        }),
        (Verdict::ProtectionError, |case| case.failure.status = Some(WcStatus::RNR_RETRY_EXC)),
        (Verdict::ReceiverNotReady, |case| case.failure.status = Some(WcStatus::WR_FLUSH)),
        (Verdict::FlushSecondary, |case| case.failure.status = Some(WcStatus::RETRY_EXC)),
        (Verdict::LinkFlap, |case| _ = case.failure.blamed.remove(0)),
        (Verdict::GidChange, |case| case.failure.blamed.clear()),
        (Verdict::PauseStorm, |case| case.facts.requester.rx_pause_ratio = None),
        (Verdict::MtuBlackHole, |case| change(case, |requests| requests.payload = None)),
        (Verdict::MismarkedLossyDrop, |case| change(case, |requests| requests.wrong_dscp = 0)),
        (Verdict::NicReceiveDrop, |case| case.facts.responder.rx_discards = Some(0)),
    ];
    for (expected, take_away) in steps {
        let diagnosis = diagnose(&case);
        assert_eq!(diagnosis.verdict, expected, "of {:?}", fitting(&case));
        assert!(!diagnosis.ruled_out.contains(&expected));
        seen.push(expected);
        take_away(&mut case);
    }
    assert_eq!(diagnose(&case).verdict, Verdict::CongestionLoss, "of {:?}", fitting(&case));
    change(&mut case, |requests| {
        (requests.cnps, requests.last_congestion, requests.ecn) = (0, None, [498, 0, 0, 0]);
    });
    (case.facts.requester.rx_pause_frames, case.facts.responder.tx_pause_frames) =
        (Some(0), Some(0));
    assert_eq!(diagnose(&case).verdict, Verdict::DropWithoutPause, "of {:?}", fitting(&case));
    case.facts.requester.rx_pause_frames = Some(1);
    assert_eq!(diagnose(&case).verdict, Verdict::ForwardBlackHole, "of {:?}", fitting(&case));
    let documented: Vec<_> = RULES.iter().map(|(verdict, _)| *verdict).take(seen.len()).collect();
    assert_eq!(seen, documented);
}

fn change(case: &mut Case, change: impl Fn(&mut Requests)) {
    if let Sight::Seen(taps) = &mut case.sight {
        taps.iter_mut().filter_map(|tap| tap.requests.as_mut()).for_each(change);
    }
}

#[test]
fn composed_cases() {
    let one =
        |requests, answers: Option<Answers>| seen(vec![tap(Place::AtRequester, requests, answers)]);
    let on_the_way = |requests, answers| seen(vec![tap(Place::OnTheWay, requests, answers)]);
    let at_both = |near, far, far_answers| {
        seen(vec![
            tap(Place::AtRequester, near, answered_before()),
            tap(Place::AtResponder, far, far_answers),
        ])
    };
    let refusing = Answers {
        last_seen: Some(at(102)),
        naks: Some(NakReport { psn_sequence_error: 8, ..NakReport::default() }),
        rnr_naks: Some(8),
        rnr_in_a_row: 8,
        ..answered_before()
    };
    let from_start = Requests { is_from_start: true, ..asking(7) };
    let reordered =
        SequenceReport { reordered: 40, go_back_n_episodes: 6, ..SequenceReport::default() };
    let cases = [
        ("a log alone", retries_exceeded(), Verdict::Unknown),
        ("nothing at all", Case::default(), Verdict::Unknown),
        ("an error of the application", told(WcStatus::LOC_LEN), Verdict::Unknown),
        ("requests leave, none arrives", hole(), Verdict::ForwardBlackHole),
        ("for ever", at_both(asking(112), asking(0), answered_before()), Verdict::ForwardBlackHole),
        (
            "answers lost",
            at_both(asking(3), repeating(3), answered_since(3)),
            Verdict::ReverseBlackHole,
        ),
        ("peer killed", at_both(asking(3), asking(3), answered_before()), Verdict::PeerSilent),
        (
            "peer killed, in a fabric with wrong marks and congestion",
            with(everything(), |case| {
                case.failure.blamed.clear();
                case.facts = crate::diagnosis::HostFacts::default();
                case.neighbours.peer_qp = PeerQp::Gone;
                let Sight::Seen(taps) = &mut case.sight else { return };
                taps.pop();
            }),
            Verdict::PeerSilent,
        ),
        ("one tap", one(asking(3), Some(answered_before())), Verdict::ForwardBlackHole),
        ("receiver asleep", on_the_way(asking(7), refusing), Verdict::ReceiverNotReady),
        ("never an answer", one(from_start, None), Verdict::NeverConnected),
        (
            "late packets",
            on_the_way(Requests { sequence: Some(reordered), ..asking(0) }, answered_before()),
            Verdict::ReorderingOnly,
        ),
        (
            "loss that was repaired",
            on_the_way(losing(5, asking(0)), answered_before()),
            Verdict::Unknown,
        ),
    ];
    for (name, case, verdict) in cases {
        let diagnosis = diagnose(&case);
        assert_eq!(diagnosis.verdict, verdict, "{name}: {diagnosis:#?}");
        assert!(!diagnosis.ruled_out.contains(&verdict), "{name}");
        assert!(!diagnosis.finding.text.is_empty(), "{name}");
    }
}

#[test]
fn a_log_alone_names_what_would_tell() {
    let diagnosis = diagnose(&retries_exceeded());
    let missing: Vec<_> = diagnosis
        .finding
        .evidence
        .iter()
        .filter(|fact| fact.what == "missing")
        .map(|fact| fact.value.as_str())
        .collect();
    assert!(missing.contains(&"packets of this queue pair"), "{missing:?}");
    assert!(missing.contains(&"pause counters of both ports"), "{missing:?}");
    assert!(diagnosis.finding.next_steps[0].contains("duplicate_request"));
    is_sure(&diagnosis.finding, 0.0);
    assert!(diagnosis.ruled_out.contains(&Verdict::AccessError));
    assert!(!diagnosis.ruled_out.contains(&Verdict::ForwardBlackHole));
}

#[test]
fn a_blind_tap_is_named() {
    let blind =
        |case| with(case, |case| case.sight = Sight::Blind("mlx5 offloads RoCE".to_owned()));
    let unknown = diagnose(&blind(retries_exceeded()));
    assert_eq!(unknown.verdict, Verdict::Unknown);
    assert!(unknown.finding.text.contains("mlx5 offloads RoCE"), "{}", unknown.finding.text);
    let refused = diagnose(&blind(told(WcStatus::REM_ACCESS)));
    assert!(refused.finding.text.contains("blind"), "{}", refused.finding.text);
    let packets = refused.finding.evidence.iter().find(|fact| fact.what == "packets");
    assert_eq!(packets.unwrap().value, "not seen: mlx5 offloads RoCE");
}

/// `roce-trace explain` and an incident name the same cause, where a status alone tells it.
#[test]
fn a_status_means_what_explain_says() {
    for status in (1..22).filter_map(WcStatus::new) {
        let verdict = diagnose(&told(status)).verdict;
        if let Some(cause) = status.cause() {
            assert_eq!(verdict.id(), cause.id(), "{status}");
        } else {
            let is_refused = [WcStatus::REM_INV_REQ, WcStatus::REM_ABORT].contains(&status);
            let expected =
                if is_refused { Verdict::RemoteOperationError } else { Verdict::Unknown };
            assert_eq!(verdict, expected, "{status}");
        }
    }
}

/// What a protection error rules out, in words of a verdict.
#[test]
fn the_network_is_acquitted_by_name() {
    let diagnosis = diagnose(&told(WcStatus::LOC_PROT));
    for verdict in [Verdict::ForwardBlackHole, Verdict::CongestionLoss, Verdict::LinkFlap] {
        assert!(diagnosis.ruled_out.contains(&verdict), "{verdict:?}");
    }
    let flush = diagnose(&told(WcStatus::WR_FLUSH));
    assert!(!flush.ruled_out.contains(&Verdict::ForwardBlackHole), "its cause is not known");
}

/// The documentation has one section for each verdict, rules in their order.
#[test]
fn documentation_has_the_order_of_the_rules() {
    let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/troubleshooting.md"));
    let sections = text.lines().filter_map(|line| line.strip_prefix("### `")?.strip_suffix('`'));
    let rules = RULES.iter().map(|(verdict, _)| verdict.id()).chain([Verdict::Unknown.id()]);
    assert_eq!(sections.collect::<Vec<_>>(), rules.collect::<Vec<_>>());
    assert_eq!(RULES.len() + 1, Verdict::ALL.len());
}
