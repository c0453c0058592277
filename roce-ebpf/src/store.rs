//! The flow table: bounded probing, a lock in each slot, and a fallback for what finds no place.

use crate::atomic;
use crate::maps::{NARROW_COLD, NARROW_SLOTS, SPILL, WIDE_COLD, WIDE_SLOTS};
use crate::observe::{Deferred, deferred};
use crate::opaque::opaque;
use crate::sequence::{self, LastPacket, Turn};
use crate::settings::{HASH_SEED, MARKING, NARROW_LEN, WEAK_MEMORY_ORDER, WIDE_LEN};
use crate::tap::Tap;
use aya_ebpf::bindings::BPF_NOEXIST;
use aya_ebpf::maps::Array;
use core::ptr::{addr_of, addr_of_mut};
use roce_common::config::MAX_PROBES;
use roce_common::flow::{
    ColdAccess, FlowCold, FlowKey, FlowSlot, NarrowKey, Observation, SpillCount, SpillKey, WideKey,
    account, hash_narrow, hash_wide, slot_index,
};
use roce_common::marking::MarkingPolicy;
use roce_common::sequence::SequenceWord;
use roce_common::wire::RocePacket;

/// Attempts to take a lock. Its holder works for some ten nanoseconds and is not preempted.
const MAX_LOCK_ATTEMPTS: u32 = 64;
/// An index that no table has.
const NOWHERE: u32 = u32::MAX;

/// What became of a packet.
#[derive(Clone, Copy)]
pub(crate) enum Counted {
    /// It is in its record.
    Done,
    /// Nothing is done yet: it is the first of its record, or not the one that is due.
    Unusual,
    /// It is in its record, which is still locked: the PSN engine has the next turn.
    Turn,
    /// The table is full.
    TableFull,
    /// Another CPU keeps its slot.
    SlotBusy,
}

const NARROW: Table<NarrowKey> = Table { slots: &NARROW_SLOTS, cold: &NARROW_COLD };
const WIDE: Table<WideKey> = Table { slots: &WIDE_SLOTS, cold: &WIDE_COLD };

/// Counts a packet in the narrow table, if it is the one that its record expects.
#[inline(always)]
pub(crate) fn count_usual(key: &NarrowKey, seen: &Observation) -> Counted {
    let home = narrow_home(key);
    // Most records stand where they are looked for first: no call for them.
    let (index, slot) = if let Some(slot) = NARROW.slot_if_of(home, key) {
        (home, slot)
    } else {
        let index = roce_find_narrow(key.source, key.destination, key.tagged_qp);
        let Some(slot) = NARROW.slots.get_ptr_mut(index) else { return Counted::Unusual };
        (index, slot)
    };
    NARROW.count_usual(index, slot, key, seen)
}

/// Counts the deferred packet in the narrow table.
#[inline(always)]
pub(crate) fn count_narrow(key: &NarrowKey, seen: &Observation) -> Counted {
    NARROW.count(roce_find_narrow(key.source, key.destination, key.tagged_qp), key, seen)
}

/// Counts the deferred packet in the wide table.
#[inline(always)]
pub(crate) fn count_wide(key: &WideKey, seen: &Observation) -> Counted {
    WIDE.count(roce_find_wide(), key, seen)
}

/// Index of the slot for a key, or [`NOWHERE`].
///
/// Not mangled, which makes it a global function: the verifier checks its loop once, for any key.
#[unsafe(no_mangle)]
#[inline(never)]
pub(crate) extern "C" fn roce_find_narrow(source: u32, destination: u32, tagged_qp: u32) -> u32 {
    let key = NarrowKey { source, destination, tagged_qp };
    NARROW.find(&key, narrow_home(&key))
}

/// Index of the slot for the key of the deferred packet, or [`NOWHERE`].
#[unsafe(no_mangle)]
#[inline(never)]
pub(crate) extern "C" fn roce_find_wide() -> u32 {
    let Some(Deferred { key, .. }) = deferred() else { return NOWHERE };
    WIDE.find(key, slot_index(hash_wide(key, HASH_SEED.load()), WIDE_LEN.load()))
}

#[inline(always)]
fn narrow_home(key: &NarrowKey) -> u32 {
    slot_index(hash_narrow(key, HASH_SEED.load()), NARROW_LEN.load())
}

