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
