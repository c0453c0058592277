//! The connection never carried anything both ways.

use super::commands::{self, End};
use super::confidence::{DIRECT, LIKELY, STRONG};
use super::path;
use super::{Case, Evidence, Finding, Opinion, evidence, missing, reading};
use crate::timeline::reject_reason;

pub(super) fn judge(case: &Case) -> Opinion {
    if reading::was_ever_answered(case) || case.failure.completed.is_some_and(|count| count > 0) {
        return Opinion::RuledOut;
    }
    let rejected = case.sight.taps().iter().find_map(|tap| tap.rejected);
    if let Some(reason) = rejected {
        return refused(case, reason);
    }
    if !reading::is_silent(case) {
        return Opinion::RuledOut;
    }
    // Where taps on both sides, or the peer's host, tell what broke, that says more.
    if path::locate(case).is_some_and(|found| found.confidence >= DIRECT) {
        return Opinion::RuledOut;
    }
    let is_from_start = case.sight.requests().any(|requests| requests.is_from_start);
    let is_nothing_done = case.failure.completed == Some(0);
    let confidence = match (is_from_start, is_nothing_done) {
        (true, true) => STRONG,
        (true, false) if case.neighbours.answered > 0 => STRONG,
        (true, false) | (false, true) => LIKELY,
        (false, false) if case.sight.taps().is_empty() => {
            return Opinion::CannotTell(missing::PACKETS);
        }
        (false, false) => return Opinion::CannotTell(missing::BEGINNING),
    };
    let mut evidence = evidence::of_silence(case);
    if is_from_start {
        let packets = case.sight.requests().map(|requests| requests.packets).max().unwrap_or(0);
        evidence.push(Evidence::new("requests since the connection began", packets));
        evidence.push(Evidence::new("answers", "none"));
    }
    if is_nothing_done {
        evidence.push(Evidence::new("work requests completed before", 0));
    }
    evidence.extend(evidence::of_neighbours(case));
    Opinion::Fits(Finding {
        confidence,
        text: "Nothing was ever answered on this connection: connectivity, GID, MTU or the peer's queue \
               pair, not load."
            .to_owned(),
        evidence,
        next_steps: vec![
            commands::gids(case, End::Requester),
            commands::ping(case, 64),
            format!("{}: is it there, in RTR or RTS", commands::queue_pair(case, End::Responder)),
            "check that both sides use a RoCEv2 GID of the same network, and that nothing filters UDP port \
             4791"
                .to_owned(),
        ],
    })
}

fn refused(case: &Case, reason: u16) -> Opinion {
    Opinion::Fits(Finding {
        confidence: DIRECT,
        text: format!(
            "The peer refused the connection (CM REJ, reason {reason}: {}).",
            reject_reason(reason)
        ),
        evidence: vec![Evidence::new("CM REJ, reason", reason)],
        next_steps: vec![format!(
            "{}: is the program listening, on that port and address (rdma resource show cm_id)",
            commands::on(case, End::Responder)
        )],
    })
}
