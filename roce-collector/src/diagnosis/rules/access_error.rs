//! The responder refused access to its memory.

use super::{Case, Evidence, Finding, Opinion};
use crate::explain::WcStatus;

/// A NAK says it on the wire, the status says it at the requester: both are certain.
pub(super) fn judge(case: &Case) -> Opinion {
    let naks = case.sight.answers().filter_map(|answers| answers.naks);
    let refusals = naks.map(|naks| naks.remote_access_error).max().unwrap_or(0);
    let has_status = case.failure.status == Some(WcStatus::REM_ACCESS);
    if refusals == 0 && !has_status {
        return Opinion::RuledOut;
    }
    let mut evidence = Vec::new();
    if let Some(status) = case.failure.status.filter(|_| has_status) {
        evidence.push(Evidence::new("status", status));
    }
    if refusals > 0 {
        evidence.push(Evidence::new("NAK remote access error", refusals));
    }
    Opinion::Fits(Finding {
        confidence: if refusals > 0 && has_status { 0.99 } else { 0.95 },
        text: "The peer refused access to its memory: wrong key, address out of range, or missing \
               permission. The request arrived and was answered: not the network."
            .to_owned(),
        evidence,
        next_steps: vec![
            "check on the peer that the memory region was registered with remote access, is still \
             registered, and covers the address and length"
                .to_owned(),
        ],
    })
}
