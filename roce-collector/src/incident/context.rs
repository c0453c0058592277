//! Events that may explain a failure that comes after them: a port that went down, a changed GID table.

use std::collections::VecDeque;
use std::sync::Arc;

use super::claim::Claim;
use super::end::{End, is_same_kind};
use super::group::{Context, Group};
use super::words::words;
use super::{CorrelatorLimits, Signal, TimelineEntry};
use crate::capture::Timestamp;
use crate::explain::{Cause, ErrorRecord};

/// Entries of the time line of one failure.
const MAX_ENTRIES: usize = 32;

/// The latest events.
#[derive(Debug, Default)]
pub(super) struct Events {
    events: VecDeque<(Arc<Signal>, Claim)>,
    pub(super) left_out: u64,
}

/// How well an event fits a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fit {
    /// It is of the same host, as far as is known; whether of the same port is not.
    Perhaps,
    /// It is of the same device, or told by the same process.
    Certain,
}

impl Events {
    /// Keeps an event.
    pub(super) fn add(&mut self, signal: Arc<Signal>, claim: Claim, limits: &CorrelatorLimits) {
        let taken = claim.place.taken;
        while self.events.front().is_some_and(|(_, old)| {
            // Events of files are all taken at one time.
            taken.since(old.place.taken) > limits.context
        }) {
            self.events.pop_front();
        }
        if self.events.len() >= limits.max_context {
            self.events.pop_front();
            self.left_out += 1;
        }
        self.events.push_back((signal, claim));
    }

    /// What happened before a failure on one of its hosts.
    pub(super) fn before(&self, group: &Group, limits: &CorrelatorLimits) -> Context {
        let mut context = Context::default();
        for (signal, claim) in self.events.iter().rev() {
            let Signal::Log { record, .. } = &**signal else { continue };
            if !is_in_time(claim, group, limits) {
                continue;
            }
            let Some(fit) = fit(&claim.near, group, record) else { continue };
            if context.entries.len() < MAX_ENTRIES {
                context.entries.push(TimelineEntry { t: record.time, what: words(signal) });
            }
            if fit == Fit::Certain {
                add_blame(&mut context.blamed, record);
            }
        }
        context.entries.reverse();
        context.blamed.reverse();
        context
    }
}

/// The latest event of each kind counts; they come from the latest to the earliest.
fn add_blame(blamed: &mut Vec<(Cause, Option<Timestamp>)>, record: &ErrorRecord) {
    if let Some(cause) = record.cause()
        && blamed.iter().all(|(known, _)| *known != cause)
    {
        blamed.push((cause, record.time));
    }
}

/// Not long before the first signal, and not after the last one.
fn is_in_time(event: &Claim, group: &Group, limits: &CorrelatorLimits) -> bool {
    let last = group.last();
    let is_later = match (event.place.time, last.time) {
        (Some(event), Some(last)) => event > last,
        _ => match (&event.place.line, &last.line) {
            (Some((log, event)), Some((other, last))) => log == other && event > last,
            _ => false,
        },
    };
    !is_later && event.place.distance(last, limits.context, u64::MAX).is_some()
}

/// Whether an event is of a host and port of the failure.
fn fit(event: &End, group: &Group, record: &ErrorRecord) -> Option<Fit> {
    let sides = [group.near(), group.far()];
    sides.into_iter().filter_map(|side| fit_of_side(event, side, group, record)).max_by_key(|fit| {
        match fit {
            Fit::Perhaps => 0,
            Fit::Certain => 1,
        }
    })
}

fn fit_of_side(event: &End, side: &End, group: &Group, record: &ErrorRecord) -> Option<Fit> {
    let is_same_process = match (&event.process, &side.process) {
        (Some(event), Some(side)) => {
            let is_comparable = event.is_kernel == side.is_kernel;
            if is_comparable
                && event.host.is_some()
                && side.host.is_some()
                && event.host != side.host
            {
                return None;
            }
            event.pid.is_some() && event.pid == side.pid && event.host == side.host
        }
        // The other side is of another host, of which nothing but its address is known.
        (_, None) if side.device.is_none() => return None,
        _ => false,
    };
    let netdev = group.netdev();
    match (record.device.as_deref(), side.device.as_deref()) {
        (Some(event), Some(device)) if event == device => Some(Fit::Certain),
        (Some(event), Some(device)) if is_same_kind(event, device) => None,
        (Some(event), _) if netdev.is_some_and(|netdev| *netdev == *event) => Some(Fit::Certain),
        (Some(event), _) if netdev.is_some_and(|netdev| is_same_kind(netdev, event)) => None,
        _ if is_same_process => Some(Fit::Certain),
        _ => Some(Fit::Perhaps),
    }
}
