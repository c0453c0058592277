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
