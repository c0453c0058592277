//! Tables in plain memory, written by the accounting that the kernel programs use.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};

use roce_common::event::FlowEvent;
use roce_common::flow::{
    FlowCold, FlowKey, FlowSlot, NarrowKey, Observation, PsnSpace, SpillCount, SpillKey, WideKey,
    account,
};
use roce_common::marking::MarkingPolicy;
use roce_common::sequence::SequenceWord;
use roce_common::tap::TapCounters;
use roce_common::wire::{Parsed, RocePacket, SliceReader, parse_ethernet};

use super::Moment;
use super::{RecordSource, Tables};
use crate::bpf::{DatapathError, RecordState};
use crate::recorder::{Connection, Recording};

type FakeRecord<K> = Option<(FlowSlot<K>, FlowCold)>;

/// A table that is searched from the first slot on.
#[derive(Debug)]
pub(super) struct FakeTable<K> {
    records: RefCell<Vec<FakeRecord<K>>>,
    /// Reads that fail before one succeeds again.
    pub(super) busy_reads: Cell<u32>,
    pub(super) reads: Cell<u32>,
}

/// Both tables, the fallback map, and one set of counters a tap.
#[derive(Debug)]
pub(super) struct FakeTables {
    pub(super) narrow: FakeTable<NarrowKey>,
    pub(super) wide: FakeTable<WideKey>,
    pub(super) taps: Vec<TapCounters>,
    pub(super) spill: HashMap<SpillKey, SpillCount>,
    /// Whether slots are held by somebody else, so that packets go to the fallback map.
    pub(super) is_held: bool,
    /// Events that wait, the oldest first.
    pub(super) events: VecDeque<FlowEvent>,
    /// Side states for its records, all tables together.
    states: usize,
}

impl<K: FlowKey> FakeTable<K> {
    fn new(slots: usize) -> Self {
        let records = RefCell::new(vec![None; slots]);
        Self { records, busy_reads: Cell::new(0), reads: Cell::new(0) }
    }

    /// Whether there was room.
    fn count(&self, key: K, packet: &RocePacket) -> bool {
        let mut records = self.records.borrow_mut();
        let place = match records
            .iter()
            .position(|record| record.as_ref().is_some_and(|(slot, _)| slot.key.is_same(&key)))
        {
            Some(place) => place,
            None => match records.iter().position(Option::is_none) {
                Some(free) => free,
                None => return false,
            },
        };
        let empty = (FlowSlot::new(key), FlowCold::default());
        let (slot, cold) = records[place].get_or_insert(empty);
        let seen = Observation::of(packet, 0);
        account(slot, &seen, &MarkingPolicy::DEFAULT, cold);
        slot.lock = SequenceWord(slot.lock).seen(seen.psn).0;
        true
    }

    pub(super) fn used(&self) -> usize {
        self.records.borrow().iter().flatten().count()
    }
}

impl<K: FlowKey> RecordSource<K> for FakeTable<K> {
    fn len(&self) -> usize {
        self.records.borrow().len()
    }

    fn slot(&self, index: usize) -> Option<FlowSlot<K>> {
        let vacant = FlowSlot::new(K::vacant(K::REMOVED));
        self.records.borrow().get(index).map(|record| record.map_or(vacant, |(slot, _)| slot))
    }

    fn read(&self, index: usize) -> Option<RecordState<K>> {
        self.reads.set(self.reads.get() + 1);
        if self.busy_reads.get() != 0 {
            self.busy_reads.set(self.busy_reads.get() - 1);
            return None;
        }
        self.records.borrow().get(index)?.map(state)
    }

    fn settle(&self, _: usize) {}

    fn note_tap_loss(&self, _: usize, _: SequenceWord) {}

    fn link(&self, _: usize, _: usize, _: PsnSpace) {}

    fn evict(&self, index: usize, expected: &FlowSlot<K>) -> Option<RecordState<K>> {
        let mut records = self.records.borrow_mut();
        let record = records.get_mut(index)?;
        let (slot, _) = record.as_ref()?;
        if !slot.key.is_same(&expected.key) || slot.packets != expected.packets {
            return None;
        }
        record.take().map(state)
    }
}

fn state<K>((slot, cold): (FlowSlot<K>, FlowCold)) -> RecordState<K> {
    RecordState { slot, cold, sequence: None }
}

impl FakeTables {
    pub(super) fn new(slots: usize, taps: usize) -> Self {
        Self {
            narrow: FakeTable::new(slots),
            wide: FakeTable::new(slots),
            taps: vec![TapCounters::default(); taps],
            spill: HashMap::new(),
            is_held: false,
            events: VecDeque::new(),
            states: slots,
        }
    }

    /// What the kernel programs do with a frame at a tap.
    pub(super) fn frame(&mut self, tap: u8, frame: &[u8]) -> RocePacket {
        let reader = SliceReader(frame);
        let Parsed::Roce(packet) = parse_ethernet(&reader) else {
            panic!("not RoCE: {frame:02x?}")
        };
        let wide = WideKey::of(&reader, &packet).expect("addresses").at_tap(tap);
        let counters = &mut self.taps[usize::from(tap)];
        counters.count(&packet);
        if self.is_held {
            counters.slot_busy += 1;
        } else {
            let is_placed = match NarrowKey::of(&reader, &packet) {
                Some(narrow) => self.narrow.count(narrow.at_tap(tap), &packet),
                None => self.wide.count(wide, &packet),
            };
            if is_placed {
                return packet;
            }
            counters.table_full += 1;
        }
        let count = self.spill.entry(SpillKey::of(wide, &packet)).or_default();
        count.packets += 1;
        count.wire_bytes += u64::from(packet.wire_bytes);
        count.payload_bytes += u64::from(packet.payload_bytes);
        packet
    }
}

impl Tables for FakeTables {
    fn narrow(&self) -> &dyn RecordSource<NarrowKey> {
        &self.narrow
    }

    fn wide(&self) -> &dyn RecordSource<WideKey> {
        &self.wide
    }

    fn sequence_states(&self) -> usize {
        self.states
    }

    fn tap(&self, tap: u8) -> TapCounters {
        self.taps[usize::from(tap)]
    }

    fn next_event(&mut self) -> Option<FlowEvent> {
        self.events.pop_front()
    }

    fn recorded(&self, _: &Connection, _: Moment) -> Recording {
        Recording::default()
    }

    fn spilled(&self) -> Result<Vec<(SpillKey, SpillCount)>, DatapathError> {
        Ok(self.spill.iter().map(|(key, count)| (*key, *count)).collect())
    }

    fn remove_spilled(&mut self, key: &SpillKey) -> Result<(), DatapathError> {
        self.spill.remove(key);
        Ok(())
    }
}
