//! Loss, reordering and retransmission in one record.

use roce_common::sequence::SequenceTotals;
use serde::{Deserialize, Serialize};

/// What became of the PSNs of one record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SequenceReport {
    /// PSNs that were missing when a higher one came, and that the network dropped.
    pub lost: u64,
    /// Of these, PSNs that came later by retransmission.
    pub recovered: u64,
    /// Missing PSNs that the peer has: only the tap did not see them.
    pub unseen: u64,
    /// PSNs that came late by themselves.
    pub reordered: u64,
    /// Missing PSNs that are not decided.
    pub open: u64,
    /// Packets whose PSN the tap had seen.
    pub retransmitted: u64,
    /// Their payload bytes.
    pub retransmitted_bytes: u64,
    /// Copies of packets that the tap made.
    pub tap_duplicates: u64,
    /// Rewinds of the sender that a NAK, or a READ asked for again, explains.
    pub go_back_n_episodes: u64,
    /// Rewinds after silence.
    pub timeouts: u64,
}

impl SequenceReport {
    /// The sum of both.
    #[must_use]
    pub const fn plus(&self, other: &Self) -> Self {
        Self {
            lost: self.lost + other.lost,
            recovered: self.recovered + other.recovered,
            unseen: self.unseen + other.unseen,
            reordered: self.reordered + other.reordered,
            open: self.open + other.open,
            retransmitted: self.retransmitted + other.retransmitted,
            retransmitted_bytes: self.retransmitted_bytes + other.retransmitted_bytes,
            tap_duplicates: self.tap_duplicates + other.tap_duplicates,
            go_back_n_episodes: self.go_back_n_episodes + other.go_back_n_episodes,
            timeouts: self.timeouts + other.timeouts,
        }
    }

    /// Adds what was counted between two looks; `before` and `now` wrap.
    pub fn advance(&mut self, before: &SequenceTotals, now: &SequenceTotals) {
        let open = |totals: &SequenceTotals| totals.open();
        for (total, counter) in [
            (&mut self.lost, (|totals| totals.lost) as fn(&SequenceTotals) -> u32),
            (&mut self.recovered, |totals| totals.recovered),
            (&mut self.unseen, |totals| totals.unseen),
            (&mut self.reordered, |totals| totals.reordered),
            (&mut self.retransmitted, |totals| totals.retransmitted),
            (&mut self.retransmitted_bytes, |totals| totals.retransmitted_bytes),
            (&mut self.tap_duplicates, |totals| totals.tap_duplicates),
            (&mut self.go_back_n_episodes, |totals| totals.go_back_n_episodes),
            (&mut self.timeouts, |totals| totals.timeouts),
        ] {
            *total += u64::from(counter(now).wrapping_sub(counter(before)));
        }
        // The only one that also falls.
        self.open = (self.open + u64::from(open(now))).saturating_sub(u64::from(open(before)));
    }
}
