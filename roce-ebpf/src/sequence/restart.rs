//! QPs that start anew.

use super::records::{cold_of, lock_of, sequence_of};
use super::turn::Turn;
use crate::maps::{NARROW_SLOTS, WIDE_SLOTS};
use crate::observe::{Deferred, deferred};
use crate::store::{release, roce_find_narrow, roce_find_wide, take};
use roce_common::flow::{FlowCold, FlowKey, NarrowKey, RecordPlace, RecordTag};
use roce_common::sequence::{Sequence, SequenceWord};
use roce_common::wire::AddressFamily;

/// The deferred packet opens a QP of its sender: whatever was sent to that QP before belongs to another
/// connection. Always 0.
#[unsafe(no_mangle)]
#[inline(never)]
pub(crate) extern "C" fn roce_restart_opened() -> u32 {
    let Some(Deferred { packet, key, opened_qp }) = deferred() else { return 0 };
    let is_narrow = packet.family == AddressFamily::V4;
    // What goes to the QP goes the other way, and may be seen at both taps of the interface.
    let tap = (key.tagged_qp >> 29) << 1;
    (key.source, key.destination) = (key.destination, key.source);
    key.source_qp = 0;
    for kind in 0..RecordTag::CONNECTED.len() as u32 * 2 {
        let tag = RecordTag::connected(kind >> 1, tap | kind & 1);
        key.tagged_qp = tag << 24 | *opened_qp;
        let place = if is_narrow {
            let ([.., source], [.., destination]) = (key.source, key.destination);
            let narrow = NarrowKey { source, destination, tagged_qp: key.tagged_qp };
            let index = roce_find_narrow(source, destination, key.tagged_qp);
            let slot = NARROW_SLOTS.get_ptr(index);
            // SAFETY: the verifier bounds the slot; a key that changes meanwhile is no match.
            if !slot.is_some_and(|slot| unsafe { (*slot).key.is_same(&narrow) }) {
                continue;
            }
            RecordPlace::narrow(index)
        } else {
            let index = roce_find_wide();
            let slot = WIDE_SLOTS.get_ptr(index);
            // SAFETY: as above.
            if !slot.is_some_and(|slot| unsafe { (*slot).key.is_same(key) }) {
                continue;
            }
            RecordPlace::wide(index)
        };
        roce_restart_record(place.word());
    }
    0
}

/// Forgets the sequence of a record, but no counter. Always 0.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn roce_restart_record(place: u32) -> u32 {
    let place = RecordPlace::from_word(place);
    let (Some(turn), Some(lock), Some(cold)) = (Turn::current(), lock_of(place), cold_of(place))
    else {
        return 0;
    };
    let Some(word) = take(lock) else { return 0 };
    // SAFETY: the lock of the slot is held, and it guards the cold part.
    let cold = unsafe { &mut *cold };
    (cold.peer, cold.responses) = (0, 0);
    turn.word = SequenceWord::default();
    if cold.sequence != FlowCold::NO_SEQUENCE
        && let Some(record) = sequence_of(cold)
    {
        turn.word = word;
        Sequence { word: &mut turn.word, state: &mut record.state }.restart();
    }
    release(lock, turn.word);
    0
}
