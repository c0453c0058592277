//! Which record of answers belongs to which record of requests.
//!
//! A packet names only the QP it goes to. Linux takes the UDP source port from both QP numbers, so the
//! two directions of a connection have the same one: the first answer finds its requests by it, if no
//! other QP of the two hosts has that port, and if its PSN is outstanding there. User space links what
//! that does not find.

use super::records::peek;
use super::turn::Turn;
use crate::maps::{LINKS, NARROW_SLOTS, WIDE_SLOTS};
use crate::settings::{HASH_SEED, JIFFY_US};
use core::ptr::addr_of;
use roce_common::flow::{FlowKey, RecordPlace, WideKey, hash_wide};
use roce_common::sequence::IDLE;

/// Value of an entry that several records claim.
const AMBIGUOUS: u32 = u32::MAX;

/// Makes the record of requests of this turn known to its answers. Always 0.
#[unsafe(no_mangle)]
#[inline(never)]
pub(super) extern "C" fn roce_announce() -> u32 {
    let Some(turn) = Turn::current() else { return 0 };
    let place = turn.place;
    let Some(connection) = connection_of(place) else { return 0 };
    let entry = entry_of(&connection, turn);
    let owner = match LINKS.get_ptr(entry) {
        // SAFETY: the verifier bounds the value; other CPUs may change it, and any value is valid.
        Some(owner) => claim(unsafe { owner.read_volatile() }, place, &connection, turn),
        None => place.word(),
    };
    // A full map forgets the entry that was not used for longest, and then user space links.
    let _ = LINKS.insert(entry, owner, 0);
    0
}

/// Who owns an entry after `place` has claimed it, too.
#[inline(always)]
fn claim(owner: u32, place: RecordPlace, connection: &WideKey, turn: &Turn) -> u32 {
    let other = RecordPlace::from_word(owner);
    if owner == AMBIGUOUS {
        return AMBIGUOUS;
    }
    let is_alive = owner != place.word()
        && connection_of(other).is_some_and(|other| other.is_same(connection))
        && silence_of(other, turn.jiffies) < IDLE;
    if is_alive { AMBIGUOUS } else { place.word() }
}

/// Link to the record of requests that the record of answers of this turn belongs to, or 0.
#[unsafe(no_mangle)]
#[inline(never)]
pub(super) extern "C" fn roce_find_requests() -> u32 {
    let Some(turn) = Turn::current() else { return 0 };
    find_requests(turn).map_or(0, RecordPlace::link)
}

#[inline(always)]
fn find_requests(turn: &Turn) -> Option<RecordPlace> {
    let connection = connection_of(turn.place)?;
    let owner = LINKS.get_ptr(entry_of(&connection, turn))?;
    // SAFETY: as above.
    let owner = unsafe { owner.read_volatile() };
    if owner == AMBIGUOUS {
        return None;
    }
    // Two connections may have the same hash: the records themselves decide.
    let requests = RecordPlace::from_word(owner);
    let is_its = connection_of(requests)?.is_same(&connection);
    (is_its && peek(requests)?.is_outstanding(turn.packet.psn)).then_some(requests)
}

#[inline(always)]
fn entry_of(connection: &WideKey, turn: &Turn) -> u64 {
    (hash_wide(connection, HASH_SEED.load()) as u64) << 32 | turn.source_port as u64
}

#[inline(always)]
fn connection_of(place: RecordPlace) -> Option<WideKey> {
    let key = if place.is_wide() {
        let slot = WIDE_SLOTS.get_ptr(place.index())?;
        // SAFETY: the verifier bounds the slot. A key that another CPU writes meanwhile belongs to no
        // connection that anybody looks for.
        unsafe { addr_of!((*slot).key).read() }
    } else {
        let slot = NARROW_SLOTS.get_ptr(place.index())?;
        // SAFETY: as above.
        WideKey::from(unsafe { addr_of!((*slot).key).read() })
    };
    Some(key.connection())
}

/// Microseconds since the last packet of a record.
#[inline(always)]
fn silence_of(place: RecordPlace, now: u16) -> u32 {
    let seen = if place.is_wide() {
        WIDE_SLOTS.get_ptr(place.index()).map(|slot| {
            // SAFETY: the verifier bounds the slot, and any value is valid.
            unsafe { addr_of!((*slot).port_and_time).read_volatile() }
        })
    } else {
        NARROW_SLOTS.get_ptr(place.index()).map(|slot| {
            // SAFETY: as above.
            unsafe { addr_of!((*slot).port_and_time).read_volatile() }
        })
    };
    let Some(seen) = seen else { return u32::MAX };
    now.wrapping_sub((seen >> 16) as u16) as u32 * JIFFY_US.load()
}