/// Counts a packet in the fallback map, or without its flow when that is full too.
#[inline(always)]
pub(crate) fn spill(flow: WideKey, packet: &RocePacket, tap: Tap<'_>, is_table_full: bool) {
    if is_table_full {
        tap.counters.table_full += 1;
    } else {
        tap.counters.slot_busy += 1;
    }
    let Some(count) = spill_count(&SpillKey::of(flow, packet)) else {
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
}

impl<K: FlowKey + 'static> Table<K> {
    /// Counts the packet in the slot at `index`, if that is its own and expects it.
    #[inline(always)]
    fn count_usual(
        &self,
        index: u32,
        slot: *mut FlowSlot<K>,
        key: &K,
        seen: &Observation,
    ) -> Counted {
        // SAFETY: the verifier bounds the slot.
        let lock = unsafe { addr_of_mut!((*slot).lock) };
        let Some(word) = take(lock) else { return Counted::SlotBusy };
        // SAFETY: the lock is held, so nobody else writes to the slot or its cold part.
        let slot = unsafe { &mut *slot };
        let next = sequence::usual(word, seen, slot.packets);
        if !next.is_known() || !slot.key.is_same(key) {
            release(lock, word);
            return Counted::Unusual;
        }
        account(slot, seen, marking(), ColdOf { cold: self.cold, index });
        release(lock, next);
        Counted::Done
    }

    /// Counts the packet in the slot at `index`, if that still is its own or free.
    #[inline(always)]
    fn count(&self, index: u32, key: &K, seen: &Observation) -> Counted {
        let Some(slot) = self.slots.get_ptr_mut(index) else { return Counted::TableFull };
        // SAFETY: the verifier bounds the slot.
        let lock = unsafe { addr_of_mut!((*slot).lock) };
        let Some(word) = take(lock) else { return Counted::SlotBusy };
        // SAFETY: the lock is held, so nobody else writes to the slot or its cold part.
        let slot = unsafe { &mut *slot };
        if !slot.key.is_same(key) {
            if slot.key.tag().is_some() {
                // Another CPU was faster to put another flow there.
                release(lock, word);
                return Counted::SlotBusy;
            }
            slot.key = *key;
        }
        let before = LastPacket::of(slot);
        account(slot, seen, marking(), ColdOf { cold: self.cold, index });
        let next = sequence::usual(word, seen, before.packets);
        if next.is_known() {
            release(lock, next);
            return Counted::Done;
        }
        if Turn::begin(K::place(index), word, seen, before) {
            return Counted::Turn;
        }
        release(lock, word);
        Counted::Done
    }

    /// The slot at `index` if it holds the record of `key`.
    #[inline(always)]
    fn slot_if_of(&self, index: u32, key: &K) -> Option<*mut FlowSlot<K>> {
        let slot = self.slots.get_ptr_mut(index)?;
        // SAFETY: the verifier bounds the slot. Its key changes only under its lock; a torn read is a
        // mismatch here or is found out once the lock is held.
        unsafe { (*slot).key.is_same(key) }.then_some(slot)
    }

    /// Index of the slot of `key`, or of the first free one where it may be put; else [`NOWHERE`].
    ///
    /// Two walks, because a place that is remembered on the way to another one doubles the states that
    /// the verifier follows. The second is for new flows only.
    #[inline(always)]
    fn find(&self, key: &K, home: u32) -> u32 {
        let found = self.first(home, |other| other.is_same(key), |word| word == K::EMPTY);
        if found != NOWHERE {
            return found;
        }
        self.first(home, |other| other.tag().is_none(), |_| false)
    }

    /// Index of the first slot from `home` on whose key is `wanted`, before one that is the `end`.
    #[inline(always)]
    fn first(&self, home: u32, wanted: impl Fn(&K) -> bool, end: impl Fn(u32) -> bool) -> u32 {
        for step in 0..MAX_PROBES {
            let index = home + step;
            let Some(slot) = self.slots.get_ptr(index) else { break };
            // SAFETY: as in `slot_if_of`.
            let key = unsafe { &(*slot).key };
            if wanted(key) {
                return index;
            }
            if end(key.tagged_qp()) {
                break;
            }
        }
        NOWHERE
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

/// The policy where it lies: copied, it would be eight loads for each packet, of which few need it.
#[inline(always)]
fn marking() -> &'static MarkingPolicy {
    let place = opaque(addr_of!(MARKING) as usize) as *const MarkingPolicy;
    // SAFETY: a `Global` is the value it holds, and user space wrote it before the program was loaded.
    unsafe { &*place }
}

/// Takes a slot's lock; its word before, or `None` when another CPU keeps it.
#[inline(always)]
pub(crate) fn take(lock: *mut u32) -> Option<SequenceWord> {
    for _ in 0..MAX_LOCK_ATTEMPTS {
        // SAFETY: a lock is an aligned word of a slot.
        let before = SequenceWord(unsafe { atomic::exchange(lock, SequenceWord::LOCKED) });
        if !before.is_locked() {
            return Some(before);
        }
    }
    None
}

/// Gives the lock back with the slot's new state.
#[inline(always)]
pub(crate) fn release(lock: *mut u32, state: SequenceWord) {
    // SAFETY: a lock is an aligned word of a slot, and this program holds it.
    unsafe {
        if WEAK_MEMORY_ORDER.load() != 0 {
            atomic::exchange(lock, state.0);
        } else {
            // Where stores are not reordered a plain one releases, for a third of the price.
            atomic::store(lock, state.0);
        }
    }
}
