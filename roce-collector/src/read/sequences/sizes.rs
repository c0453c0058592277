//! Sizes of payloads, and where they began.

use roce_common::psn::Psn;

/// Payload sizes by where they were first seen: each is larger than all before it.
#[derive(Clone, Debug, Default)]
pub(super) struct Sizes {
    largest: u32,
    steps: Vec<(Psn, u32)>,
    /// The largest that was first seen so long ago that it must have been acknowledged.
    passed: u32,
}

impl Sizes {
    /// Steps that are kept; the smallest are forgotten first.
    const MAX_STEPS: usize = 16;
    /// PSNs that no sender leaves unanswered.
    const OUTSTANDING: i32 = 1 << 14;

    /// Every packet.
    #[inline]
    pub(super) fn see(&mut self, psn: Psn, payload: u32) {
        if payload > self.largest {
            self.grow(psn, payload);
        }
    }

    #[cold]
    fn grow(&mut self, psn: Psn, payload: u32) {
        if self.steps.len() == Self::MAX_STEPS {
            self.steps.remove(0);
        }
        self.largest = payload;
        self.steps.push((psn, payload));
    }

    /// Looks again before PSNs wrap.
    pub(super) fn settle(&mut self, next: Psn) {
        let is_old = |psn: Psn| next.distance_from(psn) > Self::OUTSTANDING;
        let old = self.steps.iter().filter(|(psn, _)| is_old(*psn)).map(|(_, payload)| *payload);
        self.passed = old.fold(self.passed, u32::max);
        self.steps.retain(|(psn, _)| !is_old(*psn));
    }

    /// The largest before `psn`; 0 when there was none.
    pub(super) fn largest_before(&self, psn: Psn) -> u32 {
        let before = self.steps.iter().filter(|(first, _)| psn.is_after(*first));
        before.fold(self.passed, |largest, (_, payload)| largest.max(*payload))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sent_before_a_packet_passed() {
        let mut sizes = Sizes::default();
        for (psn, payload) in [(0xff_fffe, 64), (0xff_ffff, 64), (0, 1024), (1, 256), (2, 1024)] {
            sizes.see(Psn::new(psn), payload);
        }
        let largest = |psn| sizes.largest_before(Psn::new(psn));
        assert_eq!([0xff_fffe, 0xff_ffff, 0, 1, 2].map(largest), [0, 64, 64, 1024, 1024]);
    }

    #[test]
    fn old_sizes_outlive_the_wrap_and_many_are_bounded() {
        let mut sizes = Sizes::default();
        (1..=100).for_each(|payload| sizes.see(Psn::new(payload), payload));
        assert_eq!(sizes.steps.len(), Sizes::MAX_STEPS);
        sizes.settle(Psn::new(101 + (1 << 14)));
        assert_eq!((sizes.largest_before(Psn::new(1)), sizes.steps.len()), (100, 0));
    }
}
