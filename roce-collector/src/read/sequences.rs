//! The PSN engine over the records of a file.

use roce_common::flow::WideKey;
use roce_common::sequence::{
    Histograms, PacketClass, RetryLadder, Sequence, SequenceKind, SequencePacket, SequenceState,
    SequenceTotals, SequenceWord, read_span,
};
use roce_common::wire::{
    Ecn, IcrcCheck, Nak, Opcode, Operation, RNR_TIMER_MICROSECONDS, RocePacket, Syndrome,
};

use super::copies::{Copies, Fingerprint};
use crate::capture::{TapLoss, Timestamp};
use crate::flow::{RetriesReport, SequenceReport, Spread};
use crate::pair::{CmEvent, Pairing, QpPair};
use crate::timeline::{Budget, Change, Event, Moment, Packet, Recorder};

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

/// What the engine keeps for one record.
#[derive(Debug, Default)]
struct RecordSequence {
    word: SequenceWord,
    state: SequenceState,
    /// The totals when `counts` was last brought up to date.
    counted: SequenceTotals,
    counts: SequenceReport,
    copies: Copies,
    last_seen: Option<Timestamp>,
    /// Some packet had a PSN with a place among others.
    has_order: bool,
    /// Some packet had a right ICRC, so a wrong one means damage.
    has_good_icrc: bool,
    /// Payload of First and Middle packets; 0 when none was seen.
    path_mtu: u32,
    largest_payload: u32,
    recorder: Recorder,
    /// Distributions when they were last added to `spread`.
    looked_at: Histograms,
    spread: Spread,
    /// Packets since then.
    since_look: u16,
    /// The longest retry ladder.
    retries: Option<RetryLadder>,
    /// The state of the tap when the last packet came.
    tap: TapState,
    /// And the PSN that was due when its statistics came.
    at_statistics: SequenceWord,
}

/// Packets after which distributions are added up: their counters have 16 bits.
const BETWEEN_LOOKS: u16 = 1 << 15;

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

/// What is known of one record in the end.
#[derive(Debug)]
pub(super) struct RecordOutcome {
    /// Counters; `None` where PSNs have no order.
    pub counts: Option<SequenceReport>,
    /// Path MTU, if learnt.
    pub path_mtu: Option<u32>,
    /// What happened.
    pub recorder: Recorder,
    /// Distributions.
    pub spread: Spread,
    /// The longest retry ladder.
    pub retries: Option<RetriesReport>,
}

