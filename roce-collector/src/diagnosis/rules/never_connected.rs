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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::testing::{
        answered_before, asking, cannot_tell, fits, is_sure, retries_exceeded, seen, tap,
    };
    use crate::diagnosis::{Place, Requests, Sight, TapSight};

    fn from_start() -> Requests {
        Requests { is_from_start: true, ..asking(3) }
    }

    #[test]
    fn the_peer_refused() {
        let tap = TapSight { rejected: Some(8), ..TapSight::default() };
        let finding = fits(judge(&seen(vec![tap])));
        assert!(finding.text.contains("nobody listens"), "{}", finding.text);
        is_sure(&finding, DIRECT);
    }

    #[test]
    fn no_answer_since_the_connection_began() {
        let mut case = seen(vec![tap(Place::AtRequester, from_start(), None)]);
        is_sure(&fits(judge(&case)), LIKELY);
        case.neighbours.answered = 1;
        is_sure(&fits(judge(&case)), STRONG);
        case.failure.completed = Some(3);
        assert_eq!(judge(&case), Opinion::RuledOut);
    }

    #[test]
    fn a_log_that_says_that_nothing_completed() {
        let mut case = retries_exceeded();
        cannot_tell(&judge(&case));
        case.failure.completed = Some(0);
        is_sure(&fits(judge(&case)), LIKELY);
        case.sight = Sight::Seen(vec![tap(Place::AtRequester, asking(3), answered_before())]);
        assert_eq!(judge(&case), Opinion::RuledOut, "packets say otherwise");
    }

    #[test]
    fn a_tap_that_came_later_cannot_tell() {
        cannot_tell(&judge(&seen(vec![tap(Place::AtRequester, asking(3), None)])));
    }

    #[test]
    fn taps_on_both_sides_say_more() {
        let near = tap(Place::AtRequester, from_start(), None);
        let far = tap(Place::AtResponder, Requests { ladder: None, ..from_start() }, None);
        assert_eq!(judge(&seen(vec![near, far])), Opinion::RuledOut);
    }
}
