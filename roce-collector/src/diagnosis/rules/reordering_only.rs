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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::testing::{
        answered_before, asking, cannot_tell, fits, is_sure, losing, retries_exceeded, seen, tap,
    };
    use crate::diagnosis::{Answers, Place, Requests};
    use crate::flow::{NakReport, SequenceReport};

    fn late(reordered: u64) -> Requests {
        let sequence = SequenceReport { reordered, ..SequenceReport::default() };
        Requests { sequence: Some(sequence), ..asking(0) }
    }

    #[test]
    fn late_packets_and_naks_for_them() {
        let naks = NakReport { psn_sequence_error: 2, ..NakReport::default() };
        let answers = Answers { naks: Some(naks), ..answered_before() };
        let finding = fits(judge(&seen(vec![tap(Place::AtResponder, late(2), answers)])));
        is_sure(&finding, STRONG);
        let quiet = seen(vec![tap(Place::AtResponder, late(2), answered_before())]);
        is_sure(&fits(judge(&quiet)), LIKELY);
    }

    #[test]
    fn loss_or_silence_is_more() {
        for requests in
            [late(0), losing(1, late(2)), Requests { sequence: late(2).sequence, ..asking(3) }]
        {
            let case = seen(vec![tap(Place::AtResponder, requests, answered_before())]);
            assert_eq!(judge(&case), Opinion::RuledOut);
        }
        cannot_tell(&judge(&retries_exceeded()));
    }
}
