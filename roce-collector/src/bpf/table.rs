//! A flow table, read and emptied while the kernel writes to it.

use super::mapped::MappedArray;
use super::{DatapathError, SequencePool};
use aya::Ebpf;
use roce_common::flow::{FlowCold, FlowKey, FlowSlot, PsnSpace};
use roce_common::sequence::{Sequence, SequenceState, SequenceWord};
use std::hint::spin_loop;
use std::ptr::addr_of_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering, fence};

/// Attempts to read one consistent state, or to take a lock. An update takes some ten nanoseconds.
const MAX_ATTEMPTS: u32 = 256;

/// Removed slots before an empty one that are made empty again in one go.
const MAX_RECLAIMED: usize = 64;

/// Slots and cold parts of one table.
#[derive(Debug)]
pub struct FlowTable<K> {
    slots: MappedArray<FlowSlot<K>>,
    cold: MappedArray<FlowCold>,
    sequences: Arc<SequencePool>,
}

/// One consistent state of a record.
#[derive(Clone, Copy, Debug)]
pub struct RecordState<K> {
    /// Its slot; the lock word is not locked.
    pub slot: FlowSlot<K>,
    /// Its cold part.
    pub cold: FlowCold,
    /// Its side state, if it has needed one.
    pub sequence: Option<SequenceState>,
}

impl<K: FlowKey> FlowTable<K> {
    pub(super) fn new(
        ebpf: &Ebpf,
        slots: &'static str,
        cold: &'static str,
        len: usize,
        sequences: Arc<SequencePool>,
    ) -> Result<Self, DatapathError> {
        Ok(Self {
            slots: MappedArray::new(ebpf, slots, len)?,
            cold: MappedArray::new(ebpf, cold, len)?,
            sequences,
        })
    }

    /// Number of slots.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there are no slots at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The slot as it is in this moment, perhaps in the middle of an update. Good enough to tell
    /// whether it is taken and whether its packet counter moved.
    pub fn slot(&self, index: usize) -> Option<FlowSlot<K>> {
        let slot = self.slots.pointer(index)?;
        // SAFETY: the pointer is valid and aligned. The kernel may write at the same time; every bit
        // pattern is a valid slot, and a volatile read keeps the compiler from reading twice.
        Some(unsafe { slot.read_volatile() })
    }

    /// One consistent state of a record; `None` past the end, or when it is updated too quickly.
    ///
    /// Without the lock: a reader that is interrupted while it holds it would keep packets from their record.
    pub fn read(&self, index: usize) -> Option<RecordState<K>> {
        for _ in 0..MAX_ATTEMPTS {
            let before = self.slot(index)?;
            fence(Ordering::Acquire);
            let (cold, sequence) = self.peek(index)?;
            fence(Ordering::Acquire);
            let slot = self.slot(index)?;
            fence(Ordering::Acquire);
            // Every change is made under the lock, and every packet is counted; see `FlowSlot`. What the other
            // direction says counts no packet here: it changes the side state, and then one of two looks
            // at that, before and after the lock was seen free, differs from the other.
            if !SequenceWord(slot.lock).is_locked()
                && before.packets == slot.packets
                && before.bytes_and_class == slot.bytes_and_class
                && before.port_and_time == slot.port_and_time
                && before.key.is_same(&slot.key)
                && self.peek(index).is_some_and(|(again, sequence_again)| {
                    cold.sequence == again.sequence
                        && cold.run_packets == again.run_packets
                        && sequence == sequence_again
                })
            {
                return Some(RecordState { slot, cold, sequence });
            }
            spin_loop();
        }
        None
    }

    /// Cold part and side state as they are in this moment, perhaps in the middle of an update.
    fn peek(&self, index: usize) -> Option<(FlowCold, Option<SequenceState>)> {
        let cold = self.cold.pointer(index)?;
        // SAFETY: as in `slot`; every bit pattern is a valid cold part.
        let cold = unsafe { cold.read_volatile() };
        Some((cold, self.sequences.read(cold.sequence)))
    }

