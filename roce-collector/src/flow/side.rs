//! What the PSN engine keeps beside a record, added up.

use roce_common::sequence::{Histograms, RetryLadder, RewindCause, SequenceState};

use super::Spread;

/// Distributions and retry ladders of one record. Few records have any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SideTotals {
    /// Distributions at the last look.
    looked_at: Histograms,
    /// Round-trip times and distances.
    pub spread: Spread,
    /// The retry ladder that the sender was on at the last look.
    pub ladder: Option<RetryLadder>,
    /// The longest that a look found.
    pub longest_ladder: Option<RetryLadder>,
    /// Why the sender went back the last time before the last look.
    pub cause: Option<RewindCause>,
}

impl SideTotals {
    /// Adds what was counted since the last look. The distributions of that, if there is anything.
    pub fn advance(&mut self, state: &SequenceState) -> Option<Spread> {
        self.note_ladder(state.acks.ladder());
        self.cause = state.acks.episode().map(|episode| episode.cause);
        if state.spread == self.looked_at {
            return None;
        }
        let mut new = Spread::default();
        new.advance(&self.looked_at, &state.spread);
        self.looked_at = state.spread;
        self.spread.add(&new);
        Some(new)
    }

    /// One rewind that a NAK asked for is no ladder.
    fn note_ladder(&mut self, ladder: Option<RetryLadder>) {
        let is_long = |ladder: &RetryLadder| ladder.tries > 1 || ladder.longest_silence_us > 0;
        self.ladder = ladder.filter(is_long);
        let tries = |ladder: Option<RetryLadder>| ladder.map_or(0, |ladder| ladder.tries);
        if self.ladder.is_some() && tries(self.ladder) >= tries(self.longest_ladder) {
            self.longest_ladder = self.ladder;
        }
    }
}
