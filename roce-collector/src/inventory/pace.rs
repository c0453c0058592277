//! How often the kernel is asked.

use std::time::Duration;

/// One part in so many of the time may go into sweeps.
const SHARE: u32 = 10;
/// Longest pause, however long a sweep took.
const MAX_PAUSE: Duration = Duration::from_mins(1);

/// The time from the start of a sweep to that of the next: the interval, or ten times what the sweep took
/// where that is longer, because then the NIC's firmware is busy with it.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    interval: Duration,
    skipped: u64,
}

impl Pace {
    /// Sweeps no more often than this.
    pub const fn new(interval: Duration) -> Self {
        Self { interval, skipped: 0 }
    }

    /// Time from the start of a sweep that took so long to the next one.
    pub fn after(&mut self, took: Duration) -> Duration {
        let long = took.saturating_mul(SHARE).min(MAX_PAUSE.max(took));
        let pause = self.interval.max(long);
        let intervals = pause.as_nanos().div_ceil(self.interval.as_nanos().max(1));
        let skipped = u64::try_from(intervals).unwrap_or(u64::MAX).saturating_sub(1);
        self.skipped = self.skipped.saturating_add(skipped);
        pause
    }

    /// Sweeps that were left out so far.
    pub const fn skipped(&self) -> u64 {
        self.skipped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_sweeps_make_long_pauses() {
        let mut pace = Pace::new(Duration::from_secs(1));
        assert_eq!(pace.after(Duration::from_millis(20)), Duration::from_secs(1));
        assert_eq!(pace.after(Duration::from_millis(100)), Duration::from_secs(1));
        assert_eq!(pace.skipped(), 0);
        assert_eq!(pace.after(Duration::from_millis(250)), Duration::from_millis(2500));
        assert_eq!(pace.skipped(), 2);
        assert_eq!(pace.after(Duration::from_secs(9)), Duration::from_mins(1));
        assert_eq!(pace.skipped(), 61);
        assert_eq!(pace.after(Duration::from_secs(90)), Duration::from_secs(90));
        assert_eq!(pace.after(Duration::MAX), Duration::MAX);
    }

    #[test]
    fn a_long_interval_is_kept() {
        let mut pace = Pace::new(Duration::from_mins(5));
        assert_eq!(pace.after(Duration::from_secs(20)), Duration::from_mins(5));
        assert_eq!(pace.skipped(), 0);
    }
}
