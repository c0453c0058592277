//! Drops behind signs of congestion.

use std::time::Duration;

use super::commands::{self, End};
use super::confidence::{LIKELY, STRONG};
use super::{Case, Evidence, Finding, Opinion, evidence, missing, path, reading};
use crate::diagnosis::Place;

/// Congestion that was told of longer ago than this before the tries began is over.
const WINDOW: Duration = Duration::from_secs(5);

pub(super) fn judge(case: &Case) -> Opinion {
    if case.sight.requests().next().is_none() {
        return Opinion::CannotTell(missing::PACKETS);
    }
    let ce = case.sight.requests().map(|requests| requests.ecn[3]).max().unwrap_or(0);
    let cnps = case.sight.requests().map(|requests| requests.cnps).max().unwrap_or(0);
    let is_loss = reading::Loss::of(case).count() > 0;
    if !is_loss || is_long_ago(case) || path::is_peers_fault(case) {
        return Opinion::RuledOut;
    }
    if ce == 0 && cnps == 0 {
        let is_before_switches =
            case.sight.taps().iter().all(|tap| tap.place == Place::AtRequester);
        return if is_before_switches {
            Opinion::CannotTell(missing::BEHIND_SWITCHES)
        } else {
            Opinion::RuledOut
        };
    }
    let mut evidence = evidence::of_silence(case);
    evidence.extend(evidence::of_loss(case));
    let packets = case.sight.requests().map(|requests| requests.packets).max().unwrap_or(0);
    evidence.push(Evidence::new("CE marks", format!("{ce} of {packets} packets")));
    evidence.push(Evidence::new("congestion notifications", cnps));
    let pauses = case.facts.requester.rx_pause_frames;
    if let Some(pauses) = pauses {
        evidence.push(Evidence::new("pause frames to the requester", pauses));
    }
    Opinion::Fits(Finding {
        confidence: if ce > 0 && cnps > 0 { STRONG } else { LIKELY },
        text: "Switches marked congestion (CE), the sender was told of it (CNP), and packets were lost \
               behind that: a queue ran over before the senders were slow enough, and nothing paused them."
            .to_owned(),
        evidence,
        next_steps: vec![
            "on the switches of the path: drops and depth of the lossless queue, ECN thresholds (they \
             must lie well below PFC's), ports with more senders than they can take (incast)"
                .to_owned(),
            commands::ethtool(case, End::Requester, "rx_prio.*pause|rx_pause"),
            commands::rdma_counters(case, End::Requester, "rp_cnp_handled and rp_cnp_ignored"),
            commands::qos(case, End::Requester),
        ],
    })
}

/// The tries began when congestion was over.
fn is_long_ago(case: &Case) -> bool {
    let last = case.sight.requests().filter_map(|requests| requests.last_congestion).max();
    let began = reading::open_ladder(case).and_then(|ladder| ladder.first_try);
    last.zip(began).is_some_and(|(last, began)| began.since(last) > WINDOW)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::Requests;
    use crate::diagnosis::testing::{
        answered_before, asking, at, cannot_tell, fits, is_sure, losing, retries_exceeded, seen,
        tap,
    };

    fn congested(ce: u64, cnps: u64, requests: Requests) -> Requests {
        Requests { ecn: [0, 0, 498 - ce, ce], cnps, last_congestion: Some(at(98)), ..requests }
    }

    fn one(place: Place, requests: Requests) -> Case {
        seen(vec![tap(place, requests, answered_before())])
    }

    #[test]
    fn marks_then_loss() {
        let case = one(Place::OnTheWay, congested(120, 14, losing(9, asking(3))));
        let finding = fits(judge(&case));
        is_sure(&finding, STRONG);
        assert!(finding.evidence.iter().any(|fact| fact.value == "9 of 498 packets"));
        assert!(finding.evidence.iter().any(|fact| fact.value == "120 of 498 packets"));
        let before_switches = one(Place::AtRequester, congested(0, 14, losing(9, asking(3))));
        is_sure(&fits(judge(&before_switches)), LIKELY);
    }

    #[test]
    fn marks_without_loss_are_flow_control_at_work() {
        let case = one(Place::OnTheWay, congested(120, 14, asking(3)));
        assert_eq!(judge(&case), Opinion::RuledOut);
    }

    #[test]
    fn loss_without_marks() {
        let case = one(Place::OnTheWay, congested(0, 0, losing(9, asking(3))));
        assert_eq!(judge(&case), Opinion::RuledOut);
        let case = one(Place::AtRequester, congested(0, 0, losing(9, asking(3))));
        cannot_tell(&judge(&case));
        cannot_tell(&judge(&retries_exceeded()));
    }

    #[test]
    fn congestion_that_was_over() {
        let requests = congested(120, 14, losing(9, asking(3)));
        let requests = Requests { last_congestion: Some(at(94)), ..requests };
        assert_eq!(judge(&one(Place::OnTheWay, requests)), Opinion::RuledOut);
    }
}
