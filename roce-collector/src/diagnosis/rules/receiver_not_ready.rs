//! The receiver had no receive posted.

use super::commands::{self, End};
use super::confidence::{CERTAIN, DIRECT, STRONG};
use super::{Case, Evidence, Finding, Opinion, evidence, missing, reading};
use crate::explain::WcStatus;

/// Without a status, this many RNR NAKs in a row are a receiver that does not come round. One or two happen to
/// healthy receivers that are slow to post.
const MIN_IN_A_ROW: u64 = 3;

pub(super) fn judge(case: &Case) -> Opinion {
    let status = reading::status(case);
    let has_status = status == Some(WcStatus::RNR_RETRY_EXC);
    let answers = || case.sight.answers();
    let in_a_row = answers().map(|answers| answers.rnr_in_a_row).max().unwrap_or(0);
    // With another status, or when the requester tries on without any answer, what followed the RNR NAKs decides.
    let went_silent = answers().all(|answers| answers.since_ladder == Some(0))
        && reading::open_ladder(case).is_some();
    let is_seen = in_a_row >= MIN_IN_A_ROW && !went_silent;
    if !has_status && (status.is_some() || !is_seen) {
        let is_hidden = status.is_none() && reading::are_naks_cut(case);
        return if is_hidden { Opinion::CannotTell(missing::NAK_CODES) } else { Opinion::RuledOut };
    }
    let mut evidence = evidence::of_status(case);
    if in_a_row > 0 {
        let timer = answers().find_map(|answers| answers.rnr_timer_ms);
        let timer =
            timer.map_or_else(String::new, |timer| format!(", each asks to wait {timer} ms"));
        evidence.push(Evidence::new("RNR NAKs without an ACK", format!("{in_a_row}{timer}")));
    }
    let dropped = case.facts.responder.out_of_buffer.filter(|count| *count > 0);
    if let Some(count) = dropped {
        evidence.push(Evidence::new("out_of_buffer at the responder", format!("{count} packets")));
    }
    let sources = [has_status, in_a_row > 0, dropped.is_some()];
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
