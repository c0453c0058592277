//! What the other direction said, and how the sender went on.

use super::SequenceKind;
use super::bits::Bits;
use super::ladder::{Ladder, RetryLadder, RewindEpisode};
use super::pending::{Pending, Reads};
use super::totals::VALID;
use crate::psn::Psn;

/// What acknowledgements say of one PSN space: 64 bytes.
///
/// Which record holds what: that of the *requests* holds everything here, told by
/// [`super::Sequence::note_answer`]. That of the *responses* to READs holds of it only the PSN of the last
/// ACK or NAK, told by [`super::Sequence::note_answered`]. That of the *ACKs* needs no state: its
/// [`super::SequenceWord`] tells the highest PSN answered.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckState {
    /// Highest PSN acknowledged; in a response record, PSN of the last ACK or NAK. With [`VALID`].
    pub(super) acknowledged: u32,
    /// Credit code and MSN of the last AETH.
    aeth: u32,
    /// Answers that acknowledged something new, wrapping.
    pub acks: u32,
    /// PSNs that they acknowledged, wrapping: more than `acks` where ACKs are coalesced.
    pub acknowledged_psns: u32,
    ladder: Ladder,
    pending: Pending,
}

impl AckState {
    /// Highest PSN acknowledged.
    #[inline(always)]
    pub const fn acknowledged(&self) -> Option<Psn> {
        Self::acknowledged_in(self.acknowledged)
    }

    /// The same as a raw word, with [`VALID`]; 0 when nothing was: see [`Self::acknowledged_in`].
    #[inline(always)]
    pub const fn acknowledged_word(&self) -> u32 {
        self.acknowledged
    }

    /// The PSN in a word of [`Self::acknowledged_word`].
    pub const fn acknowledged_in(word: u32) -> Option<Psn> {
        if word & VALID == 0 { None } else { Some(Psn::new(word)) }
    }

    /// Whether the peer answered `psn` or a later request.
    #[inline(always)]
    pub const fn has_acknowledged(&self, psn: Psn) -> bool {
        self.acknowledged & VALID != 0 && !psn.is_after(Psn::new(self.acknowledged))
    }

    /// Message sequence number of the last AETH, 24 bits.
    #[inline(always)]
    pub const fn msn(&self) -> u32 {
        self.aeth & 0x00ff_ffff
    }

    /// Credit code of the last ACK, five bits; 31 where credits are not used.
    #[inline(always)]
    pub const fn credits(&self) -> u8 {
        (self.aeth >> 24) as u8 & 0x1f
    }

    /// Tries of the oldest PSN that was sent again, while it is not acknowledged.
    #[inline(always)]
    pub const fn ladder(&self) -> Option<RetryLadder> {
        self.ladder.ladder()
    }

    /// Whether the sender is on a retry ladder.
    #[inline(always)]
    pub const fn is_on_ladder(&self) -> bool {
        self.ladder.is_some()
    }

    /// First PSN of the latest rewind of requests, and above it the cause in one word: see
    /// [`super::RewindCause::of_word`]. 0 before one.
    #[inline(always)]
    pub const fn episode_word(&self) -> u32 {
        self.ladder.episode_word()
    }

    /// The latest rewind of the sender.
    #[inline(always)]
    pub const fn episode(&self) -> Option<RewindEpisode> {
        self.ladder.episode()
    }

    #[inline(always)]
    pub(super) const fn rewinds(&mut self) -> &mut Ladder {
        &mut self.ladder
    }

    /// More packets of the latest rewind.
    #[inline(always)]
    pub(super) const fn count_rewound(&mut self, kind: SequenceKind, count: u32) {
        if !kind.is_response() {
            self.ladder.count_packets(count);
        }
    }

    /// Whether `from <= acknowledged < to`.
    #[inline(always)]
    pub(super) const fn acknowledged_within(&self, from: Psn, to: Psn) -> bool {
        let acknowledged = Psn::new(self.acknowledged);
        self.acknowledged & VALID != 0
            && acknowledged.distance_from(from) >= 0
            && to.is_after(acknowledged)
    }

