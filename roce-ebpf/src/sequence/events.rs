//! Events for user space.

use super::turn::Turn;
use crate::maps::{EVENTS, NARROW_SLOTS, TAPS, WIDE_SLOTS};
use crate::settings::CPUS;
use aya_ebpf::helpers::generated::{bpf_get_smp_processor_id, bpf_ktime_get_ns};
use core::ptr::addr_of;
use roce_common::event::FlowEvent;
use roce_common::flow::{FlowKey, RecordPlace, WideKey};

/// What one packet is worth telling of; kind 0 is nothing.
#[derive(Clone, Copy)]
pub(crate) struct Notable {
    pub(crate) kind: u32,
    pub(crate) psn: u32,
    pub(crate) count: u32,
    pub(crate) detail: u32,
    pub(crate) episode: u32,
    pub(crate) acknowledged: u32,
}

impl Notable {
    pub(crate) const NOTHING: Self =
        Self { kind: 0, psn: 0, count: 0, detail: 0, episode: 0, acknowledged: 0 };
}

/// Sends what is notable of this turn's packet, as an event of the record at `place`. Always 0.
#[unsafe(no_mangle)]
#[inline(never)]
pub(super) extern "C" fn roce_send_event(place: u32) -> u32 {
    let Some(turn) = Turn::current() else { return 0 };
    let Notable { kind, psn, count, detail, episode, acknowledged } = turn.notable;
    let Some(key) = key_of(RecordPlace::from_word(place)) else { return 0 };
    // SAFETY: the helper takes no arguments and always succeeds.
    let time_ns = unsafe { bpf_ktime_get_ns() };
    match EVENTS.reserve::<FlowEvent>(0) {
        Some(mut entry) => {
            entry.write(FlowEvent {
                time_ns,
                kind,
                psn,
                count,
                detail,
                key,
                episode,
                acknowledged,
                reserved: 0,
            });
            entry.submit(0);
        }
        None => count_lost(&key),
    }
    0
}

/// The key of a record, as a wide one.
#[inline(always)]
pub(crate) fn key_of(place: RecordPlace) -> Option<WideKey> {
    if place.is_wide() {
        let slot = WIDE_SLOTS.get_ptr(place.index())?;
        // SAFETY: the verifier bounds the slot; its key does not change while it has packets.
        Some(unsafe { addr_of!((*slot).key).read() })
    } else {
        let slot = NARROW_SLOTS.get_ptr(place.index())?;
        // SAFETY: as above.
        Some(WideKey::from(unsafe { addr_of!((*slot).key).read() }))
    }
}

#[inline(always)]
fn count_lost(key: &WideKey) {
    let Some(tag) = key.tag() else { return };
    // SAFETY: the helper takes no arguments and always succeeds.
    let cpu = unsafe { bpf_get_smp_processor_id() };
    if let Some(counters) = TAPS.get_ptr_mut(tag.tap() as u32 * CPUS.load() + cpu) {
        // SAFETY: this CPU alone writes the counters at this index.
        unsafe { (*counters).events_lost += 1 };
    }
}
