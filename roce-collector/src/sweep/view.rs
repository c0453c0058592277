//! What one sweep leaves for the metrics.

use std::time::Duration;

use roce_common::marking::MarkingPolicy;
use roce_common::tap::TapCounters;

use super::{Counts, PeerKey, QpKey, TapSequences};
use crate::capture::Timestamp;
use crate::flow::RttReport;

/// A moment on both clocks.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Time of day.
    pub wall: Timestamp,
    /// Nanoseconds since boot, as the kernel programs count them.
    pub boot_ns: u64,
    /// Time since some start, which only grows.
    pub uptime: Duration,
}

/// All figures after a sweep. Those of a tap that nothing is attached to are there too, and mean nothing.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// Node-wide counters by tap.
    pub taps: Vec<TapCounters>,
    /// What the PSN engine found, by tap.
    pub sequences: Vec<TapSequences>,
    /// Side states of the PSN engine, and how many of them records have.
    pub sequence_states: u64,
    /// See [`Self::sequence_states`].
    pub used_sequence_states: u64,
    /// Figures by interface.
    pub devices: Vec<DeviceFigures>,
    /// Pairs of hosts.
    pub peers: Vec<(PeerKey, Counts)>,
    /// Round-trip times of the last minute, of pairs of hosts that have any.
    pub peer_rtts: Vec<(PeerKey, RttReport)>,
    /// Queue pairs that were chosen for series.
    pub qps: Vec<(QpKey, Counts)>,
    /// Queue pairs whose sender gets no answer, and its tries; a bounded number, the most tries first.
    pub ladders: Vec<(QpKey, u32)>,
    /// Records that changed too quickly to be read, all sweeps together.
    pub busy_records: u64,
    /// Packets of the fallback map that are in no flow because there are too many.
    pub unplaced_packets: u64,
    /// Events of records that were forgotten to make room for those of others.
    pub forgotten_events: u64,
    /// Seconds with trouble of records whose last two minutes could not be kept: there are too many.
    pub refused_histories: u64,
    /// Queue pairs in trouble that nobody took up in time.
    pub dropped_troubles: u64,
    /// Warnings of senders on a retry ladder that there was no room for.
    pub dropped_ladder_steps: u64,
}

impl View {
    /// Everything that a tap saw.
    pub fn seen(&self, tap: usize, policy: &MarkingPolicy) -> Option<Counts> {
        let counts = Counts::of_tap(self.taps.get(tap)?, policy);
        Some(Counts { psns: self.sequences.get(tap).map(|sequences| sequences.counts), ..counts })
    }
}

/// Figures of one interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceFigures {
    /// Queue pairs with records, in both directions.
    pub flows: u64,
    /// Queue pairs that were taken out.
    pub evicted: u64,
}

/// How long sweeps took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Durations {
    counts: [u64; Self::BOUNDS.len()],
    beyond: u64,
    /// Sum of all, in seconds.
    pub sum: f64,
}

impl Moment {
    /// Whole seconds of [`Self::uptime`].
    pub(super) fn seconds(&self) -> u32 {
        self.uptime.as_secs() as u32
    }
}

impl Durations {
    /// Upper bounds of the classes, in seconds.
    pub const BOUNDS: [f64; 9] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.25, 1.0];

    /// Adds one.
    pub fn add(&mut self, duration: Duration) {
        let seconds = duration.as_secs_f64();
        self.sum += seconds;
        let class = Self::BOUNDS.iter().position(|bound| seconds <= *bound);
        *class.map_or(&mut self.beyond, |class| &mut self.counts[class]) += 1;
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum::<u64>() + self.beyond
    }

    /// Classes by upper bound, the last without one. Each counts only its own.
    pub fn classes(&self) -> Vec<(f64, u64)> {
        let classes = Self::BOUNDS.into_iter().zip(self.counts);
        classes.chain([(f64::INFINITY, self.beyond)]).collect()
    }
}
