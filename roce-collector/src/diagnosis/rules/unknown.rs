//! Nothing fits: says what is known, and what would tell.

use super::commands::{self, End};
use super::{Case, Evidence, Finding, evidence, reading};
use crate::diagnosis::Sight;

/// `missing`: what rules asked for.
pub(super) fn finding(case: &Case, missing: &[&'static str]) -> Finding {
    let mut evidence = evidence::of_silence(case);
    evidence.extend(evidence::of_loss(case));
    evidence.extend(evidence::of_neighbours(case));
    evidence.extend(missing.iter().map(|what| Evidence::new("missing", what)));
    let next_steps = if reading::clears_network(case) { Vec::new() } else { next_steps(case) };
    Finding { confidence: 0.0, text: text(case), evidence, next_steps }
}

fn text(case: &Case) -> String {
    if let Some(status) = reading::status(case).filter(|_| reading::clears_network(case)) {
        return status.meaning().to_owned();
    }
    match &case.sight {
        Sight::Blind(why) => format!(
            "Packets of this host cannot be seen here ({why}), and no error source says more: a broken \
             path cannot be told from a silent peer."
        ),
        Sight::NotLooked if reading::is_silent(case) => {
            "Only a log is known. It does not tell a broken path from a silent peer: packets do."
                .to_owned()
        }
        Sight::NotLooked => {
            "No error source says why, and nobody looked at the packets.".to_owned()
        }
        Sight::NotFound => {
            "Packets were seen, but none of this queue pair: the tap is not on its path, or it sent none."
                .to_owned()
        }
        Sight::Seen(_) if reading::is_silent(case) => {
            "The requester gets no answer, and what was seen does not tell why.".to_owned()
        }
        Sight::Seen(_) if reading::Loss::of(case).count() > 0 => {
            "Packets were lost, without a sign of the reason: no congestion, no wrong marks, no counters \
             of the ports."
                .to_owned()
        }
        Sight::Seen(_) => "What was seen fits no rule.".to_owned(),
    }
}

fn next_steps(case: &Case) -> Vec<String> {
    let counters = "local_ack_timeout_err, packet_seq_err, req_transport_retries_exceeded";
    vec![
        format!(
            "{}: growing means that requests arrive and answers are lost",
            commands::rdma_counters(case, End::Responder, "duplicate_request")
        ),
        commands::rdma_counters(case, End::Requester, counters),
        commands::look(case, End::Requester),
        commands::look(case, End::Responder),
        "give link, pause and drop counters of both hosts with --facts FILE".to_owned(),
    ]
}
