//! Requests do not reach the responder.

use super::commands::{self, End};
use super::path::{self, Why};
use super::{Case, Opinion, Verdict, evidence};

pub(super) fn judge(case: &Case) -> Opinion {
    let located = path::locate(case);
    let Some(found) = located.filter(|found| found.place == Verdict::ForwardBlackHole) else {
        return path::elsewhere(case, located);
    };
    let text = match found.why {
        Why::LostBetweenTaps => {
            "Requests pass the tap nearer to the requester and do not arrive at the next one: they are \
             dropped between the two."
        }
        Why::NoRetryArrived => {
            "The requester ran out of retries, and none of them reached the responder's host, which had \
             answered what came before: requests are dropped on the way there."
        }
        Why::NobodyAnswered => {
            "No queue pair gets answers from this peer any more: the path is broken, or the whole host is \
             down. One tap cannot tell whether requests or their answers are dropped."
        }
        _ => {
            "Requests are sent, and no answers come. One tap before the break cannot tell a path that \
             drops requests from one that drops answers, or from a dead peer."
        }
    };
    let mut evidence = evidence::of_silence(case);
    evidence.extend(evidence::of_taps(case));
    evidence.extend(evidence::of_neighbours(case));
    let mut next_steps = Vec::new();
    if matches!(found.why, Why::NobodyAnswered | Why::OneTap) {
        next_steps.push(format!(
            "{}: growing means that requests arrive and answers are lost",
            commands::rdma_counters(case, End::Responder, "duplicate_request")
        ));
        next_steps.push(commands::look(case, End::Responder));
        next_steps.push(commands::queue_pair(case, End::Responder));
    }
    next_steps.push(
        "on the switches between the hosts: drop counters, routes and ACLs of the way from requester to \
         responder"
            .to_owned(),
    );
    next_steps.push(commands::link(case, End::Requester));
    found.fits(text, evidence, next_steps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::confidence::{CERTAIN, LIKELY, OPEN, STRONG};
    use crate::diagnosis::testing::{
        answered_before, answered_since, asking, cannot_tell, fits, is_sure, repeating,
        retries_exceeded, seen, tap,
    };
    use crate::diagnosis::{Place, Requests, Sight};
    use crate::flow::SequenceReport;

    #[test]
    fn tries_do_not_arrive() {
        let near = tap(Place::AtRequester, asking(3), answered_before());
        let far = tap(Place::AtResponder, asking(0), answered_before());
        let finding = fits(judge(&seen(vec![near.clone(), far.clone()])));
        is_sure(&finding, CERTAIN);
        let mirror = tap(Place::OnTheWay, asking(0), answered_before());
        is_sure(&fits(judge(&seen(vec![near, mirror]))), CERTAIN);
        let mirror = tap(Place::OnTheWay, asking(3), answered_before());
        is_sure(&fits(judge(&seen(vec![mirror, far]))), CERTAIN);
    }

    #[test]
    fn the_responders_side_sees_nothing_of_the_tries() {
        let mut case = retries_exceeded();
        case.sight = Sight::Seen(vec![tap(Place::AtResponder, asking(0), answered_before())]);
        let finding = fits(judge(&case));
        is_sure(&finding, STRONG);
        assert!(finding.text.contains("none of them reached"), "{}", finding.text);
    }

    #[test]
    fn one_tap_at_the_requester_says_what_would_tell() {
        let case = seen(vec![tap(Place::AtRequester, asking(3), answered_before())]);
        let finding = fits(judge(&case));
        is_sure(&finding, OPEN);
        assert!(finding.text.contains("cannot tell"), "{}", finding.text);
        assert!(finding.next_steps[0].contains("duplicate_request"), "{:?}", finding.next_steps);
        assert!(
            finding.next_steps[1].contains("roce-trace live --qp 0x14 --peer 10.0.0.1"),
            "{:?}",
            finding.next_steps
        );
        let ladder = finding.evidence.iter().find(|fact| fact.what.contains("sent again"));
        assert_eq!(
            ladder.unwrap().value,
            "PSN 9621019, 3 times in 1.1 s, longest silence 544.0 ms"
        );
    }

    #[test]
    fn nobody_gets_answers() {
        let mut case = seen(vec![tap(Place::AtRequester, asking(3), answered_before())]);
        (case.neighbours.to_peer, case.neighbours.unanswered) = (2, 2);
        is_sure(&fits(judge(&case)), LIKELY);
        case.neighbours.answered = 1;
        cannot_tell(&judge(&case));
    }

    #[test]
    fn answers_or_arrivals_speak_against_it() {
        let case = seen(vec![tap(Place::OnTheWay, repeating(3), answered_since(3))]);
        assert_eq!(judge(&case), Opinion::RuledOut);
        let arrives = tap(Place::AtResponder, asking(3), answered_before());
        assert_eq!(judge(&seen(vec![arrives])), Opinion::RuledOut);
        let two = seen(vec![tap(Place::AtRequester, asking(2), answered_before())]);
        assert_eq!(judge(&two), Opinion::RuledOut, "two tries are no trouble yet");
    }

    /// `peer_killed` of the lab with a third of the packets taken out: tries arrived, and the tap missed them.
    #[test]
    fn a_tap_that_misses_packets_does_not_tell_what_arrives() {
        let missing = |unseen| {
            let sequence = SequenceReport { unseen, ..SequenceReport::default() };
            let requests = Requests { sequence: Some(sequence), ..asking(0) };
            tap(Place::AtResponder, requests, answered_before())
        };
        let near = tap(Place::AtRequester, asking(3), answered_before());
        is_sure(&fits(judge(&seen(vec![near.clone(), missing(4)]))), CERTAIN);
        is_sure(&fits(judge(&seen(vec![near, missing(5)]))), OPEN);
        let mut case = retries_exceeded();
        case.sight = Sight::Seen(vec![missing(5)]);
        cannot_tell(&judge(&case));
    }

    #[test]
    fn a_log_alone_cannot_tell() {
        cannot_tell(&judge(&retries_exceeded()));
    }
}
