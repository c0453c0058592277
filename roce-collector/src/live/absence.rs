//! What is said when there are no flows: an empty table would say nothing.

use std::time::Duration;

use super::figures::{count, seconds};
use super::heading::hooks;
use super::{Question, View};

/// A QP in use is not silent for so long.
const PATIENCE: Duration = Duration::from_secs(5);

impl Question {
    /// What was asked for, in words: ` of QP 0x45 from or to 10.0.0.1`; empty for everything.
    pub(super) fn words(self) -> String {
        let qp = self.qp.map(|qp| format!(" of QP {qp:#x}"));
        let peer = self.peer.map(|peer| format!(" from or to {peer}"));
        qp.unwrap_or_default() + &peer.unwrap_or_default()
    }

    const fn is_all(self) -> bool {
        self.qp.is_none() && self.peer.is_none()
    }
}

/// Whether it is time for [`reasons`].
pub(super) fn is_due(view: &View) -> bool {
    view.flows.is_empty() && view.watched >= PATIENCE
}

/// One line that nothing was seen.
pub(super) fn headline(view: &View, question: Question) -> String {
    let roce = if question.is_all() { "RoCE " } else { "" };
    let (what, hooks) = (question.words(), hooks(view));
    if view.watched.is_zero() {
        return format!("no {roce}packet{what} seen yet on {hooks}");
    }
    format!("no {roce}packet{what} seen in {} on {hooks}", seconds(view.watched))
}

/// Why nothing may have been seen, the most likely first.
pub(super) fn reasons(view: &View, question: Question) -> Vec<String> {
    const OFFLOAD: &str = "The NIC handles RDMA itself (hardware offload): then its packets never pass \
        the kernel, where these hooks are. They can be seen on a switch mirror port, on soft-RoCE (rxe), \
        on the ports of a DPU that carry a mirror, or in a capture file (roce-trace read FILE).";
    let mut reasons = view.blind.clone();
    let others = view.taps.iter().map(|tap| tap.watched_packets).sum::<Option<u64>>();
    let elsewhere = "The traffic takes another interface than the ones named above.".to_owned();
    match others {
        Some(others) if others != 0 && !question.is_all() => {
            let others = count(others);
            reasons.push(format!(
                "These hooks work: {others} RoCE packets of other flows passed in this time."
            ));
            if question.qp.is_some() {
                reasons.push(
                    "A packet carries the number of the QP it goes to, not of the one that sent it: until \
                     answers show which two QPs are a pair, ask for the number of its peer to see what \
                     this one sends."
                        .to_owned(),
                );
            }
            reasons.push(
                "Nothing is sent at the moment, or the number is that of an earlier QP.".to_owned(),
            );
            reasons.push(elsewhere);
        }
        _ => {
            if view.blind.is_empty() {
                reasons.push(OFFLOAD.to_owned());
            }
            reasons.push("Nothing is sent at the moment.".to_owned());
            reasons.push(elsewhere);
        }
    }
    reasons
}
