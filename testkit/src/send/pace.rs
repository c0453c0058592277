//! How fast frames go out.

use std::thread;
use std::time::{Duration, Instant};

/// Speed of a [`Sender`](super::Sender).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pace {
    /// As fast as the interface takes them.
    #[default]
    Unlimited,
    /// This many frames a second on average; at least 1.
    FramesPerSecond(u32),
}

impl Pace {
    /// Frames to hand over at once: about two milliseconds' worth, so that slow traffic is even.
    pub(super) fn batch(self) -> usize {
        match self {
            Self::Unlimited => usize::MAX,
            Self::FramesPerSecond(rate) => (rate as usize / 500).max(1),
        }
    }

    /// Sleeps until `frames` frames since `start` are within the rate.
    pub(super) fn wait(self, start: Instant, frames: u64) {
        if let Self::FramesPerSecond(rate) = self {
            let due = Duration::from_secs_f64(frames as f64 / f64::from(rate.max(1)));
            thread::sleep(due.saturating_sub(start.elapsed()));
        }
    }
}
