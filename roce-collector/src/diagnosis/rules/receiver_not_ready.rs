//! The receiver had no receive posted.

use super::commands::{self, End};
use super::confidence::{CERTAIN, DIRECT, STRONG};
use super::{Case, Evidence, Finding, Opinion, evidence, missing, reading};
use crate::diagnosis::TapSight;
use crate::explain::WcStatus;

/// Without a status, this many RNR NAKs in a row are a receiver that does not come round. One or two happen to
/// healthy receivers that are slow to post.
const MIN_IN_A_ROW: u64 = 3;

pub(super) fn judge(case: &Case) -> Opinion {
    let status = reading::status(case);
    let has_status = status == Some(WcStatus::RNR_RETRY_EXC);
    let refusals = case.sight.taps().iter().map(refusals).max().unwrap_or(0);
    // With another status what followed the refusals decides.
    let is_seen = refusals >= MIN_IN_A_ROW;
    if !has_status && (status.is_some() || !is_seen) {
        let is_hidden = status.is_none() && reading::are_naks_cut(case);
        return if is_hidden { Opinion::CannotTell(missing::NAK_CODES) } else { Opinion::RuledOut };
    }
    let mut evidence = evidence::of_status(case);
    if refusals > 0 {
        let timer = case.sight.answers().find_map(|answers| answers.rnr_timer_ms);
        let timer =
            timer.map_or_else(String::new, |timer| format!(", each asks to wait {timer} ms"));
        evidence.push(Evidence::new("RNR NAKs without an ACK", format!("{refusals}{timer}")));
    }
    let dropped = case.facts.responder.out_of_buffer.filter(|count| *count > 0);
    if let Some(count) = dropped {
        evidence.push(Evidence::new("out_of_buffer at the responder", format!("{count} packets")));
    }
    let sources = [has_status, refusals > 0, dropped.is_some()];
    Opinion::Fits(Finding {
        confidence: match sources.into_iter().filter(|says| *says).count() {
            1 if has_status => DIRECT,
            1 => STRONG,
            _ => CERTAIN,
        },
        text: "The peer had no receive posted for what arrived: receiver buffers, not fabric. Its \
               application is slow, stuck, or posts too few receives."
            .to_owned(),
        evidence,
        next_steps: vec![
            format!(
                "{}: its thread that posts receives, the depth of its receive queue or SRQ, and the GPU \
                 or disk that it waits for",
                commands::on(case, End::Responder)
            ),
            commands::rdma_counters(case, End::Responder, "out_of_buffer and rnr_nak_retry_err"),
        ],
    })
}

/// RNR NAKs in a row at the end, as one tap saw it; 0 when the requester went on trying without any answer.
fn refusals(tap: &TapSight) -> u64 {
    let Some(answers) = &tap.answers else { return 0 };
    let ladder = tap.requests.as_ref().and_then(|requests| requests.ladder);
    let Some(ladder) = ladder.filter(|ladder| !ladder.was_answered) else {
        return answers.rnr_in_a_row;
    };
    let asked = tap.requests.as_ref().and_then(|requests| requests.last_seen);
    if answers.last_seen < asked {
        let is_refused = u64::from(ladder.tries) <= answers.rnr_in_a_row;
        return if is_refused { answers.rnr_in_a_row } else { 0 };
    }
    // The last word was an answer that did not end the tries: they were all refused, if there are as many RNR NAKs.
    let tries = u64::from(ladder.tries);
    let seen = answers.rnr_naks.filter(|count| *count >= tries).map_or(0, |_| tries);
    answers.rnr_in_a_row.max(seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::testing::{
        answered_before, asking, at, cannot_tell, fits, is_sure, retries_exceeded, seen, tap, told,
    };
    use crate::diagnosis::{Answers, Place};
    use crate::flow::NakReport;

    /// As soft-RoCE does it: a NAK of a sequence error after each RNR NAK.
    fn refusing(in_a_row: u64) -> Answers {
        let naks = NakReport { psn_sequence_error: in_a_row, ..NakReport::default() };
        Answers {
            naks: Some(naks),
            rnr_naks: Some(in_a_row),
            rnr_in_a_row: in_a_row,
            rnr_timer_ms: Some(655.36),
            ..answered_before()
        }
    }

    #[test]
    fn refusals_in_a_row_are_it_with_or_without_a_status() {
        let mut case = seen(vec![tap(Place::OnTheWay, asking(0), refusing(4))]);
        is_sure(&fits(judge(&case)), STRONG);
        case.facts.responder.out_of_buffer = Some(4);
        let finding = fits(judge(&case));
        is_sure(&finding, CERTAIN);
        assert!(finding.text.contains("receiver buffers, not fabric"), "{}", finding.text);
        assert!(finding.evidence.iter().any(|fact| fact.value == "4 packets"));
        is_sure(&fits(judge(&told(WcStatus::RNR_RETRY_EXC))), DIRECT);
    }

    #[test]
    fn a_receiver_that_comes_round_is_not_it() {
        let case = seen(vec![tap(Place::OnTheWay, asking(0), refusing(2))]);
        assert_eq!(judge(&case), Opinion::RuledOut);
        assert_eq!(judge(&retries_exceeded()), Opinion::RuledOut);
    }

    #[test]
    fn what_followed_the_refusals_decides() {
        let mut case = seen(vec![tap(Place::OnTheWay, asking(7), refusing(4))]);
        assert_eq!(judge(&case), Opinion::RuledOut, "silence since");
        case.failure.status = Some(WcStatus::RNR_RETRY_EXC);
        fits(judge(&case));
        case.failure.status = Some(WcStatus::RETRY_EXC);
        assert_eq!(judge(&case), Opinion::RuledOut);
    }

    /// Live, RNR NAKs are counted, but their row is not always known.
    #[test]
    fn tries_that_were_refused_are_no_silence() {
        let refusing = Answers { last_seen: Some(at(102)), rnr_in_a_row: 0, ..refusing(40) };
        let case = seen(vec![tap(Place::OnTheWay, asking(39), refusing.clone())]);
        fits(judge(&case));
        let fewer = Answers { rnr_naks: Some(38), ..refusing };
        let case = seen(vec![tap(Place::OnTheWay, asking(39), fewer)]);
        assert_eq!(judge(&case), Opinion::RuledOut, "something else was answered");
    }

    #[test]
    fn acks_without_their_syndrome_do_not_tell() {
        let cut = Answers { naks: None, rnr_naks: None, ..answered_before() };
        cannot_tell(&judge(&seen(vec![tap(Place::OnTheWay, asking(3), cut)])));
    }
}
