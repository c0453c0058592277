//! What one direction says of the other.

use std::time::Duration;

use roce_common::sequence::{SequenceKind, SequencePacket, read_span};
use roce_common::wire::{Nak, RNR_TIMER_MICROSECONDS, RocePacket, Syndrome};

use super::Sequences;
use crate::timeline::{Event, Moment};

impl Sequences {
    /// Tells the responses that the requester asks for them again.
    pub(super) fn ask_again(
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

    /// Writes down what a NAK or RNR NAK says.
    pub(super) fn note_nak(&mut self, index: usize, packet: &RocePacket, moment: Moment) {
        let record = &mut self.records[index];
        let psn = packet.bth.psn();
        let event = match packet.aeth().map(|aeth| aeth.syndrome()) {
            Some(Syndrome::RnrNak { timer_code }) => {
                let timer = RNR_TIMER_MICROSECONDS.get(usize::from(timer_code));
                let timer_us = timer.copied().unwrap_or(0);
                let wait = Duration::from_micros(timer_us.into());
                record.notes.get_or_insert_default().refuse(psn, moment, wait);
                Event::RnrNak { psn: psn.get(), timer_us }
            }
            Some(Syndrome::Nak(nak)) => {
                if let Some(notes) = &mut record.notes {
                    notes.ask_for(psn, moment);
                }
                Event::Nak { code: nak.name(), psn: psn.get() }
            }
            _ => return,
        };
        record.recorder.note(moment, event, &mut self.budget);
    }

    /// PSNs that a READ takes, 0 when that cannot be said. Before it, the engine learns the path MTU.
    pub(super) fn read_span(
        &mut self,
        index: usize,
        peer: Option<usize>,
        packet: &RocePacket,
    ) -> u32 {
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
    pub(super) fn tell(
        &mut self,
        peer: usize,
        answer: &SequencePacket,
        packet: &RocePacket,
        moment: Moment,
    ) {
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
}
