//! The responder refused access to its memory.

use super::confidence::{CERTAIN, DIRECT};
use super::{Case, Evidence, Finding, Opinion, evidence, missing, reading};
use crate::explain::WcStatus;

/// A NAK says it on the wire, the status says it at the requester.
pub(super) fn judge(case: &Case) -> Opinion {
    let refusals = reading::naks(case).remote_access_error;
    let has_status = case.failure.status == Some(WcStatus::REM_ACCESS);
    if refusals == 0 && !has_status {
        let is_hidden = reading::status(case).is_none() && reading::are_naks_cut(case);
        return if is_hidden { Opinion::CannotTell(missing::NAK_CODES) } else { Opinion::RuledOut };
    }
    let mut evidence = evidence::of_status(case);
    if refusals > 0 {
        evidence.push(Evidence::new("NAK remote access error", refusals));
    }
    Opinion::Fits(Finding {
        confidence: if refusals > 0 && has_status { CERTAIN } else { DIRECT },
        text: "The peer refused access to its memory: wrong key, address out of range, or missing \
               permission. The request arrived and was answered: not the network."
            .to_owned(),
        evidence,
        next_steps: vec![
            "check on the peer that the memory region was registered with remote access, is still \
             registered, and covers the address and length"
                .to_owned(),
            "for GPU memory: check that the peer's GPUDirect module is loaded and PCIe ACS is off \
             (lsmod | grep -E 'nvidia_peermem|nv_peer_mem'; lspci -vvv | grep ACSCtl)"
                .to_owned(),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::testing::{
        answered_before, asking, cannot_tell, fits, is_sure, refused, seen, tap, told,
    };
    use crate::diagnosis::{Answers, Place};
    use crate::flow::NakReport;

    #[test]
    fn wire_and_status_are_worth_more_than_one() {
        let naks = NakReport { remote_access_error: 1, ..NakReport::default() };
        let mut case = refused(naks);
        is_sure(&fits(judge(&case)), DIRECT);
        case.failure.status = Some(WcStatus::REM_ACCESS);
        is_sure(&fits(judge(&case)), CERTAIN);
        is_sure(&fits(judge(&told(WcStatus::REM_ACCESS))), DIRECT);
    }

    #[test]
    fn other_refusals_are_not_it() {
        let naks = NakReport { remote_operational_error: 1, ..NakReport::default() };
        assert_eq!(judge(&refused(naks)), Opinion::RuledOut);
        assert_eq!(judge(&told(WcStatus::LOC_PROT)), Opinion::RuledOut);
    }

    #[test]
    fn acks_without_their_syndrome_do_not_tell() {
        let cut = Answers { naks: None, ..answered_before() };
        let mut case = seen(vec![tap(Place::OnTheWay, asking(3), cut)]);
        cannot_tell(&judge(&case));
        case.failure.status = Some(WcStatus::RETRY_EXC);
        assert_eq!(judge(&case), Opinion::RuledOut, "the status tells");
    }
}
