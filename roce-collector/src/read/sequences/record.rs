//! The PSN engine over one record.

use std::time::Duration;

use roce_common::psn::Psn;
use roce_common::sequence::{
    Histograms, PacketClass, RetryLadder, RewindCause, Sequence, SequenceKind, SequencePacket,
    SequenceState, SequenceTotals, SequenceWord,
};
use roce_common::wire::Operation;

use super::notes::{Notes, Rewind};
use super::sizes::Sizes;
use super::{SequenceFacts, TapState};
use crate::capture::Timestamp;
use crate::flow::{AcknowledgedReport, RetriesReport, SequenceReport, Spread};
use crate::read::copies::Copies;
use crate::timeline::{Budget, Change, Event, Moment, Packet, Recorder};

/// Packets after which distributions are added up: their counters have 16 bits.
const BETWEEN_LOOKS: u64 = 1 << 15;

/// What the engine keeps for one record.
#[derive(Debug, Default)]
pub(super) struct RecordSequence {
    pub word: SequenceWord,
    pub state: SequenceState,
    /// The totals when `counts` was last brought up to date.
    pub counted: SequenceTotals,
    pub counts: SequenceReport,
    pub copies: Copies,
    pub last_seen: Option<Timestamp>,
    /// Some packet had a PSN with a place among others.
    pub has_order: bool,
    /// Some packet had a right ICRC, so a wrong one means damage.
    pub has_good_icrc: bool,
    /// Payload of First and Middle packets; 0 when none was seen.
    pub path_mtu: u32,
    pub largest_payload: u32,
    pub sizes: Sizes,
    pub recorder: Recorder,
    /// Distributions when they were last added to `spread`.
    pub looked_at: Histograms,
    pub spread: Option<Box<Spread>>,
    /// Packets but copies that the tap made.
    pub packets: u64,
    /// The longest retry ladder.
    pub retries: Option<RetryLadder>,
    pub notes: Option<Box<Notes>>,
    /// The state of the tap when the last packet came.
    pub tap: TapState,
    /// And the PSN that was due when its statistics came.
    pub at_statistics: SequenceWord,
}

/// A packet with a PSN.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen<'a> {
    pub packet: Packet,
    pub sequence: &'a SequencePacket,
    /// It has a CE mark.
    pub is_marked: bool,
    /// It is a request that is answered at once.
    pub wants_answer: bool,
    pub tap: TapState,
}

/// What it turned out to be, as far as others want to know.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observed {
    pub is_copy: bool,
    pub is_new_rewind: bool,
}

