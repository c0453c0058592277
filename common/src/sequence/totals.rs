//! Counters of one PSN space.

/// Counters, wrapping: 48 bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SequenceTotals {
    /// PSNs that were missing when a higher one came.
    pub missing: u32,
    /// Of these, PSNs that the network dropped.
    pub lost: u32,
    /// Of the lost ones, PSNs that came later by retransmission.
    pub recovered: u32,
    /// Of the missing ones, PSNs that the peer has and only the tap did not see.
    pub unseen: u32,
    /// Of the missing ones, PSNs that came late by themselves.
    pub reordered: u32,
    /// Packets whose PSN had been seen.
    pub retransmitted: u32,
    /// Their payload bytes.
    pub retransmitted_bytes: u32,
    /// Copies that the tap made.
    pub tap_duplicates: u32,
    /// Rewinds that a NAK asked for, or that came without silence.
    pub go_back_n_episodes: u32,
    /// Rewinds after silence and without a NAK.
    pub timeouts: u32,
    /// RNR NAKs noted.
    pub rnr_waits: u32,
    /// First PSN of the sequence, with [`VALID`]; forgotten when it is too far back to compare.
    pub(super) first: u32,
}

/// Marks a word of the state whose low 24 bits are a PSN.
pub(super) const VALID: u32 = 1 << 24;

impl SequenceTotals {
    /// Missing PSNs that are not decided.
    #[inline(always)]
    pub const fn open(&self) -> u32 {
        self.missing.wrapping_sub(self.lost).wrapping_sub(self.unseen).wrapping_sub(self.reordered)
    }

    /// Rewinds of the sender, whatever made it do so.
    #[inline(always)]
    pub const fn rewinds(&self) -> u32 {
        self.go_back_n_episodes.wrapping_add(self.timeouts)
    }

    /// `count` missing PSNs were sent again.
    #[inline(always)]
    pub(super) const fn recover(&mut self, count: u32) {
        self.lost = self.lost.wrapping_add(count);
        self.recovered = self.recovered.wrapping_add(count);
    }
}

const _: () = assert!(size_of::<SequenceTotals>() == 48);
