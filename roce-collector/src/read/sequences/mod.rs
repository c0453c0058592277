//! The PSN engine over the records of a file.

mod answers;
mod notes;
mod record;
mod sizes;

use roce_common::flow::WideKey;
use roce_common::psn::Psn;
use roce_common::sequence::{SequenceKind, SequencePacket};
use roce_common::wire::{Ecn, IcrcCheck, Opcode, RocePacket};

use super::copies::Fingerprint;
use crate::capture::{TapLoss, Timestamp};
use crate::flow::{AcknowledgedReport, RetriesReport, SequenceReport, Spread};
use crate::pair::{CmEvent, Pairing, QpPair};
use crate::timeline::{Budget, Event, Moment, Packet, Recorder};

pub use notes::{AfterAck, Climb, Notes, Refusals};
use record::{RecordSequence, Seen};

/// One state for each record of the store, with the same indexes.
#[derive(Debug, Default)]
pub(super) struct Sequences {
    records: Vec<RecordSequence>,
    pairing: Pairing,
    budget: Budget,
    tap: TapState,
}

/// How the capturing side fared.
#[derive(Clone, Copy, Debug, Default)]
struct TapState {
    /// Statistics so far.
    statistics: u32,
    /// Times that it lost packets.
    losses: u32,
}

/// A pause of both directions that is worth a line, in microseconds.
const SILENCE: u32 = 500_000;

/// What is known in the end.
#[derive(Debug)]
pub(super) struct Outcome {
    /// One for each record.
    pub records: Vec<RecordOutcome>,
    /// Which QPs belong together.
    pub pairs: Vec<QpPair>,
    /// Connection manager messages.
    pub connection_events: Vec<CmEvent>,
}

/// What the PSN engine knows of some records.
#[derive(Clone, Debug, Default)]
pub struct SequenceFacts {
    /// Distributions, where there is a value.
    pub spread: Option<Box<Spread>>,
    /// The longest retry ladder.
    pub retries: Option<RetriesReport>,
    /// How far requests were acknowledged.
    pub acknowledged: Option<AcknowledgedReport>,
    /// Tries and refusals, where there are any.
    pub notes: Option<Box<Notes>>,
}

/// What is known of one record in the end.
#[derive(Debug)]
pub(super) struct RecordOutcome {
    /// Counters; `None` where PSNs have no order.
    pub counts: Option<SequenceReport>,
    /// Highest PSN; of a READ the last one it takes.
    pub highest_psn: Option<Psn>,
    /// Path MTU, if learnt.
    pub path_mtu: Option<u32>,
    /// What happened.
    pub recorder: Recorder,
    /// What does not belong to every record.
    pub facts: SequenceFacts,
}

impl Sequences {
    /// Before a frame: how many statistics the file has had, and whether the tap lost packets.
    #[inline]
    pub(super) fn note_statistics(&mut self, statistics: u32, loss: TapLoss) {
        if statistics != self.tap.statistics || loss != TapLoss::None {
            self.note_loss(loss);
            self.tap.statistics = statistics;
        }
    }

    /// The tap lost packets: what is missing since then, it may just not have seen.
    #[cold]
    pub(super) fn note_loss(&mut self, loss: TapLoss) {
        self.tap.losses = self.tap.losses.wrapping_add(u32::from(loss != TapLoss::None));
        if loss != TapLoss::SinceStatistics {
            return;
        }
        for record in &mut self.records {
            let last = record.recorder.last_moment();
            if let Some(moment) = last.filter(|_| record.tap.statistics == self.tap.statistics) {
                let since = record.at_statistics;
                record.note_tap_loss(since, moment, &mut self.budget);
            }
        }
    }

