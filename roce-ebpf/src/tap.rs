//! Which tap a frame is seen at, and the counters of this CPU for it.

use crate::maps::{INTERFACES, TAPS};
use crate::settings::{CPUS, SINGLE_INTERFACE};
use aya_ebpf::helpers::generated::bpf_get_smp_processor_id;
use roce_common::tap::{MAX_TAPS, TapCounters};

/// Direction of a tap, as its lowest bit.
#[derive(Clone, Copy)]
pub(crate) enum Direction {
    Ingress = 0,
    Egress = 1,
}

/// One direction of one interface.
pub(crate) struct Tap<'a> {
    pub(crate) id: u8,
    pub(crate) counters: &'a mut TapCounters,
}

impl Tap<'_> {
    /// The tap of an interface. `None` for one that is in no list, which is counted: user space lists
    /// an interface before it attaches to it.
    #[inline(always)]
    pub(crate) fn of(interface: u32, direction: u32) -> Option<Self> {
        let pair = pair_of(interface);
        let id = if pair == UNLISTED { 0 } else { pair * 2 + direction };
        // SAFETY: the helper takes no arguments and always succeeds.
        let cpu = unsafe { bpf_get_smp_processor_id() };
        let counters = TAPS.get_ptr_mut(id * CPUS.load() + cpu)?;
        // SAFETY: this CPU alone writes the counters at this index, and programs of one tap do not
        // interrupt each other.
        let counters = unsafe { &mut *counters };
        if pair == UNLISTED {
            counters.unknown_tap += 1;
            return None;
        }
        Some(Self { id: id as u8, counters })
    }
}

/// Counts a packet at the tap `id` that found no recorder.
#[inline(always)]
pub(crate) fn count_unrecorded(id: u32) {
    // SAFETY: the helper takes no arguments and always succeeds.
    let cpu = unsafe { bpf_get_smp_processor_id() };
    if let Some(counters) = TAPS.get_ptr_mut(id * CPUS.load() + cpu) {
        // SAFETY: this CPU alone writes the counters at this index.
        unsafe { (*counters).frames_unrecorded += 1 };
    }
}

/// An interface that is in no list.
const UNLISTED: u32 = u32::MAX;

/// Which pair of taps an interface has, or [`UNLISTED`].
#[inline(always)]
fn pair_of(interface: u32) -> u32 {
    if SINGLE_INTERFACE.load() != 0 {
        return 0;
    }
    for pair in 0..MAX_TAPS / 2 {
        if INTERFACES.get(pair) == Some(&interface) {
            return pair;
        }
    }
    UNLISTED
}
