//! What is remembered of records whose sender went back, or whose answers refuse: few.

use std::time::Duration;

use roce_common::psn::Psn;
use roce_common::sequence::{AckState, RetryLadder};

use crate::capture::Timestamp;
use crate::timeline::Moment;

/// Tries and refusals of one record.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    /// Of requests: the ladder that their sender is on, or was on last.
    climb: Option<Climb>,
    /// The longest one before it.
    longest: Option<Climb>,
    /// The last one that no answer but the end of its connection ended.
    ended: Option<Climb>,
    /// Rewinds to PSNs that had been acknowledged.
    after_ack: Option<AfterAck>,
    /// Of answers: the last PSN that was refused for want of a receive.
    refusals: Option<Refusals>,
}

/// A retry ladder with its times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Climb {
    /// The oldest PSN that was sent again.
    pub psn: Psn,
    /// How often; 127 stands for more, too.
    pub tries: u32,
    /// When it was sent again first.
    pub first_try: Option<Timestamp>,
    /// When it was last.
    pub last_try: Option<Timestamp>,
    /// Longest silence before a try.
    pub longest_silence: Duration,
    /// The PSN that was due at the last try.
    pub due: Psn,
    /// Payload of the packet that is sent again, and the largest that was sent before it; `None` for READs.
    pub payload: Option<(u32, u32)>,
    /// Answers seen before the first try; `None` where no record of them is known.
    pub answers_before: Option<u64>,
    /// Whether it was acknowledged in the end.
    pub was_answered: bool,
    /// Whether further PSNs were sent after the last try.
    pub went_on: bool,
    /// Whether PSNs before it are not acknowledged, either, and some are missing here: they are dropped before
    /// the tap, so that no answer is due.
    pub is_behind_gap: bool,
    /// When the queue pair began anew, if the ladder was not answered until then.
    pub ended: Option<Timestamp>,
}

/// Rewinds after silence, to a PSN that had been acknowledged; no new PSN was sent in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AfterAck {
    /// The PSN of the last one.
    pub psn: Psn,
    /// How many.
    pub rewinds: u32,
    /// When the first was.
    pub first: Option<Timestamp>,
    /// When the last was.
    pub last: Option<Timestamp>,
    /// Longest silence before one.
    pub longest_silence: Duration,
    /// The PSN that was due then.
    pub due: Psn,
    /// Whether further PSNs were sent after the last one.
    pub went_on: bool,
}

/// RNR NAKs of one PSN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusals {
    /// The PSN.
    pub psn: Psn,
    /// How many.
    pub count: u64,
    /// When the last answer of this kind was seen, or a NAK that asks for the same PSN.
    pub last: Moment,
    /// Wait that it asked for.
    pub wait: Duration,
}

/// A rewind of requests, as it is seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rewind {
    pub(super) moment: Moment,
    /// The PSN that was due before it.
    pub(super) due: Psn,
    /// Silence before it, if that made it a timeout.
    pub(super) silence: Option<Duration>,
    /// Where it began, if that had been acknowledged.
    pub(super) acknowledged: Option<Psn>,
    pub(super) payload: Option<(u32, u32)>,
    /// Answers seen so far; `None` where no record of them is known.
    pub(super) answers: Option<u64>,
}

impl Notes {
    /// The sender went back; `ladder` is the one that it is on now.
    pub(super) fn rewind(&mut self, rewind: &Rewind, ladder: Option<RetryLadder>) {
        if let Some((psn, silence)) = rewind.acknowledged.zip(rewind.silence) {
            self.rewind_after_ack(rewind, psn, silence);
        }
        let Some(ladder) = ladder else { return };
        let time = rewind.moment.time;
        let is_on = |climb: &Climb| climb.psn == ladder.psn && ladder.tries > 1;
        let before = self.climb.take();
        let same = before.filter(is_on);
        if same.is_none() {
            self.set_aside(before);
        }
        self.climb = Some(Climb {
            psn: ladder.psn,
            tries: ladder.tries,
            first_try: same.map_or(time, |climb| climb.first_try),
            last_try: time,
            longest_silence: Duration::from_micros(ladder.longest_silence_us.into()),
            due: rewind.due,
            payload: same.and_then(|climb| climb.payload).or(rewind.payload),
            answers_before: same.map_or(rewind.answers, |climb| climb.answers_before),
            was_answered: false,
            went_on: false,
            is_behind_gap: false,
            ended: None,
        });
    }

