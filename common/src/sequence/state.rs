//! Everything that is kept for one PSN space, but for the word that every packet changes.

use super::{AckState, Histograms, SequenceTotals, Window};

/// Side state of one PSN space, 256 bytes. All zero is a fresh one.
///
/// Packets in order do not touch it: see [`super::SequenceWord::is_due`].
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SequenceState {
    /// What is missing, and the rewind that goes on.
    pub window: Window,
    /// Counters.
    pub totals: SequenceTotals,
    /// What the other direction said, and how the sender went on.
    pub acks: AckState,
    /// Distributions.
    pub spread: Histograms,
}

const _: () = assert!(size_of::<SequenceState>() == 256);
