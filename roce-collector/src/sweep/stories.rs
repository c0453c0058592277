//! The latest events of every record that has any.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use roce_common::event::{EventKind, FlowEvent};
use roce_common::flow::{FlowKey, PsnSpace, WideKey};
use roce_common::psn::Psn;
use roce_common::sequence::{self, AckState, MIN_TIMEOUT};
use roce_common::wire::{RNR_TIMER_MICROSECONDS, Syndrome};

use super::Moment;
use super::ladders::{Climb, LadderSteps};
use super::troubles::{LadderWatch, Troubles, VainTries};
use crate::capture::Timestamp;
use crate::flow::FlowId;
use crate::timeline::{Entry, Event, RewindCause};

/// Events that are kept of one record.
const MAX_EVENTS: usize = 64;
const PSN_MASK: u32 = 0x00ff_ffff;
/// Records of which events are kept.
const MAX_RECORDS: usize = 4096;

/// Events by record, oldest first.
#[derive(Debug, Default)]
pub(super) struct Stories {
    records: HashMap<WideKey, Story>,
    /// Events of records beyond the limit.
    pub(super) unplaced: u64,
    /// Number of the next event.
    number: u64,
    /// Warnings that nobody has taken.
    pub(super) ladder_steps: LadderSteps,
}

#[derive(Clone, Debug, Default)]
struct Story {
    told: VecDeque<Told>,
    /// The retry ladder that its sender is on.
    climb: Option<Climb>,
    /// Its tries although the tap sees the answers.
    vain: Option<VainTries>,
    watch: LadderWatch,
}

#[derive(Clone, Copy, Debug)]
struct Told {
    number: u64,
    time: Timestamp,
    event: Event,
}

impl Stories {
    /// Takes an event; `now` is a moment on the wall clock and the same one in nanoseconds since boot.
    pub(super) fn take(&mut self, event: &FlowEvent, now: (Timestamp, u64)) {
        let Some(mut what) = words(event) else { return };
        let (wall, boot_ns) = now;
        let age = boot_ns.saturating_sub(event.time_ns);
        let time = Timestamp::from_nanos(wall.as_nanos().saturating_sub(age));
        self.number += 1;
        if !self.records.contains_key(&event.key) && self.records.len() >= MAX_RECORDS {
            self.forget_oldest();
        }
        let story = self.records.entry(event.key).or_default();
        if let Some(before) = story.told.back() {
            explain(&mut what, before, time);
        }
        story.vain = VainTries::after(story.vain, &what, time);
        story.climb = Climb::after(story.climb, &what, time);
        if let Some(climb) = &story.climb {
            self.ladder_steps.note(&event.key, climb, &what, time);
        }
        let told = Told { number: self.number, time, event: what };
        if story.told.len() == MAX_EVENTS {
            story.told.pop_front();
        }
        story.told.push_back(told);
    }

    /// Forgets the record whose last event is the oldest.
    fn forget_oldest(&mut self) {
        let last = |story: &Story| story.told.back().map_or(0, |told| told.number);
        let oldest = self.records.iter().min_by_key(|(_, story)| last(story)).map(|(key, _)| *key);
        if let Some(story) = oldest.and_then(|key| self.records.remove(&key)) {
            self.unplaced += story.told.len() as u64;
        }
    }

    /// Forgets what is older than `age`.
    pub(super) fn age(&mut self, now: Moment, age: Duration) {
        self.records.retain(|_, story| {
            story.told.back().is_some_and(|told| now.wall.since(told.time) < age)
        });
    }

    /// Tells of senders that do not hear their answers.
    pub(super) fn look_for_trouble(&mut self, troubles: &mut Troubles, now: Timestamp) {
        for (key, story) in &mut self.records {
            let kind = story.watch.look(story.vain.map(|vain| vain.look(now)));
            if let Some((kind, id)) = kind.zip(FlowId::of(key)) {
                troubles.note_requests(&id, None, kind, now);
            }
        }
    }

    /// The events of one record, oldest first.
    pub(super) fn of_record(
        &self,
        id: &FlowId,
        space: PsnSpace,
    ) -> impl DoubleEndedIterator<Item = &Event> {
        let is_its = move |key: &WideKey| {
            key.tag().is_some_and(|tag| tag.space() == space)
                && FlowId::of(key).is_some_and(|other| other == *id)
        };
        let story = self.records.iter().find(|(key, _)| is_its(key)).map(|(_, story)| story);
        story.into_iter().flat_map(|story| &story.told).map(|told| &told.event)
    }

