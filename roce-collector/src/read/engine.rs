//! What one frame of a capture file adds to the picture.

use roce_common::flow::WideKey;
use roce_common::marking::MarkingPolicy;
use roce_common::tap::TapCounters;
use roce_common::wire::{
    EtherType, IcrcCheck, Opcode, Operation, Parsed, RocePacket, SliceReader, check_icrc,
    parse_ethernet, parse_network,
};
use serde::Serialize;

use super::sequences::{Outcome, SequenceFacts, Sequences};
use super::store::{FlowStore, OtherFlows};
use crate::capture::{Frame, LinkType, NetworkStart, TapLoss, Timestamp, network_layer};
use crate::flow::{FlowId, RecordTotals};
use crate::pair::{CmEvent, QpPair};
use crate::timeline::{Moment, Recorder};

/// Reads frames; knows neither files nor clocks.
#[derive(Debug)]
pub struct Engine {
    flows: FlowStore,
    sequences: Sequences,
    tap: Box<TapCounters>,
    counts: FrameCounts,
    marking: MarkingPolicy,
}

/// Frames by what they are.
#[derive(Clone, Copy, Debug, Default)]
pub struct FrameCounts {
    /// All frames.
    pub total: u64,
    /// Frames that are plainly not RoCE.
    pub other: u64,
    /// Frames of which fewer bytes were captured than were on the wire.
    pub truncated: u64,
    /// RoCE packets that were cut before an extended header that matters.
    pub without_headers: u64,
    /// Of these, answers: nobody knows whether they are NAKs.
    pub without_syndrome: u64,
    /// And READ requests: nobody knows how many PSNs they take.
    pub without_read_length: u64,
    /// ICRCs of RoCE packets.
    pub icrc: IcrcCounts,
    /// RoCE packets with the same source and destination MAC address.
    pub same_mac: u64,
    /// The flow of the first of those.
    pub same_mac_flow: Option<FlowId>,
    /// Earliest time of a frame.
    pub first_time: Option<Timestamp>,
    /// Latest time of a frame.
    pub last_time: Option<Timestamp>,
}

/// RoCE packets by the state of their ICRC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct IcrcCounts {
    /// As it was sent.
    pub good: u64,
    /// Bits changed on the way, or the sender computed it wrongly.
    pub bad: u64,
    /// The frame was cut short, or is a fragment.
    pub not_checkable: u64,
}

/// Everything that was read of a file.
#[derive(Debug)]
pub struct Reading {
    /// Totals of every record.
    pub records: Vec<(WideKey, RecordTotals, Option<Timestamp>)>,
    /// What happened to each of them; those at the end may be missing.
    pub recorders: Vec<Recorder>,
    /// What else the PSN engine knows of each, as far.
    pub facts: Vec<SequenceFacts>,
    /// QPs that belong together.
    pub pairs: Vec<QpPair>,
    /// Connection manager messages.
    pub connection_events: Vec<CmEvent>,
    /// Packets of flows beyond the limit.
    pub other_flows: OtherFlows,
    /// RoCE packets by class and marking, malformed frames by reason.
    pub tap: Box<TapCounters>,
    /// Frames by what they are.
    pub counts: FrameCounts,
    /// What was expected of the marking.
    pub marking: MarkingPolicy,
}

impl FrameCounts {
    #[cold]
    fn lacks_headers(&mut self, opcode: Opcode) {
        self.without_headers += 1;
        self.without_syndrome += u64::from(opcode.has_aeth());
        self.without_read_length += u64::from(opcode.operation() == Operation::RdmaReadRequest);
    }
}

impl Engine {
    /// An engine that keeps up to `max_records` flow records; see [`FlowStore::new`].
    pub fn new(max_records: u32, marking: MarkingPolicy) -> Self {
        Self {
            flows: FlowStore::new(max_records, marking),
            sequences: Sequences::default(),
            tap: Box::default(),
            counts: FrameCounts::default(),
            marking,
        }
    }

    /// Reads one frame.
    #[inline]
    pub fn frame(&mut self, frame: &Frame<'_>) {
        let counts = &mut self.counts;
        counts.total += 1;
        counts.truncated += u64::from(frame.wire_len as usize > frame.data.len());
        self.sequences.note_statistics(frame.statistics, frame.loss);
        if let Some(time) = frame.time {
            counts.first_time = Some(counts.first_time.map_or(time, |first| first.min(time)));
            counts.last_time = counts.last_time.max(Some(time));
        }
        match parse(frame) {
            Parsed::Roce(packet) => self.packet(frame, &packet),
            Parsed::NotRoce => self.counts.other += 1,
            Parsed::Malformed(reason) => self.tap.count_reason(reason),
        }
    }

    #[inline]
    fn packet(&mut self, frame: &Frame<'_>, packet: &RocePacket) {
        self.tap.count(packet);
        let icrc = &mut self.counts.icrc;
        let check = check_icrc(frame.data, packet);
        match check {
            IcrcCheck::Good => icrc.good += 1,
            IcrcCheck::Bad => icrc.bad += 1,
            IcrcCheck::NotCheckable => icrc.not_checkable += 1,
        }
        if packet.lacks_headers() {
            self.counts.lacks_headers(packet.bth.opcode());
        }
        // A file is tap 0. The addresses of a packet that was parsed are there.
        let Some(key) = WideKey::of(&SliceReader(frame.data), packet) else { return };
        if has_same_mac(frame) {
            self.counts.same_mac += 1;
            self.counts.same_mac_flow = self.counts.same_mac_flow.or_else(|| FlowId::of(&key));
        }
        if let Some(index) = self.flows.count(&key, packet, frame.time) {
            let moment = Moment { frame: self.counts.total, time: frame.time };
            self.sequences.packet(index, &key, packet, frame.data, moment, check);
        }
    }

    /// What the file said of losses behind its last frame: [`crate::capture::CaptureReader::loss_at_end`].
    pub fn note_loss_at_end(&mut self, loss: TapLoss) {
        self.sequences.note_loss(loss);
    }

    /// Ends the reading.
    pub fn finish(self) -> Reading {
        let other_flows = self.flows.other();
        let mut records = self.flows.into_totals();
        let Outcome { records: outcomes, pairs, connection_events } = self.sequences.finish();
        let mut recorders = Vec::with_capacity(outcomes.len());
        let mut facts = Vec::with_capacity(outcomes.len());
        for ((_, totals, _), outcome) in records.iter_mut().zip(outcomes) {
            totals.sequence = outcome.counts;
            totals.highest_psn = outcome.highest_psn.or(totals.highest_psn);
            totals.path_mtu = outcome.path_mtu;
            recorders.push(outcome.recorder);
            facts.push(outcome.facts);
        }
        Reading {
            other_flows,
            records,
            recorders,
            facts,
            pairs,
            connection_events,
            tap: self.tap,
            counts: self.counts,
            marking: self.marking,
        }
    }
}

#[inline]
fn parse(frame: &Frame<'_>) -> Parsed {
    let reader = SliceReader(frame.data);
    match network_layer(frame.link_type, frame.data) {
        Some(NetworkStart::Ethernet) => parse_ethernet(&reader),
        Some(NetworkStart::Payload { ether_type, offset }) => {
            parse_network(&reader, EtherType(ether_type), offset)
        }
        None => Parsed::NotRoce,
    }
}

#[inline]
fn has_same_mac(frame: &Frame<'_>) -> bool {
    frame.link_type == LinkType::Ethernet && frame.data.get(..6) == frame.data.get(6..12)
}