    /// How far behind what was acknowledged `psn` is; 0 when it is not, or that is not known.
    #[inline(always)]
    pub(super) const fn acknowledged_beyond(&self, psn: Psn) -> u32 {
        let beyond = Psn::new(self.acknowledged).distance_from(psn);
        if self.acknowledged & VALID == 0 || beyond < 0 { 0 } else { beyond.cast_unsigned() }
    }

    /// NAKs have no credit code.
    #[inline(always)]
    pub(super) const fn note_aeth(&mut self, aeth: u32) {
        let is_ack = aeth & 0x6000_0000 == 0;
        let credits = if is_ack { aeth } else { self.aeth } & 0x1f00_0000;
        self.aeth = aeth & 0x00ff_ffff | credits;
    }

    /// The answers that were not told one by one have come up to `psn`.
    #[inline(always)]
    pub(super) const fn reach(&mut self, psn: Psn) {
        if self.acknowledged & VALID == 0 || psn.is_after(Psn::new(self.acknowledged)) {
            self.acknowledged = psn.get() | VALID;
        }
    }

    /// The peer has everything up to `psn`. Of the first such answer, nobody knows how many PSNs it is
    /// for: it counts as one.
    #[inline(always)]
    pub(super) const fn acknowledge(&mut self, psn: Psn) {
        let before = self.acknowledged;
        let moved = if before & VALID == 0 { 1 } else { psn.distance_from(Psn::new(before)) };
        if moved > 0 {
            self.acknowledged = psn.get() | VALID;
            self.acks = self.acks.wrapping_add(1);
            self.acknowledged_psns = self.acknowledged_psns.wrapping_add(moved.cast_unsigned());
        }
        self.ladder.acknowledge(psn);
    }

    #[inline(always)]
    pub(super) const fn restart(&mut self) {
        self.acknowledged = 0;
        self.pending = Pending::NONE;
        self.ladder.restart();
    }

    /// Of requests, whether the answer to a packet is being timed.
    #[inline(always)]
    pub(super) const fn is_timing(&self) -> bool {
        self.pending.is_timing()
    }

    /// Times the answer to `psn`, unless another one is being timed.
    #[inline(always)]
    pub(super) const fn start_timing(&mut self, psn: Psn, time_us: u32) {
        let (timed, _) = self.pending.timed();
        if timed & VALID == 0 {
            self.pending.set_timed(psn.get() | VALID, time_us);
        }
    }

    /// Ends the timing when `psn` covers what is timed: microseconds since, and whether it does.
    #[inline(always)]
    pub(super) const fn stop_timing(&mut self, psn: Psn, time_us: u32) -> (u32, bool) {
        let (timed, since) = self.pending.timed();
        let is_covered = timed & VALID != 0 && !Psn::new(timed).is_after(psn);
        if is_covered {
            self.pending.set_timed(0, 0);
        }
        (time_us.wrapping_sub(since), is_covered)
    }

    /// Packets from `psn` on are sent again: nobody can tell which one an answer is for (Karn).
    #[inline(always)]
    pub(super) const fn void_timing(&mut self, psn: Psn) {
        let (timed, _) = self.pending.timed();
        if !psn.is_after(Psn::new(timed)) {
            self.pending.set_timed(0, 0);
        }
    }

    #[inline(always)]
    pub(super) const fn reads(&self) -> Reads {
        self.pending.reads()
    }

    #[inline(always)]
    pub(super) const fn set_reads(&mut self, reads: Reads) {
        self.pending.set_reads(reads);
    }

    /// Responses did not come that are for READs or for requests without one.
    #[inline(always)]
    pub(super) fn skip(&mut self, next: Psn, from: u32, to: u32) {
        let skipped = self.pending.skipped(next).or(Bits::between(from, to));
        self.pending.set_skipped(next, skipped);
    }

    /// A response came after all, or is known to have been there. Returns whether it had been skipped.
    #[inline(always)]
    pub(super) fn take_skipped(&mut self, next: Psn, from: u32, to: u32) -> u32 {
        let skipped = self.pending.skipped(next);
        let found = skipped.and(Bits::between(from, to));
        if !found.is_empty() {
            self.pending.set_skipped(next, skipped.without(found));
        }
        found.count()
    }
}

const _: () = assert!(size_of::<AckState>() == 64);
