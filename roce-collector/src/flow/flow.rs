//! Records joined to flows.

use std::collections::HashMap;

use roce_common::flow::{FlowKey, PsnSpace, RecordTag, WideKey};
use roce_common::tap::{NAK_COUNTERS, NAK_RNR};
use roce_common::wire::Transport;

use super::{FlowId, RecordTotals, RetriesReport, SideTotals, Spread};
use crate::capture::Timestamp;

/// One record as [`Flow::join`] takes it.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Its key, also when it comes from the narrow table.
    pub key: WideKey,
    /// Its totals.
    pub totals: &'a RecordTotals,
    /// When its last packet was seen, where known.
    pub last_seen: Option<Timestamp>,
}

/// Everything that goes from one host to one QP of another: requests, responses, and CNPs.
#[derive(Clone, Debug)]
pub struct Flow<'a> {
    /// Identity.
    pub id: FlowId,
    /// When the last packet was seen, where known.
    pub last_seen: Option<Timestamp>,
    records: Vec<(RecordTag, &'a RecordTotals)>,
}

impl<'a> Flow<'a> {
    /// Joins records. Those without packets are left out; the order of the flows is that of their
    /// identities.
    ///
    /// CNPs belong to the RC, XRC or UC flow to the same QP. Where there is none, they are a flow of
    /// their own.
    pub fn join(records: impl IntoIterator<Item = Record<'a>>) -> Vec<Self> {
        let mut flows: HashMap<FlowId, Self> = HashMap::new();
        let mut notifications = Vec::new();
        for record in records {
            let (Some(id), Some(tag)) = (FlowId::of(&record.key), record.key.tag()) else {
                continue;
            };
            if record.totals.packets == 0 {
                continue;
            }
            if id.transport == Transport::Cnp {
                notifications.push((id, tag, record));
            } else {
                flows.entry(id).or_insert_with(|| Self::new(id)).add(tag, &record);
            }
        }
        for (id, tag, record) in notifications {
            let joined = [Transport::Rc, Transport::Xrc, Transport::Uc]
                .map(|transport| FlowId { transport, ..id })
                .into_iter()
                .find(|id| flows.contains_key(id))
                .unwrap_or(id);
            flows.entry(joined).or_insert_with(|| Self::new(joined)).add(tag, &record);
        }
        let mut flows: Vec<_> = flows.into_values().collect();
        for flow in &mut flows {
            flow.records.sort_by_key(|(tag, _)| (tag.transport() == Transport::Cnp, tag.space()));
        }
        flows.sort_unstable_by_key(|flow| flow.id.order());
        flows
    }

    fn new(id: FlowId) -> Self {
        Self { id, last_seen: None, records: Vec::new() }
    }

    fn add(&mut self, tag: RecordTag, record: &Record<'a>) {
        self.records.push((tag, record.totals));
        self.last_seen = self.last_seen.max(record.last_seen);
    }

    /// The records of the flow with their tags: requests, responses, CNPs.
    pub fn records(&self) -> impl Iterator<Item = (RecordTag, &'a RecordTotals)> {
        self.records.iter().copied()
    }

    /// The record of the flow's own requests. A flow of nothing but responses or CNPs has none.
    pub fn requests(&self) -> Option<&'a RecordTotals> {
        self.records()
            .find(|(tag, _)| tag.space() == PsnSpace::Request && tag.transport() != Transport::Cnp)
            .map(|(_, totals)| totals)
    }

    /// The record of READ responses and atomic acknowledges to the peer's requests.
    pub fn responses(&self) -> Option<&'a RecordTotals> {
        self.records().find(|(tag, _)| tag.space() == PsnSpace::Response).map(|(_, totals)| totals)
    }

    /// Sum of one counter over all records.
    pub fn sum(&self, counter: impl Fn(&RecordTotals) -> u64) -> u64 {
        self.records.iter().map(|(_, totals)| counter(totals)).sum()
    }

    /// Packets.
    pub fn packets(&self) -> u64 {
        self.sum(|totals| totals.packets)
    }

    /// Congestion notification packets.
    pub fn cnps(&self) -> u64 {
        let cnps = self.records().filter(|(tag, _)| tag.transport() == Transport::Cnp);
        cnps.map(|(_, totals)| totals.opcodes[0]).sum()
    }

    /// Packets by ECN codepoint, in the order of its two bits.
    pub fn ecn(&self) -> [u64; 4] {
        std::array::from_fn(|codepoint| self.sum(|totals| totals.ecn[codepoint]))
    }

    /// Negative acknowledgements by [`roce_common::tap::nak_index`].
    pub fn naks(&self) -> [u64; NAK_COUNTERS] {
        std::array::from_fn(|index| self.sum(|totals| totals.naks[index]))
    }

    /// Distributions of all records, as far as the records have them themselves.
    pub fn spread(&self) -> Spread {
        let mut sum = Spread::default();
        for side in self.sides() {
            sum.add(&side.spread);
        }
        sum
    }

    /// The retry ladder that its sender is on, else the longest that it was on, likewise.
    pub fn retries(&self) -> Option<RetriesReport> {
        let ladders = |side: &SideTotals| Some((side.longest_ladder?, side.ladder));
        let (longest, now) = self.sides().find_map(ladders)?;
        let report = RetriesReport::of(&now.unwrap_or(longest));
        Some(RetriesReport { answered: now.is_none(), ..report })
    }

    /// Tries of the retry ladder that its sender is on.
    pub fn ladder(&self) -> Option<u32> {
        self.sides().find_map(|side| side.ladder).map(|ladder| ladder.tries)
    }

    fn sides(&self) -> impl Iterator<Item = &'a SideTotals> {
        self.records().filter_map(|(_, totals)| totals.side.as_deref())
    }

    /// QP of the sender, where its packets say it or a record of the other direction is known.
    pub fn src_qp(&self) -> Option<u32> {
        self.id.src_qp.or_else(|| self.records().find_map(|(_, totals)| totals.peer_qp))
    }

    /// RNR NAKs.
    pub fn rnr_naks(&self) -> u64 {
        self.naks()[usize::from(NAK_RNR)]
    }
}
