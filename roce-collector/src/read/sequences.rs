//! The PSN engine over the records of a file.

use roce_common::flow::WideKey;
use roce_common::psn::Psn;
use roce_common::sequence::{
    PacketClass, Sequence, SequenceKind, SequencePacket, SequenceTotals, SequenceWord, Window,
    read_span,
};
use roce_common::wire::{IcrcCheck, Nak, Operation, RocePacket, Syndrome, Transport};

use super::copies::{Copies, Fingerprint};
use crate::capture::Timestamp;
use crate::flow::SequenceReport;
use crate::pair::{Pairing, QpPair};

/// One state for each record of the store, with the same indexes.
#[derive(Debug, Default)]
pub(super) struct Sequences {
    records: Vec<RecordSequence>,
    pairing: Pairing,
}

/// What the engine keeps for one record.
#[derive(Debug, Default)]
struct RecordSequence {
    word: SequenceWord,
    window: Window,
    totals: SequenceTotals,
    /// `totals` when `counts` was last brought up to date.
    counted: SequenceTotals,
    counts: SequenceReport,
    copies: Copies,
    last_seen: Option<Timestamp>,
    /// Some packet had a right ICRC, so a wrong one means damage.
    has_good_icrc: bool,
    /// Payload of First and Middle packets; 0 when none was seen.
    path_mtu: u32,
    largest_payload: u32,
}

/// What is known of one record in the end.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordOutcome {
    /// Counters; `None` where PSNs have no order.
    pub counts: Option<SequenceReport>,
    /// Path MTU, if learnt.
    pub path_mtu: Option<u32>,
}