impl RecordSequence {
    pub(super) fn sequence(&mut self) -> Sequence<'_> {
        Sequence { word: &mut self.word, state: &mut self.state }
    }

    pub(super) fn update_counts(&mut self) {
        self.counts.advance(&self.counted, &self.state.totals);
        self.counted = self.state.totals;
    }

    /// Adds up distributions before their counters wrap.
    pub(super) fn look(&mut self) {
        if self.word.is_known() {
            self.sizes.settle(self.word.next());
        }
        if self.looked_at != self.state.spread {
            let spread = self.spread.get_or_insert_default();
            spread.advance(&self.looked_at, &self.state.spread);
            self.looked_at = self.state.spread;
        }
    }

    /// Remembers the ladder that the sender is on, when it is the longest so far. One rewind that a NAK asked
    /// for is none.
    pub(super) fn note_retries(&mut self) {
        let is_long = |ladder: &RetryLadder| ladder.tries > 1 || ladder.longest_silence_us > 0;
        let ladder = self.state.acks.ladder().filter(is_long);
        if ladder.is_some() && ladder.map(|it| it.tries) >= self.retries.map(|it| it.tries) {
            self.retries = ladder;
        }
    }

    /// Notes a rewind of requests that this packet began; `answers` is how many were seen so far.
    #[cold]
    pub(super) fn note_rewind(&mut self, seen: &Seen<'_>, answers: Option<u64>) {
        let acks = &self.state.acks;
        let Some(episode) = acks.episode() else { return };
        let &SequencePacket { psn, kind, payload, idle, .. } = seen.sequence;
        let begins_here = episode.start == psn;
        let is_timeout = episode.cause == RewindCause::Timeout;
        let rewind = Rewind {
            moment: seen.packet.moment,
            due: self.word.next(),
            silence: is_timeout.then(|| Duration::from_micros(idle.into())),
            // Of a READ, a later response says nothing of the one that is asked for again; but asked for again
            // and again, they are lost on the way back, wherever that is.
            acknowledged: (begins_here && acks.has_acknowledged(psn)).then_some(psn),
            payload: (begins_here && kind != SequenceKind::Read)
                .then(|| (payload, self.sizes.largest_before(psn))),
            answers,
        };
        let ladder = acks.ladder();
        self.notes.get_or_insert_default().rewind(&rewind, ladder);
    }

    /// The queue pair begins anew.
    pub(super) fn restart(&mut self, moment: Moment) {
        if let Some(notes) = &mut self.notes {
            notes.restart(self.state.acks.ladder(), moment);
        }
        self.sizes = Sizes::default();
        self.sequence().restart();
        self.update_counts();
    }

    /// What only some records have.
    pub(super) fn facts(&mut self) -> SequenceFacts {
        let acks = &self.state.acks;
        if let Some(notes) = &mut self.notes {
            notes.finish(acks, self.word.next(), self.counts.open > 0);
        }
        SequenceFacts {
            spread: self.spread.take(),
            // It was answered, unless the sender is on it still.
            retries: self.retries.map(|ladder| RetriesReport {
                answered: acks.ladder() != Some(ladder),
                ..RetriesReport::of(&ladder)
            }),
            acknowledged: AcknowledgedReport::of(acks).filter(|_| acks.acks > 0),
            notes: self.notes.take(),
        }
    }

    /// The tap lost packets since the word was `since`.
    pub(super) fn note_tap_loss(
        &mut self,
        since: SequenceWord,
        moment: Moment,
        budget: &mut Budget,
    ) {
        let before = self.state.totals.unseen;
        self.sequence().note_tap_loss(since);
        let packets = self.state.totals.unseen.wrapping_sub(before);
        if packets > 0 {
            self.update_counts();
            self.recorder.note(moment, Event::TapLost { packets }, budget);
        }
    }

    /// Takes a packet that has a PSN.
    pub(super) fn observe(&mut self, seen: &Seen<'_>, budget: &mut Budget) -> Observed {
        let &Seen { packet, sequence, is_marked, wants_answer, tap } = seen;
        let SequencePacket { psn, span, kind, idle, time_us, .. } = *sequence;
        self.last_seen = self.last_seen.max(packet.moment.time);
        self.has_order |= kind.has_order();
        let since = self.word;
        let before = (!since.is_due(psn, span, kind)).then_some(self.state.totals);
        if self.tap.statistics != tap.statistics {
            self.at_statistics = since;
        }
        let had_acknowledged = before.is_some() && self.state.acks.has_acknowledged(psn);
        let class = self.sequence().observe(sequence);
        if class == PacketClass::InOrder && wants_answer {
            self.sequence().start_rtt(psn, time_us);
        }
        if class != PacketClass::InOrder {
            self.update_counts();
        }
        if class == PacketClass::TapDuplicate {
            return Observed { is_copy: true, is_new_rewind: false };
        }
        self.recorder.see(packet);
        if is_marked {
            self.recorder.mark(packet.moment, budget);
        }
        let mut is_new_rewind = false;
        if let Some(before) = &before {
            let after = &self.state.totals;
            is_new_rewind = before.rewinds() != after.rewinds();
            // Where the rewind began before this packet, answers may have come since. And a later response
            // says nothing of the one that a READ asks for again.
            let begins_here = is_new_rewind
                && !kind.is_response()
                && kind != SequenceKind::Read
                && self.state.acks.episode().is_some_and(|episode| episode.start == psn);
            let change = Change {
                class,
                due: since.next(),
                span,
                idle,
                was_acknowledged: begins_here && had_acknowledged,
                before,
                after,
            };
            self.recorder.change(packet, &change, budget);
            if is_new_rewind {
                self.note_retries();
            }
        }
        if self.tap.losses != tap.losses {
            self.note_tap_loss(since, packet.moment, budget);
        }
        self.tap = tap;
        self.packets += 1;
        if self.packets.is_multiple_of(BETWEEN_LOOKS) {
            self.look();
        }
        Observed { is_copy: false, is_new_rewind }
    }

    pub(super) fn learn_mtu(&mut self, operation: Operation, psn: Psn, payload: u32) {
        self.largest_payload = self.largest_payload.max(payload);
        self.sizes.see(psn, payload);
        let is_full = matches!(
            operation,
            Operation::SendFirst
                | Operation::SendMiddle
                | Operation::RdmaWriteFirst
                | Operation::RdmaWriteMiddle
                | Operation::RdmaReadResponseFirst
                | Operation::RdmaReadResponseMiddle
        );
        if is_full && payload.is_power_of_two() && (256..=4096).contains(&payload) {
            self.path_mtu = payload;
        }
    }
}
