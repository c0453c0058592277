//! From the packets of one record to its events.

use roce_common::psn::Psn;
use roce_common::sequence::{PacketClass, SequenceTotals};
use roce_common::wire::Opcode;

use super::log::Noted;
use super::run::Run;
use super::{Budget, Event, FillOutcome, Log, Moment};

/// Writes down what happens to one record.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    pub(super) first: Option<Packet>,
    pub(super) last: Option<Packet>,
    /// Highest PSN sent, known in the end.
    pub(super) highest: Option<Psn>,
    pub(super) log: Option<Box<Log>>,
    /// The last NAK that the peer sent about it.
    pub(super) heard: Option<Heard>,
    marks: Option<Run>,
    notifications: Option<Run>,
    /// Fills inside rewinds that the engine has not decided.
    pub(super) undecided: u32,
}

/// What a packet is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// When it was seen.
    pub moment: Moment,
    /// Its PSN.
    pub psn: Psn,
    /// Its opcode.
    pub opcode: Opcode,
}

/// What the PSN engine made of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// What it turned out to be.
    pub class: PacketClass,
    /// The PSN that was due.
    pub due: Psn,
    /// PSNs that it takes.
    pub span: u32,
    /// Microseconds since the packet before in this record; 0 when not known.
    pub idle: u32,
    /// It begins a rewind, and the peer had answered its PSN or a later one.
    pub was_acknowledged: bool,
    /// Counters before it.
    pub before: &'a SequenceTotals,
    /// And after it.
    pub after: &'a SequenceTotals,
}

/// What the peer said.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heard {
    pub moment: Moment,
    pub psn: Psn,
    pub what: Said,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    Nak,
    NotReady,
    AskedAgain,
}

impl Recorder {
    /// Every packet: the first and the last are remembered.
    #[inline]
    pub fn see(&mut self, packet: Packet) {
        if self.first.is_none() {
            self.first = Some(packet);
        }
        self.last = Some(packet);
    }

    /// What was written down, in order, as far as it was kept.
    pub fn events(&self) -> impl Iterator<Item = (Moment, Event)> + '_ {
        let events = self.log.iter().flat_map(|log| log.events());
        events.map(|noted| (noted.moment, noted.event))
    }

    /// When the first packet was seen.
    pub fn first_moment(&self) -> Option<Moment> {
        Some(self.first?.moment)
    }

    /// When the last packet was seen.
    pub fn last_moment(&self) -> Option<Moment> {
        Some(self.last?.moment)
    }

    /// A packet that was not plainly the one that was due.
    pub fn change(&mut self, packet: Packet, change: &Change<'_>, budget: &mut Budget) {
        let Change { class, due, before, after, .. } = *change;
        let missing = after.missing.wrapping_sub(before.missing);
        if missing > 0 {
            let (psn, last) = (due.get(), packet.psn.plus(Psn::MAX.get()).get());
            self.note(packet.moment, Event::Gap { psn, last, missing }, budget);
        }
        self.decide(packet.moment, before, after, budget);
        match class {
            PacketClass::Retransmission | PacketClass::Fill => self.again(packet, change, budget),
            PacketClass::Reordered => {
                let after_us = self.since_gap(packet);
                let psn = packet.psn.get();
                let outcome = FillOutcome::Late;
                let event = Event::Filled { psn, last: psn, packets: 1, after_us, outcome };
                self.note(packet.moment, event, budget);
            }
            _ => {}
        }
    }

    /// The other direction said something about this record's PSNs up to `psn`, and the engine was told.
    pub fn answered(
        &mut self,
        moment: Moment,
        psn: Psn,
        before: &SequenceTotals,
        after: &SequenceTotals,
        budget: &mut Budget,
    ) {
        let difference =
            |counter: fn(&SequenceTotals) -> u32| counter(after).wrapping_sub(counter(before));
        let psn = psn.get();
        let unseen = difference(|totals| totals.unseen);
        if unseen > 0 {
            self.note(moment, Event::Unseen { psn, packets: unseen }, budget);
        }
        let recovered = difference(|totals| totals.recovered);
        let lost = difference(|totals| totals.lost).saturating_sub(recovered);
        if lost > 0 {
            self.note(moment, Event::LostUnseen { psn, packets: lost }, budget);
        }
        self.decide(moment, before, after, budget);
    }

    /// The receiver of this record's packets waits for `psn`.
    pub const fn hear_nak(&mut self, moment: Moment, psn: Psn) {
        self.heard = Some(Heard { moment, psn, what: Said::Nak });
    }

    /// It had no receive posted for `psn`.
    pub const fn hear_rnr(&mut self, moment: Moment, psn: Psn) {
        self.heard = Some(Heard { moment, psn, what: Said::NotReady });
    }

    /// The READ whose responses this record has was asked for again from `psn` on.
    pub const fn hear_read_again(&mut self, moment: Moment, psn: Psn) {
        self.heard = Some(Heard { moment, psn, what: Said::AskedAgain });
    }

    /// A packet with a CE mark.
    pub fn mark(&mut self, moment: Moment, budget: &mut Budget) {
        let ended = Run::add(&mut self.marks, moment);
        self.note_marks(ended, budget);
    }

    /// A congestion notification.
    pub fn notify(&mut self, moment: Moment, budget: &mut Budget) {
        let ended = Run::add(&mut self.notifications, moment);
        self.note_notifications(ended, budget);
    }

    /// Something that speaks for itself.
    pub fn note(&mut self, moment: Moment, event: Event, budget: &mut Budget) {
        self.log.get_or_insert_default().push(Noted { moment, event }, budget);
    }

    /// Whether the packet of `moment` was a NAK or an RNR NAK.
    pub(super) fn has_refusal(&self, moment: Moment) -> bool {
        let events = self.log.iter().flat_map(|log| log.events());
        events
            .filter(|noted| noted.moment == moment)
            .any(|noted| matches!(noted.event, Event::Nak { .. } | Event::RnrNak { .. }))
    }

    /// Ends the recording; the engine has settled what it could, and the next PSN would be `next`.
    pub fn finish(
        &mut self,
        next: Option<Psn>,
        before: &SequenceTotals,
        after: &SequenceTotals,
        budget: &mut Budget,
    ) {
        self.highest = next.map(|next| next.plus(Psn::MAX.get()));
        let (marks, notifications) = (self.marks.take(), self.notifications.take());
        self.note_marks(marks, budget);
        self.note_notifications(notifications, budget);
        if let Some(last) = self.last {
            self.decide(last.moment, before, after, budget);
        }
    }

    fn note_marks(&mut self, run: Option<Run>, budget: &mut Budget) {
        if let Some(run) = run {
            let event = Event::CeMarks { packets: run.packets, during_us: run.during_us() };
            self.note(run.start, event, budget);
        }
    }

    fn note_notifications(&mut self, run: Option<Run>, budget: &mut Budget) {
        if let Some(run) = run {
            let event = Event::Cnp { packets: run.packets, during_us: run.during_us() };
            self.note(run.start, event, budget);
        }
    }
}
