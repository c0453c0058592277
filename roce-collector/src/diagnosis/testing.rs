//! Cases for tests, in the figures of the soft-RoCE lab: a `verr` stream whose path is cut (PSN 9621019 sent
//! again three times, 544 ms apart), and what other scenarios add.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use super::{
    Answers, Case, Failure, Finding, Ladder, Opinion, Outcome, Place, Requests, Sight, TapSight,
};
use crate::capture::Timestamp;
use crate::explain::WcStatus;
use crate::flow::{NakReport, SequenceReport};

/// Seconds of the time line of a case: 100 is when the ladder begins, 103 when the failure is told.
pub(super) const fn at(seconds: u64) -> Timestamp {
    Timestamp::from_nanos(seconds * 1_000_000_000)
}

pub(super) const FIRST_TRY: Timestamp = at(100);

/// A failure with this status, and nothing else.
pub(super) fn told(status: WcStatus) -> Case {
    let failure = Failure { status: Some(status), outcome: Outcome::Died, ..failure() };
    Case { failure, ..Case::default() }
}

/// A queue pair without a status.
pub(super) fn failure() -> Failure {
    Failure {
        time: Some(at(103)),
        device: Some("rxe_a".to_owned()),
        interface: Some("eth0".to_owned()),
        local_ip: Some(Ipv4Addr::new(10, 0, 0, 1).into()),
        local_qp: Some(0x13),
        peer_ip: Some(Ipv4Addr::new(10, 0, 0, 2).into()),
        peer_qp: Some(0x14),
        ..Failure::default()
    }
}

/// Status 12.
pub(super) fn retries_exceeded() -> Case {
    told(WcStatus::RETRY_EXC)
}

/// What taps saw, without a status.
pub(super) fn seen(taps: Vec<TapSight>) -> Case {
    Case { failure: failure(), sight: Sight::Seen(taps), ..Case::default() }
}

pub(super) fn tap(
    place: Place,
    requests: Requests,
    answers: impl Into<Option<Answers>>,
) -> TapSight {
    TapSight {
        tap: format!("{place:?}"),
        place,
        requests: Some(requests),
        answers: answers.into(),
        ..TapSight::default()
    }
}

/// 498 packets, the last PSN sent again so many times; 0 for none.
pub(super) fn asking(tries: u32) -> Requests {
    Requests {
        packets: 498,
        last_seen: Some(at(102)),
        sequence: Some(SequenceReport { timeouts: tries.into(), ..SequenceReport::default() }),
        ladder: (tries > 0).then_some(Ladder {
            psn: 9_621_019,
            tries,
            first_try: Some(FIRST_TRY),
            age: Some(Duration::from_millis(1_088)),
            longest_silence: Duration::from_millis(544),
            was_answered: false,
        }),
        ecn: [498, 0, 0, 0],
        dscp: BTreeMap::from([(26, 498)]),
        ..Requests::default()
    }
}

/// Requests that this tap saw acknowledged, and then again so many times.
pub(super) fn repeating(times: u32) -> Requests {
    Requests { rewinds_after_ack: times, ..asking(0) }
}

/// Answers until the ladder began.
pub(super) fn answered_before() -> Answers {
    Answers {
        packets: 245,
        last_seen: Some(at(99)),
        naks: Some(NakReport::default()),
        rnr_naks: Some(0),
        ..Answers::default()
    }
}

/// And since then.
pub(super) fn answered_since(count: u64) -> Answers {
    Answers { last_seen: Some(at(102)), since_ladder: Some(count), ..answered_before() }
}

/// So many lost packets among the requests.
pub(super) fn losing(lost: u64, requests: Requests) -> Requests {
    let sequence = requests.sequence.unwrap_or_default();
    let sequence = SequenceReport { lost, recovered: lost, ..sequence };
    Requests { sequence: Some(sequence), ..requests }
}

/// Requests, and answers with these NAKs, at one tap on the way.
pub(super) fn refused(naks: NakReport) -> Case {
    let answers = Answers { naks: Some(naks), ..answered_before() };
    seen(vec![tap(Place::OnTheWay, asking(0), answers)])
}

/// The finding; anything else fails the test.
#[track_caller]
pub(super) fn fits(opinion: Opinion) -> Finding {
    match opinion {
        Opinion::Fits(finding) => finding,
        other => panic!("does not fit: {other:?}"),
    }
}

/// Fails unless the finding is as sure as this step.
#[track_caller]
pub(super) fn is_sure(finding: &Finding, step: f64) {
    assert!((finding.confidence - step).abs() < 1e-9, "{} instead of {step}", finding.confidence);
}

#[track_caller]
pub(super) fn cannot_tell(opinion: &Opinion) {
    assert!(matches!(opinion, Opinion::CannotTell(_)), "{opinion:?}");
}
