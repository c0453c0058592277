//! Flow records of one capture file.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use roce_common::flow::{FlowCold, FlowSlot, Observation, WideKey, WideSlot, account, hash_wide};
use roce_common::marking::MarkingPolicy;
use roce_common::sequence::SequenceWord;
use roce_common::wire::RocePacket;
use serde::Serialize;

use crate::capture::Timestamp;
use crate::flow::{Record, RecordSnapshot, RecordTotals};

/// Header bytes over all records after which those that count much are looked at. A record must be
/// looked at before its own header bytes reach 2^32.
const HEADER_BYTES_BETWEEN_LOOKS: u64 = 1 << 31;

/// Header bytes of one record from which on a look takes its counters. What stays behind is small: all
/// looks together keep fewer than 2^32.
const HEADER_BYTES_WORTH_TAKING: u32 = 1 << 24;

/// The same slots and cold parts as the kernel's table, found by a hash table of indexes.
#[derive(Debug)]
pub struct FlowStore {
    index: HashTable<u32>,
    slots: Vec<WideSlot>,
    cold: Vec<FlowCold>,
    last_seen: Vec<Option<Timestamp>>,
    /// Counters taken so far, of the records that count enough to wrap.
    taken: HashMap<u32, Taken>,
    other: OtherFlows,
    header_bytes: u64,
    between_looks: u64,
    worth_taking: u32,
    seed: u64,
    max_records: u32,
    marking: MarkingPolicy,
}

#[derive(Debug, Default)]
struct Taken {
    before: RecordSnapshot,
    totals: RecordTotals,
}

/// Packets of flows that the store had no room for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OtherFlows {
    /// Packets.
    pub packets: u64,
    /// Bytes from the Ethernet header to the end of the IP packet.
    pub wire_bytes: u64,
}

impl FlowStore {
    /// A store for up to `max_records` records; a flow takes one for its requests, one for responses and
    /// one for CNPs. Memory grows with the records in use: about 300 bytes for each.
    pub fn new(max_records: u32, marking: MarkingPolicy) -> Self {
        Self {
            index: HashTable::new(),
            slots: Vec::new(),
            cold: Vec::new(),
            last_seen: Vec::new(),
            taken: HashMap::new(),
            other: OtherFlows::default(),
            header_bytes: 0,
            between_looks: HEADER_BYTES_BETWEEN_LOOKS,
            worth_taking: HEADER_BYTES_WORTH_TAKING,
            // Nobody who writes a capture file can aim at one bucket.
            seed: RandomState::new().hash_one(0),
            max_records,
            marking,
        }
    }

    /// Counts a packet in the record of `key`, and returns the number of the record, if there is room.
    #[inline]
    pub fn count(
        &mut self,
        key: &WideKey,
        packet: &RocePacket,
        time: Option<Timestamp>,
    ) -> Option<usize> {
        let Some(index) = self.find_or_add(key) else {
            self.other.packets += 1;
            self.other.wire_bytes += u64::from(packet.wire_bytes);
            return None;
        };
        let (slot, cold) = (&mut self.slots[index], &mut self.cold[index]);
        let seen = Observation::of(packet, 0);
        account(slot, &seen, &self.marking, cold);
        slot.lock = SequenceWord(slot.lock).seen(seen.psn).0;
        self.last_seen[index] = self.last_seen[index].max(time);

        self.header_bytes += u64::from(packet.wire_bytes.saturating_sub(packet.payload_bytes));
        if self.header_bytes >= self.between_looks {
            self.look();
        }
        Some(index)
    }

    #[inline]
    fn find_or_add(&mut self, key: &WideKey) -> Option<usize> {
        let seed = self.seed;
        let slots = &self.slots;
        let hash_of = |index: &u32| spread(hash_wide(&slots[*index as usize].key, seed));
        let is_key = |index: &u32| slots[*index as usize].key == *key;
        let hash = spread(hash_wide(key, seed));
        if let Some(index) = self.index.find(hash, is_key) {
            return Some(*index as usize);
        }
        let new = u32::try_from(self.slots.len()).ok().filter(|len| *len < self.max_records)?;
        if let Entry::Vacant(vacant) = self.index.entry(hash, is_key, hash_of) {
            vacant.insert(new);
        }
        self.slots.push(FlowSlot::new(*key));
        self.cold.push(FlowCold::default());
        self.last_seen.push(None);
        Some(new as usize)
    }

    /// Takes the counters of records that count much, so that no counter wraps between two looks.
    #[cold]
    fn look(&mut self) {
        self.header_bytes = 0;
        for (index, (slot, cold)) in (0..).zip(self.slots.iter().zip(&self.cold)) {
            let now = RecordSnapshot::of(slot, cold, &self.marking);
            let before = self.taken.get(&index).map(|taken| taken.before).unwrap_or_default();
            if now.header_bytes_since(&before) >= self.worth_taking {
                let taken = self.taken.entry(index).or_default();
                taken.totals.advance(&before, &now);
                taken.before = now;
            }
        }
    }

    /// Packets of flows that found no room.
    pub const fn other(&self) -> OtherFlows {
        self.other
    }

    /// The totals of every record.
    pub fn into_totals(mut self) -> Vec<(WideKey, RecordTotals, Option<Timestamp>)> {
        let records = self.slots.iter().zip(&self.cold).zip(&self.last_seen);
        let records = (0..).zip(records).map(|(index, ((slot, cold), last_seen))| {
            let now = RecordSnapshot::of(slot, cold, &self.marking);
            let Taken { before, mut totals } = self.taken.remove(&index).unwrap_or_default();
            totals.advance(&before, &now);
            (slot.key, totals, *last_seen)
        });
        records.collect()
    }
}

/// A record of [`FlowStore::into_totals`] as flows take it.
pub(super) fn record(total: &(WideKey, RecordTotals, Option<Timestamp>)) -> Record<'_> {
    let (key, totals, last_seen) = total;
    Record { key: *key, totals, last_seen: *last_seen }
}

/// The table takes its buckets from the low bits of a hash and its tags from the highest.
#[inline]
fn spread(hash: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}

#[cfg(test)]
mod tests;
