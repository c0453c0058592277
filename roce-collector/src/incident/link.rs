//! Whether two signals speak of one failure, and how sure that is.

use std::sync::Arc;
use std::time::Duration;

use super::CorrelatorLimits;
use super::claim::{Claim, Rank};
use super::end::{Common, End, is_same_kind};
use crate::capture::Timestamp;

/// Two signals of one failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    /// How much they have in common.
    pub(super) weight: u32,
    /// How far apart they are.
    pub(super) distance: u64,
    /// The side that speaks in one is the other side in the other: lines of both hosts.
    pub(super) is_crossed: bool,
    /// They have only a process in common.
    pub(super) is_by_process: bool,
}

/// A number that was given to a new queue pair.
#[derive(Clone, Debug)]
pub(super) struct Birth {
    pub(super) device: Arc<str>,
    pub(super) qp: u32,
    pub(super) time: Timestamp,
}

/// An inventory notices a new queue pair a sweep late: an error this much older may be its own.
const BIRTH_SLACK: Duration = Duration::from_secs(2);

/// What both signals have in common, one way round or the other.
pub(super) fn link(
    one: &Claim,
    other: &Claim,
    births: &[Birth],
    limits: &CorrelatorLimits,
) -> Option<Link> {
    let straight = sides((&one.near, &one.far), (&other.near, &other.far));
    let straight = straight.filter(|(near, far)| is_straight_anchor(*near, *far, one, other));
    let crossed = sides((&one.near, &one.far), (&other.far, &other.near));
    let crossed = crossed.filter(|(near, far)| is_crossed_anchor(*near, *far, one, other));
    let weight = |(near, far): (Common, Common)| near.weight() + far.weight();
    let (weight, (near, far), is_crossed) = [(straight, false), (crossed, true)]
        .into_iter()
        .filter_map(|(common, is_crossed)| Some((weight(common?), common?, is_crossed)))
        // What fits both ways round is taken as it stands.
        .max_by_key(|(weight, _, is_crossed)| (*weight, !is_crossed))?;
    let has_qp = near.qp || far.qp;
    let has_address = far.ip || near.queue || is_crossed;
    let is_repeat =
        !has_qp && !one.rank.is_dependent() && !other.rank.is_dependent() && !is_crossed;
    let lines = if is_repeat { limits.repeat_lines } else { limits.join_lines };
    let is_of_both_hosts = is_crossed && one.rank.is_logged() && other.rank.is_logged();
    let within = match (has_qp || is_of_both_hosts, has_address) {
        (true, _) => limits.join,
        (false, true) => limits.join_by_address,
        (false, false) => limits.join_by_process,
    };
    let distance = one.place.distance(&other.place, within, lines)?;
    if has_qp && is_born_between(one, other, births) {
        return None;
    }
    let is_by_process = !has_qp && !has_address;
    Some(Link { weight, distance, is_crossed, is_by_process })
}

/// What two pairs of sides have in common; `None` when one contradicts.
pub(super) fn sides(one: (&End, &End), other: (&End, &End)) -> Option<(Common, Common)> {
    Some((one.0.common(other.0)?, one.1.common(other.1)?))
}

/// Whether that is enough for signals that speak for the same side.
fn is_straight_anchor(near: Common, far: Common, one: &Claim, other: &Claim) -> bool {
    let (less, more) = (one.rank.min(other.rank), one.rank.max(other.rank));
    // Two failures of a process may have nothing to do with each other; what follows from a failure has.
    let may_follow = less.is_dependent() && (less != Rank::Failed || more != Rank::Failed);
    let is_consequence = less == Rank::Flush || (less == Rank::Event && less != more);
    near.qp
        || far.qp
        || far.ip
        || near.queue
        || (near.process && may_follow)
        || (near.source && is_consequence)
}

/// Whether that is enough for signals of both sides. Hosts number their queue pairs alike, so one number alone
/// is not, unless packets go to one that this host lists.
fn is_crossed_anchor(near: Common, far: Common, one: &Claim, other: &Claim) -> bool {
    let is_listed = |listed: &Claim, common: Common, seen: &Claim| {
        listed.rank == Rank::Failed && common.qp && seen.near.expected.is_some()
    };
    (near.qp && far.qp)
        || (near.ip && far.ip)
        || ((near.qp || far.qp) && (near.ip || far.ip))
        || is_listed(one, near, other)
        || is_listed(other, far, one)
}

/// Whether a queue pair of this host that one names was made between them: then they mean two.
fn is_born_between(one: &Claim, other: &Claim, births: &[Birth]) -> bool {
    let (Some(first), Some(last)) = (one.place.time, other.place.time) else { return false };
    let (first, last) = (first.min(last), first.max(last));
    let is_own = |claim: &Claim, birth: &Birth| {
        let device = claim.near.device.as_deref();
        let is_of_this_host = claim.rank.is_logged() || device.is_some();
        is_of_this_host
            && claim.near.qp == Some(birth.qp)
            && device
                .is_none_or(|name| *name == *birth.device || !is_same_kind(name, &birth.device))
    };
    births.iter().any(|birth| {
        (is_own(one, birth) || is_own(other, birth))
            && birth.time <= last
            && birth.time.since(first) >= BIRTH_SLACK
    })
}
