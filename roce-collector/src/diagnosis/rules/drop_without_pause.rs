//! Drops in the lossless class without a pause before.

use super::commands::{self, End};
use super::confidence::{DIRECT, LIKELY, STRONG};
use super::{Case, Evidence, Finding, Opinion, evidence, missing, path, reading};

pub(super) fn judge(case: &Case) -> Opinion {
    if case.sight.requests().next().is_none() {
        return Opinion::CannotTell(missing::PACKETS);
    }
    let is_mismarked = case.sight.requests().any(|requests| requests.wrong_dscp > 0);
    let is_marked = case.sight.requests().any(|requests| requests.ecn[3] > 0 || requests.cnps > 0);
    let loss = reading::Loss::of(case);
    if loss.count() == 0 || is_mismarked || is_marked || path::is_peers_fault(case) {
        return Opinion::RuledOut;
    }
    let (requester, responder) = (&case.facts.requester, &case.facts.responder);
    let sides = [(End::Requester, requester), (End::Responder, responder)];
    let off = sides.iter().find(|(_, facts)| facts.has_pfc == Some(false));
    let pauses = (requester.rx_pause_frames, responder.tx_pause_frames);
    let (confidence, text) = match (off, pauses) {
        (_, (Some(1..), _)) => return Opinion::RuledOut,
        (Some(_), _) => (
            DIRECT,
            "Packets of the lossless class are dropped, and PFC is off on a port of the path: nothing \
             pauses the sender.",
        ),
        (None, (Some(0), Some(1..))) => (
            STRONG,
            "Packets of the lossless class are dropped. The responder's port sends pauses, and none \
             reaches the requester: a switch between them ignores PFC on this priority.",
        ),
        (None, (Some(0), Some(0))) => (
            if loss.lost > 0 { STRONG } else { LIKELY },
            "Packets of the lossless class are dropped, and no pause was sent before, not even to the \
             requester: a switch on the path drops where it should pause.",
        ),
        _ => return Opinion::CannotTell(missing::PAUSE_COUNTERS),
    };
    let mut evidence = evidence::of_silence(case);
    evidence.extend(evidence::of_loss(case));
    if let Some(frames) = pauses.0 {
        evidence.push(Evidence::new("pause frames to the requester", frames));
    }
    if let Some(frames) = pauses.1 {
        evidence.push(Evidence::new("pause frames from the responder", frames));
    }
    let end = off.map_or(End::Requester, |(end, _)| *end);
    Opinion::Fits(Finding {
        confidence,
        text: text.to_owned(),
        evidence,
        next_steps: vec![
            commands::qos(case, end),
            "on each switch port of the path: PFC enabled for the RoCE priority, its buffer headroom not \
             0, and DSCP mapped to that priority"
                .to_owned(),
            commands::ethtool(case, End::Requester, "rx_prio.*_pause"),
            commands::ethtool(case, End::Responder, "tx_prio.*_pause|discard"),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::testing::{
        answered_before, asking, cannot_tell, fits, is_sure, losing, retries_exceeded, seen, tap,
    };
    use crate::diagnosis::{Place, Requests};

    fn with_pauses(to_requester: Option<u64>, from_responder: Option<u64>) -> Case {
        let mut case = seen(vec![tap(Place::OnTheWay, losing(9, asking(3)), answered_before())]);
        case.facts.requester.rx_pause_frames = to_requester;
        case.facts.responder.tx_pause_frames = from_responder;
        case
    }

    #[test]
    fn nobody_paused_the_sender() {
        let ignored = fits(judge(&with_pauses(Some(0), Some(5120))));
        assert!(ignored.text.contains("ignores PFC"), "{}", ignored.text);
        let never = fits(judge(&with_pauses(Some(0), Some(0))));
        is_sure(&never, STRONG);
        let mut case = with_pauses(None, None);
        case.facts.responder.has_pfc = Some(false);
        let off = fits(judge(&case));
        is_sure(&off, DIRECT);
        assert!(off.next_steps[0].starts_with("on the responder"), "{:?}", off.next_steps);
    }

    #[test]
    fn pauses_came_or_something_else_explains_it() {
        assert_eq!(judge(&with_pauses(Some(3), Some(3))), Opinion::RuledOut);
        for requests in [
            Requests { wrong_dscp: 498, ..losing(9, asking(3)) },
            Requests { ecn: [0, 0, 0, 20], ..losing(9, asking(3)) },
            Requests { cnps: 2, ..losing(9, asking(3)) },
            asking(3),
        ] {
            let mut case = with_pauses(Some(0), Some(0));
            case.sight = seen(vec![tap(Place::OnTheWay, requests, answered_before())]).sight;
            assert_eq!(judge(&case), Opinion::RuledOut);
        }
    }

    #[test]
    fn counters_of_both_ports_are_needed() {
        cannot_tell(&judge(&with_pauses(None, Some(0))));
        cannot_tell(&judge(&with_pauses(Some(0), None)));
        cannot_tell(&judge(&retries_exceeded()));
    }
}
