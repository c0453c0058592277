//! Requests do not reach the responder.

use super::commands::{self, End};
use super::path::{self, Why};
use super::{Case, Finding, Opinion, Verdict, evidence};

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
    Opinion::Fits(Finding {
        confidence: found.confidence,
        text: text.to_owned(),
        evidence,
        next_steps,
    })
}
