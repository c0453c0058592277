//! The rules, one verdict a file.
//!
//! A rule is a pure function of the [`Case`]. It says that its verdict fits, that what is known speaks
//! against it, or what is missing. Order, thresholds and examples: `docs/troubleshooting.md`.

mod access_error;
mod congestion_loss;
mod drop_without_pause;
mod flush_secondary;
mod forward_black_hole;
mod gid_change;
mod link_flap;
mod mismarked_lossy_drop;
mod mtu_black_hole;
mod never_connected;
mod nic_receive_drop;
mod pause_storm;
mod peer_silent;
mod protection_error;
mod receiver_not_ready;
mod remote_operation_error;
mod reordering_only;
mod reverse_black_hole;
#[cfg(test)]
mod tests;
mod unknown;

use super::{
    Case, Diagnosis, Evidence, Finding, Opinion, Sight, Verdict, commands, confidence, evidence,
    missing, path, reading, recent,
};

/// A verdict and the question whether it fits.
type Rule = (Verdict, fn(&Case) -> Opinion);

/// In the order in which they are asked: the first that fits decides.
///
/// What an error source or a NAK says for certain comes before what packets suggest. Causes that hosts
/// count come before symptoms; special reasons for silence come before the place where it begins.
const RULES: [Rule; 18] = [
    (Verdict::AccessError, access_error::judge),
    (Verdict::RemoteOperationError, remote_operation_error::judge),
    (Verdict::ProtectionError, protection_error::judge),
    (Verdict::ReceiverNotReady, receiver_not_ready::judge),
    (Verdict::FlushSecondary, flush_secondary::judge),
    (Verdict::LinkFlap, link_flap::judge),
    (Verdict::GidChange, gid_change::judge),
    (Verdict::PauseStorm, pause_storm::judge),
    (Verdict::MtuBlackHole, mtu_black_hole::judge),
    (Verdict::MismarkedLossyDrop, mismarked_lossy_drop::judge),
    (Verdict::NicReceiveDrop, nic_receive_drop::judge),
    (Verdict::CongestionLoss, congestion_loss::judge),
    (Verdict::DropWithoutPause, drop_without_pause::judge),
    (Verdict::NeverConnected, never_connected::judge),
    (Verdict::ReverseBlackHole, reverse_black_hole::judge),
    (Verdict::PeerSilent, peer_silent::judge),
    (Verdict::ForwardBlackHole, forward_black_hole::judge),
    (Verdict::ReorderingOnly, reordering_only::judge),
];

/// Asks every rule.
pub fn diagnose(case: &Case) -> Diagnosis {
    let mut decided = None;
    let mut ruled_out = Vec::new();
    let mut missing = Vec::new();
    for (verdict, judge) in RULES {
        match acquit(case, verdict).unwrap_or_else(|| judge(case)) {
            Opinion::Fits(finding) if decided.is_none() => decided = Some((verdict, finding)),
            Opinion::Fits(_) => {}
            Opinion::RuledOut => ruled_out.push(verdict),
            Opinion::CannotTell(what) if missing.contains(&what) => {}
            Opinion::CannotTell(what) => missing.push(what),
        }
    }
    let (verdict, mut finding) =
        decided.unwrap_or_else(|| (Verdict::Unknown, unknown::finding(case, &missing)));
    if let Sight::Blind(why) = &case.sight {
        finding.evidence.push(Evidence::new("packets", format!("not seen: {why}")));
        if verdict != Verdict::Unknown {
            finding.text.push_str(" No packets were seen: the tap is blind here.");
        }
    }
    Diagnosis { verdict, finding, ruled_out }
}

/// The network is never blamed for what a peer refused or the own host forbade, nor for a flush: what that
/// follows from is not known.
fn acquit(case: &Case, verdict: Verdict) -> Option<Opinion> {
    if !reading::blames_network(verdict) {
        return None;
    }
    if reading::clears_network(case) {
        return Some(Opinion::RuledOut);
    }
    reading::is_flush(case).then_some(Opinion::CannotTell(missing::FIRST_ERROR))
}
