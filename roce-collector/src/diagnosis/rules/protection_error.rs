//! The host's own device refused the host's own buffer.

use super::confidence::DIRECT;
use super::{Case, Finding, Opinion, evidence, reading};
use crate::explain::WcStatus;

/// Nothing of it is seen on the wire: the status alone tells.
pub(super) fn judge(case: &Case) -> Opinion {
    let status = reading::status(case);
    let is_refused = status.is_some_and(|status| {
        [WcStatus::LOC_PROT, WcStatus::LOC_ACCESS, WcStatus::MW_BIND].contains(&status)
    });
    if !is_refused {
        return Opinion::RuledOut;
    }
    Opinion::Fits(Finding {
        confidence: DIRECT,
        text: "The device of this host refused a buffer of this host: no memory region with the right \
               key, length and permissions covers it. Not the network."
            .to_owned(),
        evidence: evidence::of_status(case),
        next_steps: vec![
            "check in the application that the region is registered with local write, still registered \
             when the work is done, and as long as the buffer"
                .to_owned(),
            "for GPU memory: lsmod | grep -E 'nvidia_peermem|nv_peer_mem'; lspci -vvv | grep ACSCtl (ACS \
             between GPU and NIC must be off)"
                .to_owned(),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::testing::{fits, retries_exceeded, told};

    #[test]
    fn statuses_of_the_own_device() {
        for status in [WcStatus::LOC_PROT, WcStatus::LOC_ACCESS, WcStatus::MW_BIND] {
            let finding = fits(judge(&told(status)));
            assert!(finding.text.contains("Not the network"), "{}", finding.text);
            assert_eq!(finding.evidence[0].value, status.to_string());
        }
    }

    #[test]
    fn a_refusal_of_the_peer_is_not_it() {
        assert_eq!(judge(&told(WcStatus::REM_ACCESS)), Opinion::RuledOut);
        assert_eq!(judge(&retries_exceeded()), Opinion::RuledOut);
        assert_eq!(judge(&Case::default()), Opinion::RuledOut);
    }
}