    /// The events of a flow's records, in order; `source_qp` is the QP that sends it, where known. What refuses
    /// its requests is told of them and came from the other side.
    pub(super) fn of_flow(&self, id: &FlowId, source_qp: Option<u32>) -> Vec<Entry> {
        let sender = |event: &Event| match (event, source_qp) {
            (Event::Nak { .. } | Event::RnrNak { .. }, Some(source_qp)) => (id.dst, source_qp),
            _ => (id.src, id.dst_qp),
        };
        let is_its = |key: &WideKey| FlowId::of(key).is_some_and(|other| other == *id);
        let stories = self.records.iter().filter(|(key, _)| is_its(key));
        let entries = stories.flat_map(|(_, story)| &story.told).map(|told| Entry {
            t: Some(told.time),
            frame: told.number,
            src: sender(&told.event).0,
            dst_qp: sender(&told.event).1,
            what: told.event.to_string(),
            event: told.event,
        });
        let mut entries: Vec<_> = entries.collect();
        entries.sort_by_key(|entry| entry.frame);
        entries
    }
}

/// Says how long after the refusal the answer to it came.
fn explain(event: &mut Event, before: &Told, time: Timestamp) {
    let Event::Rewind { psn, cause, .. } = event else { return };
    let elapsed = u64::try_from(time.since(before.time).as_micros()).ok();
    match (before.event, cause) {
        (Event::Nak { psn: refused, .. }, RewindCause::Nak { after_us })
        | (Event::RnrNak { psn: refused, .. }, RewindCause::Rnr { after_us })
            if refused == *psn =>
        {
            *after_us = elapsed;
        }
        _ => {}
    }
}

fn cause_of(event: &FlowEvent) -> RewindCause {
    match sequence::RewindCause::of_word(event.episode) {
        sequence::RewindCause::Nak => RewindCause::Nak { after_us: None },
        sequence::RewindCause::NotReady => RewindCause::Rnr { after_us: None },
        sequence::RewindCause::Timeout => RewindCause::Timeout { silent_us: event.detail.into() },
        sequence::RewindCause::Read => RewindCause::ImpliedNak,
        sequence::RewindCause::Unknown if event.detail >= MIN_TIMEOUT => {
            RewindCause::Timeout { silent_us: event.detail.into() }
        }
        sequence::RewindCause::Unknown => RewindCause::Unexplained,
    }
}

/// Whether the peer had answered the first PSN of a rewind. Where the rewind began before the packet that
/// showed it, answers may have come since.
fn was_acknowledged(event: &FlowEvent) -> bool {
    let is_first = event.episode != 0 && event.episode & PSN_MASK == event.psn;
    let acknowledged = AckState::acknowledged_in(event.acknowledged);
    is_first && acknowledged.is_some_and(|psn| !Psn::new(event.psn).is_after(psn))
}

/// The event as the time line knows it.
fn words(event: &FlowEvent) -> Option<Event> {
    let FlowEvent { psn, count, detail, .. } = *event;
    Some(match EventKind::of_code(event.kind)? {
        EventKind::Gap => {
            Event::Gap { psn, last: detail.wrapping_sub(1) & PSN_MASK, missing: count }
        }
        EventKind::Rewind => {
            let end = psn.wrapping_add(count);
            let start = if event.episode == 0 { psn } else { event.episode & PSN_MASK };
            let packets = end.wrapping_sub(start) & PSN_MASK;
            let last = end.wrapping_sub(1) & PSN_MASK;
            let cause = cause_of(event);
            let was_acknowledged = was_acknowledged(event);
            Event::Rewind { psn: start, last, packets, filled: 0, was_acknowledged, cause }
        }
        EventKind::Nak => match Syndrome::from_byte(detail as u8) {
            Syndrome::RnrNak { timer_code } => {
                let timer = RNR_TIMER_MICROSECONDS.get(usize::from(timer_code));
                Event::RnrNak { psn, timer_us: timer.copied().unwrap_or(0) }
            }
            Syndrome::Nak(nak) => Event::Nak { code: nak.name(), psn },
            Syndrome::Ack { .. } | Syndrome::Reserved(_) => return None,
        },
    })
}