impl RecordSequence {
    fn sequence(&mut self) -> Sequence<'_> {
        Sequence { word: &mut self.word, state: &mut self.state }
    }

    fn update_counts(&mut self) {
        self.counts.advance(&self.counted, &self.state.totals);
        self.counted = self.state.totals;
    }

    /// Adds up distributions before their counters wrap.
    fn look(&mut self) {
        self.spread.advance(&self.looked_at, &self.state.spread);
        self.looked_at = self.state.spread;
        self.since_look = 0;
    }

    /// Remembers the ladder that the sender is on, when it is the longest so far. One rewind that a NAK asked
    /// for is none.
    fn note_retries(&mut self) {
        let is_long = |ladder: &RetryLadder| ladder.tries > 1 || ladder.longest_silence_us > 0;
        let ladder = self.state.acks.ladder().filter(is_long);
        if ladder.is_some() && ladder.map(|it| it.tries) >= self.retries.map(|it| it.tries) {
            self.retries = ladder;
        }
    }

    /// The longest ladder; it was answered, unless the sender is on it still.
    fn retries(&self) -> Option<RetriesReport> {
        let report = RetriesReport::of(&self.retries?);
        Some(RetriesReport { answered: self.state.acks.ladder() != self.retries, ..report })
    }

    /// The tap lost packets since the word was `since`.
    fn note_tap_loss(&mut self, since: SequenceWord, moment: Moment, budget: &mut Budget) {
        let before = self.state.totals.unseen;
        self.sequence().note_tap_loss(since);
        let packets = self.state.totals.unseen.wrapping_sub(before);
        if packets > 0 {
            self.update_counts();
            self.recorder.note(moment, Event::TapLost { packets }, budget);
        }
    }

    fn learn_mtu(&mut self, operation: Operation, payload: u32) {
        self.largest_payload = self.largest_payload.max(payload);
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
            record.learn_mtu(operation, packet.payload_bytes);
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
        let record = &mut self.records[index];
        record.last_seen = record.last_seen.max(time);
        record.has_order |= kind.has_order();
        let is_due = record.word.is_due(psn, span, kind);
        let before = (!is_due).then_some(record.state.totals);
        let due = record.word.next();
        let since = record.word;
        if record.tap.statistics != self.tap.statistics {
            record.at_statistics = since;
        }
        let has_lost = record.tap.losses != self.tap.losses;
        let class = record.sequence().observe(&sequence);
        if class == PacketClass::InOrder && asks_for_answer(packet) {
            record.sequence().start_rtt(psn, sequence.time_us);
        }
        let is_new_rewind =
            before.is_some_and(|before| before.rewinds() != record.state.totals.rewinds());
        if class != PacketClass::InOrder {
            record.update_counts();
        }
        if class == PacketClass::TapDuplicate {
            return;
        }
        record.tap = self.tap;
        let seen = Packet { moment, psn, opcode };
        record.recorder.see(seen);
        if packet.traffic_class.ecn() == Ecn::Ce {
            record.recorder.mark(moment, &mut self.budget);
        }
        if let Some(before) = &before {
            let after = &record.state.totals;
            let change = Change { class, due, span, idle, before, after };
            record.recorder.change(seen, &change, &mut self.budget);
            if before.rewinds() != after.rewinds() {
                record.note_retries();
            }
        }
        if has_lost {
            record.note_tap_loss(since, moment, &mut self.budget);
        }
        record.since_look += 1;
        if record.since_look == BETWEEN_LOOKS {
            record.look();
        }
        if kind == SequenceKind::Acknowledge {
            self.note_nak(index, packet, moment);
        }
        if let Some(peer) = peer {
            // Only the first READ of a rewind names the response that is missing.
            if is_new_rewind && kind == SequenceKind::Read {
                self.ask_again(index, peer, &sequence, moment);
            } else {
                self.tell(peer, &sequence, packet, moment);
            }
        }
    }

    /// Tells the responses that the requester asks for them again.
    fn ask_again(
        &mut self,
        requests: usize,
        responses: usize,
        read: &SequencePacket,
        moment: Moment,
    ) {
        let is_answered = self.records[requests].state.acks.has_acknowledged(read.psn);
        let Some(record) = self.records.get_mut(responses) else { return };
        let before = record.state.totals;
        record.sequence().note_asked_again(read.psn, read.span, is_answered);
        record.recorder.hear_read_again(moment, read.psn);
        record.update_counts();
        let after = &record.state.totals;
        record.recorder.answered(moment, read.psn, &before, after, &mut self.budget);
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
        }
        if packet.traffic_class.ecn() == Ecn::Ce {
            recorder.mark(moment, &mut self.budget);
        }
        for qp in self.pairing.datagram(key, packet, frame, moment) {
            self.restart(qp);
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

    /// Writes down what a NAK or RNR NAK says.
    fn note_nak(&mut self, index: usize, packet: &RocePacket, moment: Moment) {
        let psn = packet.bth.psn().get();
        let event = match packet.aeth().map(|aeth| aeth.syndrome()) {
            Some(Syndrome::RnrNak { timer_code }) => {
                let timer = RNR_TIMER_MICROSECONDS.get(usize::from(timer_code));
                Event::RnrNak { psn, timer_us: timer.copied().unwrap_or(0) }
            }
            Some(Syndrome::Nak(nak)) => Event::Nak { code: nak_code(nak), psn },
            _ => return,
        };
        self.records[index].recorder.note(moment, event, &mut self.budget);
    }

    /// PSNs that a READ takes, 0 when that cannot be said. Before it, the engine learns the path MTU.
    fn read_span(&mut self, index: usize, peer: Option<usize>, packet: &RocePacket) -> u32 {
        let records = [Some(index), peer].into_iter().flatten().filter_map(|i| self.records.get(i));
        let (mtu, payload) = records.fold((0, 0), |(mtu, payload): (u32, u32), record| {
            (mtu.max(record.path_mtu), payload.max(record.largest_payload))
        });
        let mut requests = self.records[index].sequence();
        if mtu != 0 && requests.awaits_mtu() {
            requests.note_path_mtu(mtu);
        }
        packet.dma_len().map_or(0, |dma_len| read_span(dma_len, mtu, payload))
    }

    /// Tells the other direction what this packet says of it.
    fn tell(&mut self, peer: usize, answer: &SequencePacket, packet: &RocePacket, moment: Moment) {
        let Some(record) = self.records.get_mut(peer) else { return };
        let &SequencePacket { psn, kind, time_us, .. } = answer;
        let before = (!record.word.is_calm()).then_some(record.state.totals);
        let mut sequence = record.sequence();
        if kind.is_response() {
            let aeth = packet.aeth().map_or(0, |aeth| aeth.word());
            sequence.note_answer(kind, psn, aeth, time_us);
        } else if kind == SequenceKind::Acknowledge {
            // Of a packet that was cut before its AETH, nobody knows what it says.
            let Some(aeth) = packet.aeth() else { return };
            sequence.note_answer(kind, psn, aeth.word(), time_us);
            match aeth.syndrome() {
                Syndrome::Nak(Nak::PsnSequenceError) => record.recorder.hear_nak(moment, psn),
                Syndrome::RnrNak { .. } => record.recorder.hear_rnr(moment, psn),
                _ => {}
            }
        } else {
            return;
        }
        if let Some(before) = &before {
            record.update_counts();
            record.recorder.answered(moment, psn, before, &record.state.totals, &mut self.budget);
        }
        if kind == SequenceKind::Acknowledge
            && let Some(responses) = self.pairing.responses_to(peer)
            && let Some(responses) = self.records.get_mut(responses)
        {
            responses.sequence().note_answered(psn);
        }
    }

    fn restart(&mut self, records: usize) {
        if let Some(record) = self.records.get_mut(records) {
            record.sequence().restart();
            record.update_counts();
        }
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
        let outcome = |(record, path_mtu): (RecordSequence, u32)| RecordOutcome {
            counts: record.has_order.then_some(record.counts),
            path_mtu: (path_mtu != 0).then_some(path_mtu),
            spread: record.spread,
            retries: record.retries(),
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
fn asks_for_answer(packet: &RocePacket) -> bool {
    let opcode = packet.bth.opcode();
    !opcode.is_response() && (packet.bth.ack_req() || !opcode.fills_path_mtu())
}

/// As in JSON: see [`crate::flow::NakReport`].
const fn nak_code(nak: Nak) -> &'static str {
    match nak {
        Nak::PsnSequenceError => "psn_sequence_error",
        Nak::InvalidRequest => "invalid_request",
        Nak::RemoteAccessError => "remote_access_error",
        Nak::RemoteOperationalError => "remote_operational_error",
        Nak::InvalidRdRequest => "invalid_rd_request",
        Nak::Unknown(_) => "unknown",
    }
}

fn micros(time: Timestamp) -> u32 {
    (time.as_nanos() / 1_000) as u32
}
