//! Tries of a sender that gets no answer.

use roce_common::sequence::RetryLadder;
use serde::{Deserialize, Serialize};

/// The longest retry ladder of a flow: the same oldest PSN sent again, without an answer in between.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RetriesReport {
    /// The oldest PSN that was sent again.
    pub psn: u32,
    /// How often; 127 stands for more, too.
    pub tries: u32,
    /// Milliseconds from the last try but one to the last; of a single try, the silence before it.
    pub spacing_ms: f64,
    /// Longest silence before a try in milliseconds, to one; 67 s stand for more.
    pub longest_silence_ms: f64,
    /// Whether the PSN was acknowledged in the end.
    pub answered: bool,
}

impl RetriesReport {
    /// The report of a ladder that nobody has answered.
    pub fn of(ladder: &RetryLadder) -> Self {
        Self {
            psn: ladder.psn.get(),
            tries: ladder.tries,
            spacing_ms: f64::from(ladder.spacing_us) / 1000.0,
            longest_silence_ms: f64::from(ladder.longest_silence_us / 1000),
            answered: false,
        }
    }
}
