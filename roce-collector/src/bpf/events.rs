//! Events of the kernel programs.

use super::DatapathError;
use aya::maps::{Map, MapData, RingBuf};
use roce_common::event::FlowEvent;
use std::fmt;

const NAME: &str = "EVENTS";

/// The ring buffer of events. What it has no room for is counted by the taps.
pub struct EventRing(RingBuf<MapData>);

/// Now, on the clock of [`FlowEvent::time_ns`].
pub fn event_clock_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

impl fmt::Debug for EventRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EventRing").finish_non_exhaustive()
    }
}

impl EventRing {
    pub(super) fn new(map: Map) -> Result<Self, DatapathError> {
        let ring = RingBuf::try_from(map);
        Ok(Self(ring.map_err(|source| DatapathError::Access { map: NAME, source })?))
    }

    /// The oldest event that nobody has taken.
    pub fn take(&mut self) -> Option<FlowEvent> {
        let item = self.0.next()?;
        // Only the programs of this object write here, and nothing shorter.
        if item.len() < size_of::<FlowEvent>() {
            return None;
        }
        // SAFETY: the item holds an event, of which every bit pattern is valid; it may be unaligned.
        Some(unsafe { item.as_ptr().cast::<FlowEvent>().read_unaligned() })
    }
}
