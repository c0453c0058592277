//! The drops hit packets that the fabric does not treat as lossless, because of their DSCP.

use super::commands::{self, End};
use super::confidence::{LIKELY, STRONG};
use super::{Case, Evidence, Finding, Opinion, evidence, missing, path, reading};
use crate::diagnosis::Traffic;

/// Share of the connection's packets with a wrong DSCP from which on it travels in the wrong class.
const MIN_WRONG: f64 = 0.5;
/// Packets with the right DSCP that must have passed before one may say that they pass.
const MIN_RIGHT_PACKETS: u64 = 100;
/// Share of rightly marked packets that may be lost: one in a thousand is not what kills the others.
const MAX_RIGHT_LOSS: f64 = 0.001;

pub(super) fn judge(case: &Case) -> Opinion {
    let Some(marks) = case.sight.requests().max_by_key(|requests| requests.wrong_dscp) else {
        return Opinion::CannotTell(missing::PACKETS);
    };
    let wrong_share = share(marks.wrong_dscp, marks.packets);
    let (right, wrong) = (case.neighbours.rightly_marked, case.neighbours.wrongly_marked);
    if wrong_share < MIN_WRONG || !reading::is_in_trouble(case) || path::is_peers_fault(case) {
        return Opinion::RuledOut;
    }
    if right.packets < MIN_RIGHT_PACKETS {
        return Opinion::CannotTell(missing::RIGHT_MARKS);
    }
    if share(trouble(right), right.packets) > MAX_RIGHT_LOSS {
        return Opinion::RuledOut;
    }
    let mut evidence = evidence::of_silence(case);
    evidence.extend(evidence::of_loss(case));
    let values: Vec<_> = marks.dscp.iter().filter(|(_, packets)| **packets > 0).collect();
    let values: Vec<_> =
        values.iter().map(|(dscp, packets)| format!("{dscp}: {packets}")).collect();
    evidence.push(Evidence::new(
        "packets with a wrong DSCP",
        format!("{} of {} ({})", marks.wrong_dscp, marks.packets, values.join(", ")),
    ));
    for (what, traffic) in [("right DSCP", right), ("wrong DSCP", wrong)] {
        let text = format!(
            "{} packets, {} lost, {} sent again",
            traffic.packets, traffic.lost, traffic.retransmitted
        );
        evidence.push(Evidence::new(format!("between the hosts with the {what}"), text));
    }
    // A ladder alone may also be a peer that is gone; loss with answers in between is not.
    let is_loss = reading::Loss::of(case).count() > 0 || wrong.lost > 0;
    Opinion::Fits(Finding {
        confidence: if is_loss { STRONG } else { LIKELY },
        text: "Packets of this queue pair have a DSCP that the fabric does not treat as lossless, and \
               they are dropped; traffic with the right DSCP between the same hosts is not."
            .to_owned(),
        evidence,
        next_steps: vec![
            "set the traffic class of the application: NCCL_IB_TC=106, UCX_IB_TRAFFIC_CLASS=106 (DSCP 26 with \
             ECT(0)), or the fabric's own"
                .to_owned(),
            commands::qos(case, End::Requester),
            "on each switch: does it trust DSCP, and does its map send this DSCP to the lossless queue"
                .to_owned(),
        ],
    })
}

const fn trouble(traffic: Traffic) -> u64 {
    if traffic.lost > traffic.retransmitted { traffic.lost } else { traffic.retransmitted }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::testing::{
        answered_before, asking, cannot_tell, fits, is_sure, losing, retries_exceeded, seen, tap,
    };
    use crate::diagnosis::{Neighbours, PeerQp, Place, Requests};

    fn marked(wrong: u64, requests: Requests) -> Case {
        let requests = Requests { wrong_dscp: wrong, ..requests };
        let mut case = seen(vec![tap(Place::OnTheWay, requests, answered_before())]);
        case.neighbours = Neighbours {
            rightly_marked: Traffic { packets: 4000, ..Traffic::default() },
            wrongly_marked: Traffic { packets: 498, lost: 12, retransmitted: 40 },
            ..Neighbours::default()
        };
        case
    }

    #[test]
    fn only_the_wrong_class_loses() {
        let finding = fits(judge(&marked(498, losing(12, asking(3)))));
        is_sure(&finding, STRONG);
        assert!(finding.evidence.iter().any(|fact| fact.value.starts_with("498 of 498")));
        let mut silent = marked(498, asking(3));
        silent.neighbours.wrongly_marked.lost = 0;
        is_sure(&fits(judge(&silent)), LIKELY);
    }

    #[test]
    fn the_right_class_loses_as_well() {
        let mut case = marked(498, losing(12, asking(3)));
        case.neighbours.rightly_marked.retransmitted = 5;
        assert_eq!(judge(&case), Opinion::RuledOut);
        case.neighbours.rightly_marked.retransmitted = 4;
        fits(judge(&case));
    }

    #[test]
    fn marks_are_right_or_the_peer_is_gone() {
        assert_eq!(judge(&marked(0, losing(12, asking(3)))), Opinion::RuledOut);
        assert_eq!(judge(&marked(498, asking(0))), Opinion::RuledOut, "nothing is wrong");
        let mut case = marked(498, asking(3));
        case.neighbours.peer_qp = PeerQp::Gone;
        assert_eq!(judge(&case), Opinion::RuledOut);
    }

    #[test]
    fn nothing_to_compare_with() {
        let mut case = marked(498, losing(12, asking(3)));
        case.neighbours.rightly_marked.packets = 99;
        cannot_tell(&judge(&case));
        cannot_tell(&judge(&retries_exceeded()));
    }
}
