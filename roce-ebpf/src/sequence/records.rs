//! Any record, by its place: its lock, cold part and side state.

use crate::maps::{FREE_SEQUENCES, NARROW_COLD, NARROW_SLOTS, SEQUENCES, WIDE_COLD, WIDE_SLOTS};
use crate::settings::TIMED_SEQUENCES;
use crate::store::{release, take};
use core::ptr::addr_of_mut;
use roce_common::flow::{FlowCold, RecordPlace, SequenceRecord};
use roce_common::sequence::SequenceWord;

/// The word of a slot, locked or not.
#[inline(always)]
pub(super) fn lock_of(place: RecordPlace) -> Option<*mut u32> {
    if place.is_wide() {
        let slot = WIDE_SLOTS.get_ptr_mut(place.index())?;
        // SAFETY: the verifier bounds the slot.
        Some(unsafe { addr_of_mut!((*slot).lock) })
    } else {
        let slot = NARROW_SLOTS.get_ptr_mut(place.index())?;
        // SAFETY: as above.
        Some(unsafe { addr_of_mut!((*slot).lock) })
    }
}

/// The cold part of a record. Whoever changes it holds the lock of its slot.
#[inline(always)]
pub(super) fn cold_of(place: RecordPlace) -> Option<*mut FlowCold> {
    if place.is_wide() {
        WIDE_COLD.get_ptr_mut(place.index())
    } else {
        NARROW_COLD.get_ptr_mut(place.index())
    }
}

/// The word of a slot, if nobody is at it in this moment.
#[inline(always)]
pub(super) fn peek(place: RecordPlace) -> Option<SequenceWord> {
    let lock = lock_of(place)?;
    // SAFETY: an aligned word of a slot; volatile, for other CPUs change it.
    let word = SequenceWord(unsafe { lock.read_volatile() });
    (!word.is_locked()).then_some(word)
}

/// Changes the word of a slot under its lock. `false` when the lock is not to be had.
#[inline(always)]
pub(super) fn update(
    place: RecordPlace,
    change: impl FnOnce(SequenceWord) -> SequenceWord,
) -> bool {
    let Some(lock) = lock_of(place) else { return false };
    let Some(word) = take(lock) else { return false };
    release(lock, change(word));
    true
}

/// The side state of a record whose lock is held; a free one if it has none. `None` when there is none
/// left, which the record remembers.
#[inline(always)]
pub(super) fn sequence_of(cold: &mut FlowCold) -> Option<&'static mut SequenceRecord> {
    if cold.sequence == FlowCold::NO_SEQUENCE {
        cold.sequence = match FREE_SEQUENCES.pop() {
            Ok(Some(index)) => index.wrapping_add(1),
            _ => FlowCold::SEQUENCE_REFUSED,
        };
    }
    sequence_at(cold.sequence)
}

/// Whether a record whose lock is held has side state, or gets one for timing alone. Half of them are kept
/// for records where something is not in order: the lowest ones are handed out first.
#[inline(always)]
pub(super) fn has_room_for_timing(cold: &mut FlowCold) -> bool {
    if cold.sequence != FlowCold::NO_SEQUENCE {
        return cold.sequence != FlowCold::SEQUENCE_REFUSED;
    }
    let Ok(Some(index)) = FREE_SEQUENCES.pop() else { return false };
    if index >= TIMED_SEQUENCES.load() {
        // There is room, for it was just taken out.
        let _ = FREE_SEQUENCES.push(index, 0);
        return false;
    }
    cold.sequence = index.wrapping_add(1);
    true
}

/// The side state with this link, of a record whose lock is held.
#[inline(always)]
pub(super) fn sequence_at(link: u32) -> Option<&'static mut SequenceRecord> {
    let record = SEQUENCES.get_ptr_mut(link.wrapping_sub(1))?;
    // SAFETY: the verifier bounds it. It belongs to the record from here on, until user space takes
    // both back under the record's lock, so that lock guards it.
    Some(unsafe { &mut *record })
}