    /// Lets the PSN engine work on a record that has side state, under the record's lock. `false` when it
    /// has none, or the lock is not to be had.
    pub fn with_sequence(&self, index: usize, engine: impl FnOnce(&mut Sequence<'_>)) -> bool {
        let Some(mut guard) = self.lock(index) else { return false };
        let Some(record) = guard.record() else { return false };
        let (Some(mut state), mut word) = (record.sequence, SequenceWord(guard.before)) else {
            return false;
        };
        engine(&mut Sequence { word: &mut word, state: &mut state });
        self.sequences.write(record.cold.sequence, state);
        guard.after = word.0;
        true
    }

    /// Decides what waits for late packets in a record that no packet comes to any more.
    pub fn settle(&self, index: usize) {
        fn settle(sequence: &mut Sequence<'_>) {
            sequence.settle();
        }
        self.with_sequence(index, settle);
    }

    /// Makes a record of requests and one of their answers, which are of `space`, known to each other.
    pub fn link(&self, requests: usize, answers: usize, space: PsnSpace) {
        // What a record keeps is the index of the other plus 1; no table has 2^32 slots.
        let (to_requests, to_answers) = (requests as u32 + 1, answers as u32 + 1);
        self.change_cold(answers, |cold| cold.peer = to_requests);
        self.change_cold(requests, |cold| match space {
            PsnSpace::Response => cold.responses = to_answers,
            PsnSpace::Acknowledge | PsnSpace::Request => cold.peer = to_answers,
        });
    }

    /// Takes a record that is gone out of those that it was linked to, so that they find its successor.
    fn unlink(&self, index: usize, gone: &FlowCold) {
        let link = index as u32 + 1;
        for other in [gone.peer, gone.responses] {
            let Some(other) = other.checked_sub(1) else { continue };
            self.change_cold(other as usize, |cold| {
                for end in [&mut cold.peer, &mut cold.responses] {
                    if *end == link {
                        *end = 0;
                    }
                }
            });
        }
    }

    /// Changes a cold part under the record's lock; not at all when the lock is not to be had.
    fn change_cold(&self, index: usize, change: impl FnOnce(&mut FlowCold)) {
        let (Some(_guard), Some(cold)) = (self.lock(index), self.cold.pointer(index)) else {
            return;
        };
        // SAFETY: the pointer is valid and aligned, and the lock is held.
        let mut changed = unsafe { cold.read_volatile() };
        change(&mut changed);
        // SAFETY: as above.
        unsafe { cold.write_volatile(changed) };
    }

    /// The tap lost packets since the record's word was `since`.
    pub fn note_tap_loss(&self, index: usize, since: SequenceWord) {
        self.with_sequence(index, |sequence| sequence.note_tap_loss(since));
    }

    /// Takes a record out of the table if it is still as `expected`; its last state.
    pub fn evict(&self, index: usize, expected: &FlowSlot<K>) -> Option<RecordState<K>> {
        let mut guard = self.lock(index)?;
        let last = guard.record()?;
        if !last.slot.key.is_same(&expected.key) || last.slot.packets != expected.packets {
            return None;
        }
        let cold = self.cold.pointer(index)?;
        // SAFETY: the lock is held, so the kernel does not touch the record.
        unsafe { cold.write_volatile(FlowCold::default()) };
        self.sequences.release(last.cold.sequence);
        guard.vacate(K::REMOVED);
        self.reclaim(index);
        drop(guard);
        self.unlink(index, &last.cold);
        Some(last)
    }

    /// Turns removed slots before an empty one into empty ones: no search goes on behind them.
    fn reclaim(&self, removed: usize) {
        let next_is_empty =
            self.slot(removed + 1).is_none_or(|next| next.key.tagged_qp() == K::EMPTY);
        if !next_is_empty {
            return;
        }
        for index in (0..=removed).rev().take(MAX_RECLAIMED) {
            if self.slot(index).is_none_or(|slot| slot.key.tagged_qp() != K::REMOVED) {
                return;
            }
            if index == removed {
                // The caller holds this one's lock.
                self.write_key(index, K::EMPTY);
                continue;
            }
            let Some(mut guard) = self.lock(index) else { return };
            if self.slot(index).is_some_and(|slot| slot.key.tagged_qp() == K::REMOVED) {
                guard.vacate(K::EMPTY);
            }
        }
    }

    fn write_key(&self, index: usize, word: u32) {
        if let Some(slot) = self.slots.pointer(index) {
            // SAFETY: the pointer is valid and aligned, and the slot's lock is held.
            unsafe { addr_of_mut!((*slot).key).write_volatile(K::vacant(word)) };
        }
    }

    fn lock(&self, index: usize) -> Option<Guard<'_, K>> {
        let slot = self.slots.pointer(index)?;
        // SAFETY: the word is aligned and lives as long as the mapping; kernel and user space only
        // change it by exchange, or store to it while they hold it.
        let lock = unsafe { AtomicU32::from_ptr(addr_of_mut!((*slot).lock)) };
        for _ in 0..MAX_ATTEMPTS {
            let before = lock.swap(SequenceWord::LOCKED, Ordering::AcqRel);
            if !SequenceWord(before).is_locked() {
                return Some(Guard { table: self, index, lock, before, after: before });
            }
            spin_loop();
        }
        None
    }
}

/// Holds the lock of a slot and gives it back when dropped.
struct Guard<'a, K: FlowKey> {
    table: &'a FlowTable<K>,
    index: usize,
    lock: &'a AtomicU32,
    before: u32,
    after: u32,
}

impl<K: FlowKey> Guard<'_, K> {
    /// The record as it is, which the lock keeps still.
    fn record(&self) -> Option<RecordState<K>> {
        let slot = FlowSlot { lock: self.before, ..self.table.slot(self.index)? };
        let cold = self.table.cold.pointer(self.index)?;
        // SAFETY: the pointer is valid and aligned, and the lock is held.
        let cold = unsafe { cold.read_volatile() };
        Some(RecordState { slot, cold, sequence: self.table.sequences.read(cold.sequence) })
    }

    /// Empties the slot; `word` says whether searches go on behind it.
    fn vacate(&mut self, word: u32) {
        let Some(slot) = self.table.slots.pointer(self.index) else { return };
        // SAFETY: the pointer is valid and aligned, and the lock is held, so that nobody else writes.
        unsafe {
            addr_of_mut!((*slot).bytes_and_class).write_volatile(0);
            addr_of_mut!((*slot).packets).write_volatile(0);
            addr_of_mut!((*slot).port_and_time).write_volatile(0);
        }
        self.table.write_key(self.index, word);
        self.after = 0;
    }
}

impl<K: FlowKey> Drop for Guard<'_, K> {
    fn drop(&mut self) {
        self.lock.store(self.after, Ordering::Release);
    }
}
