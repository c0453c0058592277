//! Requests arrive; their answers do not come back.

use super::commands::{self, End};
use super::path::{self, Why};
use super::{Case, Evidence, Finding, Opinion, Verdict, evidence};

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
    let repeats = case.sight.requests().map(|requests| requests.rewinds_after_ack).max();
    if let Some(repeats) = repeats.filter(|repeats| *repeats > 0) {
        evidence.push(Evidence::new("repeated although acknowledged", format!("{repeats} times")));
    }
    let since = case.sight.answers().filter_map(|answers| answers.since_ladder).max();
    if let Some(since) = since.filter(|since| *since > 0) {
        evidence.push(Evidence::new("answers since the first try", since));
    }
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
    Opinion::Fits(Finding {
        confidence: found.confidence,
        text: text.to_owned(),
        evidence,
        next_steps,
    })
}
