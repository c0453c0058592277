//! Requests arrive; their answers do not come back.

use super::commands::{self, End};
use super::path::{self, Why};
use super::{Case, Evidence, Opinion, Verdict, evidence};

pub(super) fn judge(case: &Case) -> Opinion {
    let located = path::locate(case);
    let Some(found) = located.filter(|found| found.place == Verdict::ReverseBlackHole) else {
        return path::elsewhere(case, located);
    };
    let text = match found.why {
        Why::AnswersLostBetweenTaps => {
            "Requests arrive and are answered; the answers do not come by at the tap nearer to the \
             requester: they are dropped between the two."
        }
        Why::AnswersNotTaken => {
            "Answers reach the requester's host, and it repeats its requests all the same: they are \
             dropped behind the tap, in the NIC or the host."
        }
        Why::CountedDuplicates => {
            "The responder counts requests that it had carried out already: requests arrive, and their \
             answers are lost on the way back."
        }
        _ => {
            "The requester repeats what this tap saw acknowledged: answers are dropped between the tap \
             and the requester."
        }
    };
    let mut evidence = evidence::of_silence(case);
    evidence.extend(evidence::of_taps(case));
    if let Some(duplicates) = case.facts.responder.duplicate_requests {
        evidence.push(Evidence::new("duplicate_request at the responder", duplicates));
    }
    let next_steps = vec![
        "on the switches between the hosts: drop counters, routes and ACLs of the way from responder to \
         requester, and the class that the DSCP of the ACKs gets"
            .to_owned(),
        commands::rdma_counters(case, End::Responder, "duplicate_request"),
        commands::look(case, End::Requester),
        commands::qos(case, End::Responder),
    ];
    found.fits(text, evidence, next_steps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::Place;
    use crate::diagnosis::confidence::{CERTAIN, LIKELY, STRONG};
    use crate::diagnosis::testing::{
        answered_before, answered_since, asking, cannot_tell, fits, is_sure, repeating,
        retries_exceeded, seen, tap,
    };

    #[test]
    fn answers_leave_and_do_not_come_back() {
        let near = tap(Place::AtRequester, asking(3), answered_before());
        let far = tap(Place::AtResponder, repeating(3), answered_since(3));
        let finding = fits(judge(&seen(vec![near, far])));
        is_sure(&finding, CERTAIN);
        let at = |place: &str| finding.evidence.iter().find(|fact| fact.what == place);
        assert_eq!(at("at AtRequester").unwrap().value, "3 tries, answers before");
        let far = "3 tries, each after an acknowledgement";
        assert_eq!(at("at AtResponder").unwrap().value, far);
    }

    #[test]
    fn one_tap_sees_what_was_acknowledged_come_again() {
        for place in [Place::OnTheWay, Place::AtResponder] {
            let case = seen(vec![tap(place, repeating(3), answered_since(3))]);
            is_sure(&fits(judge(&case)), STRONG);
        }
        let case = seen(vec![tap(Place::AtRequester, repeating(3), answered_since(3))]);
        let finding = fits(judge(&case));
        is_sure(&finding, LIKELY);
        assert!(finding.text.contains("in the NIC or the host"), "{}", finding.text);
    }

    #[test]
    fn the_responder_counts_duplicates() {
        let mut case = retries_exceeded();
        cannot_tell(&judge(&case));
        case.facts.responder.duplicate_requests = Some(0);
        cannot_tell(&judge(&case));
        case.facts.responder.duplicate_requests = Some(8);
        is_sure(&fits(judge(&case)), STRONG);
    }

    #[test]
    fn a_ladder_that_nobody_answers_is_not_it() {
        let near = tap(Place::AtRequester, asking(3), answered_before());
        let far = tap(Place::AtResponder, asking(0), answered_before());
        assert_eq!(judge(&seen(vec![near, far])), Opinion::RuledOut);
        let silent = tap(Place::AtResponder, asking(3), answered_before());
        assert_eq!(judge(&seen(vec![silent])), Opinion::RuledOut);
    }

    #[test]
    fn tries_counted_twice_are_no_answers() {
        let requests = crate::diagnosis::Requests { rewinds_after_ack: 3, ..asking(3) };
        let case = seen(vec![tap(Place::AtRequester, requests, answered_before())]);
        cannot_tell(&judge(&case));
    }
}