impl RecordSequence {
    fn sequence(&mut self) -> Sequence<'_> {
        Sequence { word: &mut self.word, window: &mut self.window, totals: &mut self.totals }
    }

    fn update_counts(&mut self) {
        self.counts.advance(&self.counted, &self.totals);
        self.counted = self.totals;
    }

    /// Rewinds so far.
    const fn rewinds(&self) -> u32 {
        self.totals.go_back_n_episodes.wrapping_add(self.totals.timeouts)
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
    /// Takes a packet of the record `index`.
    pub(super) fn packet(
        &mut self,
        index: usize,
        key: &WideKey,
        packet: &RocePacket,
        frame: &[u8],
        time: Option<Timestamp>,
        icrc: IcrcCheck,
    ) {
        if self.records.len() <= index {
            self.records.resize_with(index + 1, RecordSequence::default);
        }
        let record = &mut self.records[index];
        record.has_good_icrc |= icrc == IcrcCheck::Good;
        if icrc == IcrcCheck::Bad && record.has_good_icrc {
            return;
        }
        let operation = packet.bth.opcode().operation();
        let kind = kind_of(packet.bth.opcode().transport(), operation);
        if kind == SequenceKind::Untracked {
            for qp in self.pairing.datagram(key, packet, frame) {
                self.restart(qp);
            }
            return;
        }
        if !packet.is_first_fragment {
            record.learn_mtu(operation, packet.payload_bytes);
        }
        let psn = packet.bth.psn();
        let is_copy =
            time.is_some_and(|time| record.copies.is_copy(Fingerprint::of(packet, frame), time));
        let idle = match (time, record.last_seen) {
            (Some(now), Some(before)) => {
                u32::try_from(now.since(before).as_micros()).unwrap_or(u32::MAX)
            }
            _ => 0,
        };
        record.last_seen = record.last_seen.max(time);
        let peer = self.pairing.packet(index, key, packet, |candidate| {
            self.records.get(candidate).map(|record| record.word)
        });
        let span = if kind == SequenceKind::Read { self.span(index, peer, packet) } else { 1 };
        let sequence = SequencePacket {
            psn,
            span,
            kind,
            payload: packet.payload_bytes,
            time_ms: time.map_or(0, |time| (time.as_nanos() / 1_000_000) as u16),
            idle,
            is_copy,
        };
        let record = &mut self.records[index];
        let rewinds = record.rewinds();
        let class = record.sequence().observe(&sequence);
        let is_new_rewind = record.rewinds() != rewinds;
        if class != PacketClass::InOrder {
            record.update_counts();
        }
        if let Some(peer) = peer.filter(|_| class != PacketClass::TapDuplicate) {
            self.tell(peer, kind, is_new_rewind, packet);
        }
    }

    fn span(&self, index: usize, peer: Option<usize>, packet: &RocePacket) -> u32 {
        let Some(dma_len) = packet.dma_len() else { return 0 };
        let records = [Some(index), peer].into_iter().flatten().filter_map(|i| self.records.get(i));
        let (mtu, payload) = records.fold((0, 0), |(mtu, payload): (u32, u32), record| {
            (mtu.max(record.path_mtu), payload.max(record.largest_payload))
        });
        read_span(dma_len, mtu, payload)
    }

    /// Tells the other direction what this packet says of it.
    fn tell(&mut self, peer: usize, kind: SequenceKind, is_new_rewind: bool, packet: &RocePacket) {
        let Some(record) = self.records.get_mut(peer) else { return };
        let psn = packet.bth.psn();
        let mut sequence = record.sequence();
        match kind {
            // Only the first READ of a rewind names the response that is missing.
            SequenceKind::Read if is_new_rewind => sequence.note_nak(psn),
            SequenceKind::Acknowledge => match packet.aeth().map(|aeth| aeth.syndrome()) {
                Some(Syndrome::Ack { .. }) => sequence.note_ack(psn),
                Some(Syndrome::Nak(Nak::PsnSequenceError)) => sequence.note_nak(psn),
                Some(Syndrome::RnrNak { .. }) => sequence.note_rnr(psn),
                Some(Syndrome::Nak(_)) => sequence.note_ack(psn.plus(Psn::MAX.get())),
                Some(Syndrome::Reserved(_)) | None => {}
            },
            SequenceKind::ResponseFirst
            | SequenceKind::ResponseMiddle
            | SequenceKind::ResponseLast
            | SequenceKind::ResponseOnly => sequence.note_ack(psn),
            _ => return,
        }
        record.update_counts();
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
    pub(super) fn finish(mut self) -> (Vec<RecordOutcome>, Vec<QpPair>) {
        for record in &mut self.records {
            record.sequence().settle();
            record.update_counts();
        }
        let mtu = |index: usize| self.records.get(index).map_or(0, |record| record.path_mtu);
        let outcome = |(index, record): (usize, &RecordSequence)| {
            let peer = self.pairing.requests_of(index).or(self.pairing.responses_to(index));
            let peer = peer.map_or(0, mtu);
            let path_mtu = record.path_mtu.max(peer);
            RecordOutcome {
                counts: record.word.is_known().then_some(record.counts),
                path_mtu: (path_mtu != 0).then_some(path_mtu),
            }
        };
        let outcomes = self.records.iter().enumerate().map(outcome).collect();
        (outcomes, self.pairing.pairs())
    }
}

fn kind_of(transport: Transport, operation: Operation) -> SequenceKind {
    let is_start = matches!(
        operation,
        Operation::SendFirst
            | Operation::SendOnly
            | Operation::SendOnlyImmediate
            | Operation::SendOnlyInvalidate
            | Operation::RdmaWriteFirst
            | Operation::RdmaWriteOnly
            | Operation::RdmaWriteOnlyImmediate
            | Operation::CompareSwap
            | Operation::FetchAdd
            | Operation::Flush
            | Operation::AtomicWrite
    );
    match (transport, operation) {
        (_, Operation::Unknown(_) | Operation::Cnp) => SequenceKind::Untracked,
        (Transport::Uc, _) if is_start => SequenceKind::UnreliableStart,
        (Transport::Uc, _) => SequenceKind::UnreliableMore,
        (Transport::Rc | Transport::Xrc, Operation::RdmaReadRequest) => SequenceKind::Read,
        (Transport::Rc | Transport::Xrc, Operation::RdmaReadResponseFirst) => {
            SequenceKind::ResponseFirst
        }
        (Transport::Rc | Transport::Xrc, Operation::RdmaReadResponseMiddle) => {
            SequenceKind::ResponseMiddle
        }
        (Transport::Rc | Transport::Xrc, Operation::RdmaReadResponseLast) => {
            SequenceKind::ResponseLast
        }
        (
            Transport::Rc | Transport::Xrc,
            Operation::RdmaReadResponseOnly | Operation::AtomicAcknowledge,
        ) => SequenceKind::ResponseOnly,
        (Transport::Rc | Transport::Xrc, Operation::Acknowledge) => SequenceKind::Acknowledge,
        (Transport::Rc | Transport::Xrc, _) if is_start => SequenceKind::Start,
        (Transport::Rc | Transport::Xrc, _) => SequenceKind::More,
        _ => SequenceKind::Untracked,
    }
}