    fn rewind_after_ack(&mut self, rewind: &Rewind, psn: Psn, silence: Duration) {
        let before = self.after_ack.filter(|before| before.due == rewind.due);
        self.after_ack = Some(AfterAck {
            psn,
            rewinds: before.map_or(1, |before| before.rewinds + 1),
            first: before.map_or(rewind.moment.time, |before| before.first),
            last: rewind.moment.time,
            longest_silence: before.map_or(silence, |before| before.longest_silence.max(silence)),
            due: rewind.due,
            went_on: false,
        });
    }

    /// A ladder that is over: it was answered, or the sender was on another one afterwards.
    fn set_aside(&mut self, climb: Option<Climb>) {
        let Some(climb) = climb else { return };
        if climb.ended.is_some() {
            return self.ended = Some(climb);
        }
        if self.longest.is_none_or(|longest| climb.tries >= longest.tries) {
            self.longest = Some(Climb { was_answered: true, ..climb });
        }
    }

    /// The receiver had no receive for `psn`.
    pub(super) fn refuse(&mut self, psn: Psn, moment: Moment, wait: Duration) {
        let before = self.refusals.filter(|before| before.psn == psn);
        let count = before.map_or(1, |before| before.count + 1);
        self.refusals = Some(Refusals { psn, count, last: moment, wait });
    }

    /// The receiver wants `psn`: some say so after each RNR NAK, too.
    pub(super) fn ask_for(&mut self, psn: Psn, moment: Moment) {
        if let Some(refusals) = self.refusals.as_mut().filter(|refusals| refusals.psn == psn) {
            refusals.last = moment;
        }
    }

    /// The queue pair begins anew; `ladder` is the one that its sender was on.
    pub(super) fn restart(&mut self, ladder: Option<RetryLadder>, moment: Moment) {
        self.after_ack = None;
        if let Some(climb) = self.climb.as_mut().filter(|climb| climb.is_of(ladder)) {
            climb.ended = climb.ended.or(moment.time);
        }
    }

    /// Ends the notes: `acks` is how far the peer got, `next` the PSN that would be next, and `has_gaps` says
    /// whether PSNs are missing still.
    pub(super) fn finish(&mut self, acks: &AckState, next: Psn, has_gaps: bool) {
        let ladder = acks.ladder();
        if let Some(climb) = &mut self.climb {
            let gap = acks.acknowledged().map(|psn| climb.psn.distance_from(psn) - 1);
            climb.is_behind_gap = has_gaps && gap.is_some_and(|gap| gap > 0);
            climb.was_answered = climb.ended.is_none() && !climb.is_of(ladder);
            climb.went_on = climb.due != next;
        }
        if let Some(after_ack) = &mut self.after_ack {
            after_ack.went_on = after_ack.due != next;
        }
    }

    /// The ladder that the sender was on at the end, or at that of its connection; else the longest that it
    /// ever was on.
    pub fn ladder(&self) -> Option<Climb> {
        let is_open = |climb: &Climb| !climb.was_answered;
        let open = self.climb.filter(is_open).or(self.ended);
        open.or_else(|| self.climb.into_iter().chain(self.longest).max_by_key(|climb| climb.tries))
    }

    /// Rewinds to PSNs that had been acknowledged, the last of the record.
    pub const fn after_ack(&self) -> Option<AfterAck> {
        self.after_ack
    }

    /// Refusals of the last PSN that was refused.
    pub const fn refusals(&self) -> Option<Refusals> {
        self.refusals
    }
}

impl Climb {
    fn is_of(&self, ladder: Option<RetryLadder>) -> bool {
        ladder.is_some_and(|ladder| ladder.psn == self.psn)
    }
}