    /// Takes a packet of the record `index`.
    pub(super) fn packet(
        &mut self,
        index: usize,
        key: &WideKey,
        packet: &RocePacket,
        frame: &[u8],
        moment: Moment,
        icrc: IcrcCheck,
    ) {
        if self.records.len() <= index {
            self.records.resize_with(index + 1, RecordSequence::default);
        }
        let record = &mut self.records[index];
        record.has_good_icrc |= icrc == IcrcCheck::Good;
        let (psn, opcode) = (packet.bth.psn(), packet.bth.opcode());
        if icrc == IcrcCheck::Bad && record.has_good_icrc {
            record.recorder.note(moment, Event::Damaged { psn: psn.get() }, &mut self.budget);
            return;
        }
        let time = moment.time;
        let operation = opcode.operation();
        let kind = SequenceKind::of_opcode(opcode);
        if kind == SequenceKind::Untracked {
            self.untracked(index, key, packet, frame, moment);
            return;
        }
        if !packet.is_first_fragment {
            record.learn_mtu(operation, psn, packet.payload_bytes);
        }
        let is_copy =
            time.is_some_and(|time| record.copies.is_copy(Fingerprint::of(packet, frame), time));
        let idle = match (time, record.last_seen) {
            (Some(now), Some(before)) => {
                u32::try_from(now.since(before).as_micros()).unwrap_or(u32::MAX)
            }
            _ => 0,
        };
        let peer = self.pairing.packet(index, key, packet, |candidate| {
            self.records.get(candidate).map(|record| record.word)
        });
        if idle >= SILENCE {
            self.silence(index, moment);
        }
        let (span, payload) = if kind == SequenceKind::Read {
            (self.read_span(index, peer, packet), packet.dma_len().unwrap_or(0))
        } else {
            (1, packet.payload_bytes)
        };
        let sequence = SequencePacket {
            psn,
            span,
            kind,
            payload,
            time_us: time.map_or(0, micros),
            idle,
            is_copy,
        };
        let seen = Seen {
            packet: Packet { moment, psn, opcode },
            sequence: &sequence,
            is_marked: packet.traffic_class.ecn() == Ecn::Ce,
            wants_answer: wants_answer(packet),
            tap: self.tap,
        };
        let record = &mut self.records[index];
        let outcome = record.observe(&seen, &mut self.budget);
        if outcome.is_copy {
            return;
        }
        if outcome.is_new_rewind && !kind.is_response() {
            let answers = self.answers_to(index);
            self.records[index].note_rewind(&seen, answers);
        }
        if kind == SequenceKind::Acknowledge {
            self.note_nak(index, packet, moment);
        }
        if let Some(peer) = peer {
            // Only the first READ of a rewind names the response that is missing.
            if outcome.is_new_rewind && kind == SequenceKind::Read {
                self.ask_again(index, peer, &sequence, moment);
            } else {
                self.tell(peer, &sequence, packet, moment);
            }
        }
    }

    /// A packet without an order: a CNP, a datagram, an unknown opcode.
    fn untracked(
        &mut self,
        index: usize,
        key: &WideKey,
        packet: &RocePacket,
        frame: &[u8],
        moment: Moment,
    ) {
        let recorder = &mut self.records[index].recorder;
        let (psn, opcode) = (packet.bth.psn(), packet.bth.opcode());
        recorder.see(Packet { moment, psn, opcode });
        if opcode == Opcode::CNP {
            recorder.notify(moment, &mut self.budget);
            self.pairing.notification(index, key);
        }
        if packet.traffic_class.ecn() == Ecn::Ce {
            recorder.mark(moment, &mut self.budget);
        }
        for qp in self.pairing.datagram(key, packet, frame, moment) {
            if let Some(record) = self.records.get_mut(qp) {
                record.restart(moment);
            }
        }
    }

    /// The record had no packet for a while: a line, if its pair had none, either.
    fn silence(&mut self, index: usize, moment: Moment) {
        let of_record = |record: usize| self.records.get(record)?.last_seen;
        let Some((now, before)) = moment.time.zip(self.pairing.last_seen(index, of_record)) else {
            return;
        };
        let silent_us = u64::try_from(now.since(before).as_micros()).unwrap_or(u64::MAX);
        if silent_us >= SILENCE.into() {
            let event = Event::Silence { silent_us };
            self.records[index].recorder.note(moment, event, &mut self.budget);
        }
    }

    /// Packets that answered requests of the record `index` so far.
    fn answers_to(&self, index: usize) -> Option<u64> {
        let answers = [self.pairing.responses_to(index), self.pairing.acknowledges_to(index)];
        let packets = answers.into_iter().flatten().filter_map(|index| self.records.get(index));
        packets.map(|record| record.packets).reduce(|sum, packets| sum + packets)
    }

    /// Ends the reading: what is known of each record, and which QPs belong together.
    pub(super) fn finish(mut self) -> Outcome {
        for record in &mut self.records {
            let before = record.state.totals;
            record.sequence().settle();
            record.update_counts();
            record.look();
            let next = record.word.is_known().then(|| record.word.next());
            record.recorder.finish(next, &before, &record.state.totals, &mut self.budget);
        }
        let mtu = |index: usize| self.records.get(index).map_or(0, |record| record.path_mtu);
        let with_peer = |index: usize| {
            let peer = self.pairing.requests_of(index).or(self.pairing.responses_to(index));
            mtu(index).max(peer.map_or(0, mtu))
        };
        let mtus: Vec<_> = (0..self.records.len()).map(with_peer).collect();
        let outcome = |(mut record, path_mtu): (RecordSequence, u32)| RecordOutcome {
            counts: record.has_order.then_some(record.counts),
            highest_psn: record.has_order.then(|| record.word.last()).flatten(),
            path_mtu: (path_mtu != 0).then_some(path_mtu),
            facts: record.facts(),
            recorder: record.recorder,
        };
        Outcome {
            records: self.records.into_iter().zip(mtus).map(outcome).collect(),
            pairs: self.pairing.pairs(),
            connection_events: self.pairing.take_connection_events(),
        }
    }
}

/// Whether the responder answers this request at once: it says so, or it is the last of a message.
fn wants_answer(packet: &RocePacket) -> bool {
    let opcode = packet.bth.opcode();
    !opcode.is_response() && (packet.bth.ack_req() || !opcode.fills_path_mtu())
}

/// Wrapping, as the engine counts time.
fn micros(time: Timestamp) -> u32 {
    (time.as_nanos() / 1_000) as u32
}
