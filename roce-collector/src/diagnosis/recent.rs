//! Events that may have caused a failure some time later.

use std::time::Duration;

use super::Case;
use super::evidence::span;
use crate::capture::Timestamp;
use crate::explain::Cause;

/// How long before a failure an event may have caused it. A queue pair dies half a minute after the last answer with
/// NCCL's defaults (timeout 20, 7 retries: 34 s); reports from the field have up to 90 s between a port's
/// error and the first failed completion.
pub(super) const WINDOW: Duration = Duration::from_mins(2);
/// Clocks of logs and taps differ, and events are told of late.
const TOLERANCE: Duration = Duration::from_secs(1);

/// How an event lies to the failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Within [`WINDOW`] before it.
    Before(Duration),
    /// One of the times is not known.
    Unclear,
    /// After it, long before it, or with answers since: it is not the cause.
    Unrelated,
}

impl Order {
    /// In words.
    pub(super) fn text(self) -> String {
        match self {
            Self::Before(time) => format!("{} before the failure", span(time)),
            Self::Unclear | Self::Unrelated => "time not known".to_owned(),
        }
    }
}

/// The event that logs blame and that is nearest to the failure.
pub(super) fn blamed(case: &Case, event: Cause) -> Option<Order> {
    let events = case.failure.blamed.iter().filter(|(blamed, _)| *blamed == event);
    events.map(|(_, time)| order(case, *time)).min_by_key(|order| match order {
        Order::Before(time) => *time,
        Order::Unclear => WINDOW,
        Order::Unrelated => Duration::MAX,
    })
}

/// How an event of this time lies to the failure.
pub(super) fn order(case: &Case, event: Option<Timestamp>) -> Order {
    let Some(event) = event else { return Order::Unclear };
    let answered = case.sight.answers().filter_map(|answers| answers.last_seen).max();
    if answered.is_some_and(|answered| answered.since(event) > TOLERANCE) {
        return Order::Unrelated;
    }
    let Some(failure) = case.failure.time else { return Order::Unclear };
    if event.since(failure) > TOLERANCE || failure.since(event) > WINDOW {
        return Order::Unrelated;
    }
    Order::Before(failure.since(event))
}
