//! Events of one record: the first ones, the last ones, and how many were between.

use std::collections::VecDeque;

use super::{Event, Moment};

/// Events kept at either end of a record.
const KEPT: usize = 128;

/// Events that all logs together may still keep.
#[derive(Clone, Copy, Debug)]
pub struct Budget(usize);

impl Default for Budget {
    /// Half a million events: about 40 MiB.
    fn default() -> Self {
        Self(1 << 19)
    }
}

/// An event with its moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Noted {
    pub moment: Moment,
    pub event: Event,
}

/// Events of one record in the order in which they were noted.
#[derive(Clone, Debug, Default)]
pub struct Log {
    first: Vec<Noted>,
    last: VecDeque<Noted>,
    omitted: u64,
    /// Of the first event left out.
    omitted_from: Moment,
}

impl Log {
    /// Notes an event. One that finds no room is only counted, in place of an older one if there is.
    pub(super) fn push(&mut self, noted: Noted, budget: &mut Budget) {
        if self.omitted == 0 && self.first.len() < KEPT && budget.take() {
            self.first.push(noted);
            return;
        }
        if self.last.len() < KEPT && budget.take() {
            self.last.push_back(noted);
            return;
        }
        let forgotten = self.last.pop_front();
        let left_out = if forgotten.is_some() {
            self.last.push_back(noted);
            forgotten
        } else {
            Some(noted)
        };
        if self.omitted == 0
            && let Some(left_out) = left_out
        {
            self.omitted_from = left_out.moment;
        }
        self.omitted += 1;
    }

    /// The latest event that was kept.
    pub(super) fn latest_mut(&mut self) -> Option<&mut Noted> {
        self.last.back_mut().or(self.first.last_mut())
    }

    /// The events, the latest first.
    pub(super) fn backwards_mut(&mut self) -> impl Iterator<Item = &mut Noted> {
        self.last.iter_mut().rev().chain(self.first.iter_mut().rev())
    }

    /// The events, with one that says how many are left out where there are such.
    pub(super) fn events(&self) -> impl Iterator<Item = Noted> + '_ {
        let omitted = (self.omitted > 0).then_some(Noted {
            moment: self.omitted_from,
            event: Event::Omitted { entries: self.omitted },
        });
        self.first.iter().copied().chain(omitted).chain(self.last.iter().copied())
    }
}

impl Budget {
    /// A budget of `events`.
    pub const fn new(events: usize) -> Self {
        Self(events)
    }

    const fn take(&mut self) -> bool {
        let is_left = self.0 > 0;
        self.0 = self.0.saturating_sub(1);
        is_left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(frame: u64) -> Noted {
        Noted { moment: Moment { frame, time: None }, event: Event::ReadyToUse }
    }

    fn frames(log: &Log) -> Vec<u64> {
        log.events().map(|noted| noted.moment.frame).collect()
    }

    #[test]
    fn the_first_and_the_last_are_kept_and_the_rest_is_counted() {
        let mut log = Log::default();
        for frame in 1..=1000 {
            log.push(noted(frame), &mut Budget::default());
        }
        let events: Vec<_> = log.events().collect();
        assert_eq!(events.len(), 2 * KEPT + 1);
        assert_eq!(events[KEPT].event, Event::Omitted { entries: 1000 - 2 * KEPT as u64 });
        assert_eq!(events[KEPT].moment.frame, KEPT as u64 + 1);
        assert_eq!(events.last().map(|noted| noted.moment.frame), Some(1000));
    }

    #[test]
    fn without_a_budget_events_are_counted() {
        let mut budget = Budget::new(2);
        let (mut one, mut other) = (Log::default(), Log::default());
        for frame in 1..=4 {
            one.push(noted(frame), &mut budget);
        }
        other.push(noted(5), &mut budget);
        assert_eq!(frames(&one), [1, 2, 3]);
        let omitted: Vec<_> = other.events().map(|noted| noted.event).collect();
        assert_eq!(omitted, [Event::Omitted { entries: 1 }]);
    }
}
