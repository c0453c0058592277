//! A flow table, read and emptied while the kernel writes to it.

use super::DatapathError;
use super::mapped::MappedArray;
use aya::Ebpf;
use roce_common::flow::{FlowCold, FlowKey, FlowSlot, SlotLock};
use std::hint::spin_loop;
use std::ptr::addr_of_mut;
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
}

impl<K: FlowKey> FlowTable<K> {
    pub(super) fn new(
        ebpf: &Ebpf,
        slots: &'static str,
        cold: &'static str,
        len: usize,
    ) -> Result<Self, DatapathError> {
        Ok(Self {
            slots: MappedArray::new(ebpf, slots, len)?,
            cold: MappedArray::new(ebpf, cold, len)?,
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
    pub fn read(&self, index: usize) -> Option<(FlowSlot<K>, FlowCold)> {
        let cold = self.cold.pointer(index)?;
        for _ in 0..MAX_ATTEMPTS {
            let before = self.slot(index)?;
            fence(Ordering::Acquire);
            // SAFETY: as in `slot`; every bit pattern is a valid cold part.
            let cold = unsafe { cold.read_volatile() };
            fence(Ordering::Acquire);
            let after = self.slot(index)?;
            // Every update counts a packet and holds the lock meanwhile; see `FlowSlot`.
            if !SlotLock(before.lock).is_locked()
                && before.lock == after.lock
                && before.packets == after.packets
                && before.bytes_and_class == after.bytes_and_class
                && before.port_and_time == after.port_and_time
                && before.key.is_same(&after.key)
            {
                return Some((after, cold));
            }
            spin_loop();
        }
        None
    }

    /// Takes a record out of the table if it is still as `expected`; its last state.
    pub fn evict(&self, index: usize, expected: &FlowSlot<K>) -> Option<(FlowSlot<K>, FlowCold)> {
        let mut guard = self.lock(index)?;
        let slot = self.slot(index)?;
        if !slot.key.is_same(&expected.key) || slot.packets != expected.packets {
            return None;
        }
        let cold = self.cold.pointer(index)?;
        // SAFETY: the lock is held, so the kernel does not touch the record.
        let last = unsafe { cold.read_volatile() };
        // SAFETY: as above.
        unsafe { cold.write_volatile(FlowCold::default()) };
        guard.vacate(K::REMOVED);
        self.reclaim(index);
        Some((FlowSlot { lock: guard.before, ..slot }, last))
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
            let before = lock.swap(SlotLock::LOCKED, Ordering::AcqRel);
            if !SlotLock(before).is_locked() {
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
