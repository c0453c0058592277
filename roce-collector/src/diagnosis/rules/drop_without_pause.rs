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
