//! Packets came out of order, none was lost.

use super::confidence::{LIKELY, STRONG};
use super::{Case, Evidence, Finding, Opinion, evidence, missing, reading};

pub(super) fn judge(case: &Case) -> Opinion {
    let mut sequences = case.sight.requests().filter_map(|requests| requests.sequence).peekable();
    if sequences.peek().is_none() {
        return Opinion::CannotTell(missing::PACKETS);
    }
    let (mut reordered, mut lost) = (0, 0);
    for sequence in sequences {
        reordered = reordered.max(sequence.reordered);
        lost = lost.max(sequence.lost);
    }
    if reordered == 0 || lost > 0 || reading::is_silent(case) {
        return Opinion::RuledOut;
    }
    let naks = reading::naks(case).psn_sequence_error;
    let mut evidence = evidence::of_status(case);
    evidence.push(Evidence::new("late by themselves", format!("{reordered} packets")));
    evidence.push(Evidence::new("lost", 0));
    if naks > 0 {
        evidence.push(Evidence::new("NAK PSN sequence error", naks));
    }
    Opinion::Fits(Finding {
        confidence: if naks > 0 { STRONG } else { LIKELY },
        text: "Packets came out of order, and none was lost. A receiver that does not expect this asks \
               for packets again that are only late."
            .to_owned(),
        evidence,
        next_steps: vec![
            "adaptive routing or packet spraying on the switches: normal where the NICs are set for it \
             (NCCL_IB_AR_THRESHOLD, selective repeat), else hash by flow"
                .to_owned(),
        ],
    })
}
