//! What the other direction said.

use super::totals::VALID;
use crate::psn::Psn;

/// What acknowledgements say of one PSN space: 48 bytes.
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
    pub(super) aeth: u32,
    /// Answers that acknowledged something, wrapping.
    pub acks: u32,
    /// PSNs that they acknowledged, wrapping: more than `acks` where ACKs are coalesced.
    pub acknowledged_psns: u32,
    /// PSN of the packet whose answer is timed, with [`VALID`].
    timed: u32,
    /// When it was seen, in microseconds.
    timed_at: u32,
    reserved: [u32; 6],
}

impl AckState {
    /// Highest PSN acknowledged.
    pub const fn acknowledged(&self) -> Option<Psn> {
        if self.acknowledged & VALID == 0 { None } else { Some(Psn::new(self.acknowledged)) }
    }

    /// Message sequence number of the last AETH, 24 bits.
    pub const fn msn(&self) -> u32 {
        self.aeth & 0x00ff_ffff
    }

    /// Credit code of the last ACK, five bits; 31 where credits are not used.
    pub const fn credits(&self) -> u8 {
        (self.aeth >> 24) as u8 & 0x1f
    }

    /// NAKs have no credit code.
    pub(super) const fn note_aeth(&mut self, aeth: u32) {
        let is_ack = aeth & 0x6000_0000 == 0;
        let credits = if is_ack { aeth } else { self.aeth } & 0x1f00_0000;
        self.aeth = aeth & 0x00ff_ffff | credits;
    }

    /// The peer has everything up to `psn`. All but the first such answer say how many PSNs that are.
    pub(super) const fn acknowledge(&mut self, psn: Psn) {
        let before = self.acknowledged;
        let moved = if before & VALID == 0 { 1 } else { psn.distance_from(Psn::new(before)) };
        if moved > 0 {
            self.acknowledged = psn.get() | VALID;
            self.acks = self.acks.wrapping_add(1);
            self.acknowledged_psns = self.acknowledged_psns.wrapping_add(moved.cast_unsigned());
        }
    }

    pub(super) const fn restart(&mut self) {
        (self.acknowledged, self.timed) = (0, 0);
    }

    /// Times the answer to `psn`, unless another one is being timed.
    pub(super) const fn start_timing(&mut self, psn: Psn, time_us: u32) {
        if self.timed & VALID == 0 {
            self.timed = psn.get() | VALID;
            self.timed_at = time_us;
        }
    }

    /// Ends the timing when `psn` covers what is timed: microseconds since, and whether it does.
    pub(super) const fn stop_timing(&mut self, psn: Psn, time_us: u32) -> (u32, bool) {
        let is_covered = self.timed & VALID != 0 && !Psn::new(self.timed).is_after(psn);
        if is_covered {
            self.timed = 0;
        }
        (time_us.wrapping_sub(self.timed_at), is_covered)
    }

    /// Packets from `psn` on are sent again: nobody can tell which one an answer is for (Karn).
    pub(super) const fn void_timing(&mut self, psn: Psn) {
        if !psn.is_after(Psn::new(self.timed)) {
            self.timed = 0;
        }
    }
}

const _: () = assert!(size_of::<AckState>() == 48);
