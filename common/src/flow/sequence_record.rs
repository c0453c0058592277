//! Side state of the PSN engine as the kernel keeps it.

use crate::sequence::SequenceState;

/// The side state of one record, and when it last saw a packet.
///
/// Whoever holds the lock of the record's slot owns it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SequenceRecord {
    /// What the engine knows.
    pub state: SequenceState,
    /// When the engine last saw a packet, in wrapping microseconds.
    pub seen_at_us: u32,
    /// Packets of the record up to that one, wrapping: equal to those of the slot when it was the last.
    pub seen_packets: u32,
    /// Events that were sent in this second, and that second; see [`Self::admits_event`].
    events: u32,
    /// Its PSN.
    pub seen_psn: u32,
}

/// Events that one record may send in about a second.
const MAX_EVENTS: u32 = 64;
const SECOND_SHIFT: u32 = 20;
const COUNT_BITS: u32 = 8;

impl SequenceRecord {
    /// Whether one more event may be sent at the time of `now_us`; counts it.
    #[inline(always)]
    pub const fn admits_event(&mut self, now_us: u32) -> bool {
        let second = now_us >> SECOND_SHIFT;
        if self.events >> COUNT_BITS != second {
            self.events = second << COUNT_BITS;
        }
        if self.events & ((1 << COUNT_BITS) - 1) >= MAX_EVENTS {
            return false;
        }
        self.events += 1;
        true
    }
}

const _: () = assert!(size_of::<SequenceRecord>() == 272);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_few_in_a_second_and_come_back_in_the_next() {
        let mut record = SequenceRecord::default();
        let admitted = (0..1000).filter(|_| record.admits_event(5)).count();
        assert_eq!(admitted, MAX_EVENTS as usize);
        assert!(record.admits_event(5 + (1 << SECOND_SHIFT)));
    }
}
