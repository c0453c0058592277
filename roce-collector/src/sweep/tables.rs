//! Where records come from.

use roce_common::event::FlowEvent;
use roce_common::flow::{FlowKey, FlowSlot, NarrowKey, PsnSpace, SpillCount, SpillKey, WideKey};
use roce_common::sequence::SequenceWord;
use roce_common::tap::TapCounters;

use super::Moment;
use crate::bpf::{Datapath, DatapathError, FlowTable, RecordState};
use crate::recorder::{Connection, Recording};

/// One table of records, which others change at any time.
pub trait RecordSource<K> {
    /// Number of slots.
    fn len(&self) -> usize;

    /// Whether there is no slot.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A slot as it is in this moment, perhaps in the middle of an update; `None` past the end.
    fn slot(&self, index: usize) -> Option<FlowSlot<K>>;

    /// One consistent state of a record; `None` when it is updated too quickly.
    fn read(&self, index: usize) -> Option<RecordState<K>>;

    /// Takes a record out if it is still as `expected`; its last state.
    fn evict(&self, index: usize, expected: &FlowSlot<K>) -> Option<RecordState<K>>;

    /// Decides what waits for late packets in a record that no packet comes to any more.
    fn settle(&self, index: usize);

    /// Tells a record that its tap lost packets since its word was `since`.
    fn note_tap_loss(&self, index: usize, since: SequenceWord);

    /// Makes a record of requests and one of their answers, which are of `space`, known to each other.
    fn link(&self, requests: usize, answers: usize, space: PsnSpace);
}

/// All that the kernel programs write.
pub trait Tables {
    /// Records of IPv4 flows.
    fn narrow(&self) -> &dyn RecordSource<NarrowKey>;

    /// Records of IPv6, UD and RoCEv1 flows.
    fn wide(&self) -> &dyn RecordSource<WideKey>;

    /// Side states of the PSN engine, free or not.
    fn sequence_states(&self) -> usize;

    /// Counters of a tap, summed over all CPUs.
    fn tap(&self, tap: u8) -> TapCounters;

    /// The oldest event that nobody has taken.
    fn next_event(&mut self) -> Option<FlowEvent>;

    /// What was recorded of the packets of a connection in trouble, in order; `now` is a moment on both clocks.
    fn recorded(&self, connection: &Connection, now: Moment) -> Recording;

    /// Entries of the fallback map with what they have counted so far.
    ///
    /// # Errors
    /// When the map cannot be read.
    fn spilled(&self) -> Result<Vec<(SpillKey, SpillCount)>, DatapathError>;

    /// Removes an entry of the fallback map.
    ///
    /// # Errors
    /// When the map cannot be changed.
    fn remove_spilled(&mut self, key: &SpillKey) -> Result<(), DatapathError>;
}

impl<K: FlowKey> RecordSource<K> for FlowTable<K> {
    fn len(&self) -> usize {
        self.len()
    }

    fn slot(&self, index: usize) -> Option<FlowSlot<K>> {
        self.slot(index)
    }

    fn read(&self, index: usize) -> Option<RecordState<K>> {
        self.read(index)
    }

    fn evict(&self, index: usize, expected: &FlowSlot<K>) -> Option<RecordState<K>> {
        self.evict(index, expected)
    }

    fn settle(&self, index: usize) {
        self.settle(index);
    }

    fn note_tap_loss(&self, index: usize, since: SequenceWord) {
        self.note_tap_loss(index, since);
    }

    fn link(&self, requests: usize, answers: usize, space: PsnSpace) {
        self.link(requests, answers, space);
    }
}

impl Tables for Datapath {
    fn narrow(&self) -> &dyn RecordSource<NarrowKey> {
        &self.narrow
    }

    fn wide(&self) -> &dyn RecordSource<WideKey> {
        &self.wide
    }

    fn sequence_states(&self) -> usize {
        self.sequence_states as usize
    }

    fn tap(&self, tap: u8) -> TapCounters {
        self.taps.read(tap)
    }

    fn next_event(&mut self) -> Option<FlowEvent> {
        self.events.take()
    }

    fn recorded(&self, connection: &Connection, now: Moment) -> Recording {
        let read = self.recorders.read(|owner| connection.has_record(owner));
        Recording { lost: read.lost, ..Recording::of(read.headers, connection, now) }
    }

    fn spilled(&self) -> Result<Vec<(SpillKey, SpillCount)>, DatapathError> {
        self.spill.entries()
    }

    fn remove_spilled(&mut self, key: &SpillKey) -> Result<(), DatapathError> {
        self.spill.remove(key)
    }
}
