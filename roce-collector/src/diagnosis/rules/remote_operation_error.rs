//! The responder could not complete the request, or refused it as invalid.

use super::confidence::{CERTAIN, DIRECT};
use super::{Case, Evidence, Finding, Opinion, evidence, missing, reading};
use crate::explain::WcStatus;

/// Statuses with which a requester reports that the responder gave up.
const STATUSES: [WcStatus; 3] = [WcStatus::REM_OP, WcStatus::REM_INV_REQ, WcStatus::REM_ABORT];

pub(super) fn judge(case: &Case) -> Opinion {
    let naks = reading::naks(case);
    let codes = [
        ("NAK remote operational error", naks.remote_operational_error),
        ("NAK invalid request", naks.invalid_request),
        ("NAK invalid RD request", naks.invalid_rd_request),
        ("NAK of an unknown code", naks.unknown),
    ];
    let is_refused = codes.iter().any(|(_, count)| *count > 0);
    let status = reading::status(case);
    let has_status = status.is_some_and(|status| STATUSES.contains(&status));
    if !is_refused && !has_status {
        let is_hidden = status.is_none() && reading::are_naks_cut(case);
        return if is_hidden { Opinion::CannotTell(missing::NAK_CODES) } else { Opinion::RuledOut };
    }
    let mut evidence = evidence::of_status(case);
    let seen = codes.into_iter().filter(|(_, count)| *count > 0);
    evidence.extend(seen.map(|(what, count)| Evidence::new(what, count)));
    let is_invalid =
        naks.invalid_request + naks.invalid_rd_request > 0 || status == Some(WcStatus::REM_INV_REQ);
    let text = if is_invalid {
        "The peer refused the request as invalid: an operation that is not enabled there, a message \
         longer than the buffer posted for it, or too many READs at once. The request arrived and was \
         answered: not the network."
    } else {
        "The peer could not complete the request, for a reason of its own. The request arrived and was \
         answered: not the network."
    };
    let next_step = if is_invalid {
        "compare with the peer: access flags of its queue pair, length of posted receives, \
         max_dest_rd_atomic against the requester's max_rd_atomic"
    } else {
        "look for the peer's own error of the same time: its completions and its dmesg"
    };
    Opinion::Fits(Finding {
        confidence: if is_refused && has_status { CERTAIN } else { DIRECT },
        text: text.to_owned(),
        evidence,
        next_steps: vec![next_step.to_owned()],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::testing::{fits, is_sure, refused, told};
    use crate::flow::NakReport;

    #[test]
    fn codes_and_statuses() {
        let naks = NakReport { remote_operational_error: 1, ..NakReport::default() };
        let mut case = refused(naks);
        is_sure(&fits(judge(&case)), DIRECT);
        case.failure.status = Some(WcStatus::REM_OP);
        is_sure(&fits(judge(&case)), CERTAIN);
        for status in STATUSES {
            is_sure(&fits(judge(&told(status))), DIRECT);
        }
    }

    #[test]
    fn an_invalid_request_is_told_apart() {
        let naks = NakReport { invalid_request: 1, ..NakReport::default() };
        let finding = fits(judge(&refused(naks)));
        assert!(finding.text.contains("invalid"), "{}", finding.text);
        assert!(finding.next_steps[0].contains("max_dest_rd_atomic"));
    }

    #[test]
    fn sequence_errors_and_other_statuses_are_not_it() {
        let naks =
            NakReport { psn_sequence_error: 9, remote_access_error: 1, ..NakReport::default() };
        assert_eq!(judge(&refused(naks)), Opinion::RuledOut);
        assert_eq!(judge(&told(WcStatus::RETRY_EXC)), Opinion::RuledOut);
    }
}
