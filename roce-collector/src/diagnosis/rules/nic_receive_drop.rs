//! The receiving NIC or host dropped packets.

use super::commands::{self, End};
use super::confidence::{LIKELY, STRONG};
use super::{Case, Evidence, Finding, Opinion, evidence, missing, path, reading};

pub(super) fn judge(case: &Case) -> Opinion {
    if !reading::is_in_trouble(case) || path::is_peers_fault(case) {
        return Opinion::RuledOut;
    }
    let sides = [
        (End::Responder, "responder", case.facts.responder.rx_discards),
        (End::Requester, "requester", case.facts.requester.rx_discards),
    ];
    let dropping = sides.iter().find_map(|(end, name, discards)| {
        discards.filter(|count| *count > 0).map(|count| (*end, *name, count))
    });
    let Some((end, name, discards)) = dropping else {
        let is_known = sides.iter().all(|(.., discards)| discards.is_some());
        return if is_known {
            Opinion::RuledOut
        } else {
            Opinion::CannotTell(missing::DROP_COUNTERS)
        };
    };
    let mut evidence = evidence::of_silence(case);
    evidence.extend(evidence::of_loss(case));
    let text = format!("{discards} packets at the {name}");
    evidence.push(Evidence::new("received and dropped by the port", text));
    let is_loss = reading::Loss::of(case).count() > 0;
    Opinion::Fits(Finding {
        confidence: if is_loss { STRONG } else { LIKELY },
        text: format!(
            "The {name}'s own port received packets and dropped them for lack of buffer: the host takes \
             them too slowly, or its buffers are set up wrong. The fabric delivered them."
        ),
        evidence,
        next_steps: vec![
            commands::ethtool(case, end, "discard|out_of_buffer|buf_|no_buf|dropped"),
            commands::qos(case, end),
            format!(
                "{}: PCIe width and speed (lspci -vv | grep LnkSta), IOMMU, NUMA node of the NIC",
                commands::on(case, end)
            ),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::Place;
    use crate::diagnosis::testing::{
        answered_before, asking, cannot_tell, fits, is_sure, losing, retries_exceeded, seen, tap,
    };

    #[test]
    fn the_port_that_drops_is_named() {
        let mut case = retries_exceeded();
        cannot_tell(&judge(&case));
        case.facts.responder.rx_discards = Some(812);
        let finding = fits(judge(&case));
        is_sure(&finding, LIKELY);
        assert!(finding.text.starts_with("The responder's own port"), "{}", finding.text);
        assert!(
            finding.next_steps[0].starts_with("on the responder 10.0.0.2: ethtool -S <interface>")
        );
        case.sight =
            seen(vec![tap(Place::OnTheWay, losing(12, asking(3)), answered_before())]).sight;
        is_sure(&fits(judge(&case)), STRONG);
        case.facts.responder.rx_discards = Some(0);
        cannot_tell(&judge(&case));
        case.facts.requester.rx_discards = Some(7);
        assert!(fits(judge(&case)).text.starts_with("The requester's own port"));
    }

    #[test]
    fn no_drops_or_no_trouble() {
        let mut case = retries_exceeded();
        (case.facts.requester.rx_discards, case.facts.responder.rx_discards) = (Some(0), Some(0));
        assert_eq!(judge(&case), Opinion::RuledOut);
        case.facts.responder.rx_discards = Some(9);
        case.failure.status = None;
        assert_eq!(judge(&case), Opinion::RuledOut);
    }
}
