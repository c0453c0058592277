//! The flow table: bounded probing, a lock in each slot, and a fallback for what finds no place.

use crate::atomic;
use crate::maps::{NARROW_COLD, NARROW_SLOTS, SPILL, WIDE_COLD, WIDE_SLOTS};
use crate::settings::{HASH_SEED, MARKING, NARROW_LEN, WEAK_MEMORY_ORDER, WIDE_LEN};
use crate::tap::Tap;
use aya_ebpf::bindings::BPF_NOEXIST;
use aya_ebpf::maps::Array;
use core::ptr::addr_of_mut;
use roce_common::flow::{
    ColdAccess, FlowCold, FlowKey, FlowSlot, NarrowKey, Observation, SlotLock, SpillCount, SpillKey,
    WideKey, account, hash_narrow, hash_wide, slot_index,
};
use roce_common::wire::{PacketRead, RocePacket};

/// Slots that are looked at for one packet.
const MAX_PROBES: u32 = 16;
/// Attempts to take a lock. Its holder works for some ten nanoseconds and is not preempted.
const MAX_LOCK_ATTEMPTS: u32 = 64;

/// Why a packet is not in its slot.
#[derive(Clone, Copy)]
pub(crate) enum Missed {
    TableFull,
    SlotBusy,
}

/// Counts a packet that fits the narrow table.
#[inline(always)]
pub(crate) fn count_narrow<R: PacketRead>(
    frame: &R,
    packet: &RocePacket,
    tap: u8,
    seen: &Observation,
) -> Option<Missed> {
    let key = NarrowKey::of(frame, packet, tap)?;
    let len = NARROW_LEN.load();
    let home = slot_index(hash_narrow(&key, HASH_SEED.load()), len);
    Table { slots: &NARROW_SLOTS, cold: &NARROW_COLD, len }.count(&key, home, seen)
}

/// Counts any other packet.
#[inline(always)]
pub(crate) fn count_wide<R: PacketRead>(
    frame: &R,
    packet: &RocePacket,
    tap: u8,
    seen: &Observation,
) -> Option<Missed> {
    let key = WideKey::of(frame, packet, tap)?;
    let len = WIDE_LEN.load();
    let home = slot_index(hash_wide(&key, HASH_SEED.load()), len);
    Table { slots: &WIDE_SLOTS, cold: &WIDE_COLD, len }.count(&key, home, seen)
}

/// Counts a packet in the fallback map, or without its flow when that is full too.
#[inline(always)]
pub(crate) fn spill<R: PacketRead>(frame: &R, packet: &RocePacket, tap: Tap<'_>, missed: Missed) {
    match missed {
        Missed::TableFull => tap.counters.table_full += 1,
        Missed::SlotBusy => tap.counters.slot_busy += 1,
    }
    let count = SpillKey::of(frame, packet, tap.id).and_then(|key| spill_count(&key));
    let Some(count) = count else {
        tap.counters.other_packets += 1;
        tap.counters.other_bytes += packet.wire_bytes as u64;
        return;
    };
    // SAFETY: the verifier bounds the value, and its fields are aligned words.
    unsafe {
        atomic::add(addr_of_mut!((*count).packets), 1);
        atomic::add(addr_of_mut!((*count).wire_bytes), packet.wire_bytes as u64);
        atomic::add(addr_of_mut!((*count).payload_bytes), packet.payload_bytes as u64);
    }
}

#[inline(always)]
fn spill_count(key: &SpillKey) -> Option<*mut SpillCount> {
    if let Some(count) = SPILL.get_ptr_mut(key) {
        return Some(count);
    }
    let zero = SpillCount { packets: 0, wire_bytes: 0, payload_bytes: 0 };
    // Another CPU may have put it there in the meantime; the lookup tells.
    let _ = SPILL.insert(key, zero, BPF_NOEXIST as u64);
    SPILL.get_ptr_mut(key)
}

struct Table<K: 'static> {
    slots: &'static Array<FlowSlot<K>>,
    cold: &'static Array<FlowCold>,
    len: u32,
}

impl<K: FlowKey + 'static> Table<K> {
    /// Finds or takes the slot of `key` and counts the packet there.
    #[inline(always)]
    fn count(&self, key: &K, home: u32, seen: &Observation) -> Option<Missed> {
        let Some((slot, index)) = self.find(key, home) else { return Some(Missed::TableFull) };
        // SAFETY: `find` gives a slot of the table.
        let lock = unsafe { addr_of_mut!((*slot).lock) };
        let Some(before) = take(lock) else { return Some(Missed::SlotBusy) };
        // SAFETY: the lock is held, so nobody else writes to the slot or its cold part.
        let slot = unsafe { &mut *slot };
        if slot.key != *key {
            if slot.key.tag().is_some() {
                // Another CPU was faster to put another flow there.
                release(lock, before);
                return Some(Missed::SlotBusy);
            }
            slot.key = *key;
        }
        let cold = ColdOf { cold: self.cold, index };
        let after = account(slot, before, seen, &MARKING.load(), cold);
        release(lock, after);
        None
    }

    /// The slot of `key`, or the first free one where it may be put.
    #[inline(always)]
    fn find(&self, key: &K, home: u32) -> Option<(*mut FlowSlot<K>, u32)> {
        let mut index = home;
        let mut free = None;
        for _ in 0..MAX_PROBES {
            let slot = self.slots.get_ptr_mut(index)?;
            // SAFETY: the verifier bounds the slot. Its key changes only under its lock; a torn read
            // is a mismatch here or is found out once the lock is held.
            let found = unsafe { &(*slot).key };
            if found == key {
                return Some((slot, index));
            }
            if found.tag().is_none() {
                free = free.or(Some(index));
                if found.tagged_qp() == K::EMPTY {
                    break;
                }
            }
            index += 1;
            if index >= self.len {
                index = 0;
            }
        }
        let index = free?;
        Some((self.slots.get_ptr_mut(index)?, index))
    }
}

struct ColdOf {
    cold: &'static Array<FlowCold>,
    index: u32,
}

impl<'a> ColdAccess<'a> for ColdOf {
    #[inline(always)]
    fn cold(self) -> Option<&'a mut FlowCold> {
        let cold = self.cold.get_ptr_mut(self.index)?;
        // SAFETY: the lock of the slot with this index is held, and it guards its cold part.
        Some(unsafe { &mut *cold })
    }
}

/// Takes a slot's lock; its word before, or `None` when another CPU keeps it.
#[inline(always)]
fn take(lock: *mut u32) -> Option<SlotLock> {
    for _ in 0..MAX_LOCK_ATTEMPTS {
        // SAFETY: a lock is an aligned word of a slot.
        let before = SlotLock(unsafe { atomic::exchange(lock, SlotLock::LOCKED) });
        if !before.is_locked() {
            return Some(before);
        }
    }
    None
}

/// Gives the lock back with the slot's new state.
#[inline(always)]
fn release(lock: *mut u32, state: SlotLock) {
    // SAFETY: a lock is an aligned word of a slot, and this program holds it.
    unsafe {
        if WEAK_MEMORY_ORDER.load() != 0 {
            atomic::exchange(lock, state.0);
        } else {
            // Where stores are not reordered a plain one releases, for a third of the price.
            lock.write_volatile(state.0);
        }
    }
}
