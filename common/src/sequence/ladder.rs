//! Tries of a sender that gets no answer, and its latest rewind.

use super::totals::VALID;
use crate::psn::Psn;

/// Why a sender went back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum RewindCause {
    /// Nothing that the tap saw.
    Unknown,
    /// A NAK had asked for it.
    Nak,
    /// Silence went before.
    Timeout,
    /// The receiver had not been ready.
    NotReady,
    /// A READ that was asked for again: a response had been lost.
    Read,
}

impl RewindCause {
    /// The cause in a word of [`super::AckState::episode_word`].
    #[inline(always)]
    pub const fn of_word(word: u32) -> Self {
        match word >> ABOVE {
            1 => Self::Nak,
            2 => Self::Timeout,
            3 => Self::NotReady,
            4 => Self::Read,
            _ => Self::Unknown,
        }
    }
}

/// The tries of one PSN without an acknowledgement in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryLadder {
    /// The oldest PSN sent again.
    pub psn: Psn,
    /// How often it was, at least 1; 127 stands for more, too.
    pub tries: u32,
    /// When it was first, in wrapping microseconds.
    pub first_try_us: u32,
    /// Microseconds from the last try but one to the last; of the first try, the silence before it.
    pub spacing_us: u32,
    /// Longest silence before a try in microseconds, rounded down to 1,024; 67 seconds stand for more.
    pub longest_silence_us: u32,
}

/// The latest time that a sender went back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RewindEpisode {
    /// First PSN.
    pub start: Psn,
    /// Packets since then that were sent again; 65,535 stands for more.
    pub packets: u32,
    /// Why.
    pub cause: RewindCause,
    /// When it was seen to be a rewind, in wrapping microseconds.
    pub time_us: u32,
}

/// Tries and the latest rewind: 28 bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ladder {
    /// PSN with [`VALID`], and above it how often it was tried.
    psn_and_tries: u32,
    first_try_us: u32,
    last_try_us: u32,
    spacing_us: u32,
    /// Units of 1,024 microseconds.
    longest_silence: u16,
    episode_packets: u16,
    /// PSN with [`VALID`], and above it the cause.
    episode_start: u32,
    episode_us: u32,
}

const ABOVE: u32 = 25;
const MOST_TRIES: u32 = 127;

impl Ladder {
    #[inline(always)]
    pub(super) const fn ladder(&self) -> Option<RetryLadder> {
        if !self.is_some() {
            return None;
        }
        Some(RetryLadder {
            psn: Psn::new(self.psn_and_tries),
            tries: self.psn_and_tries >> ABOVE,
            first_try_us: self.first_try_us,
            spacing_us: self.spacing_us,
            longest_silence_us: (self.longest_silence as u32) << 10,
        })
    }

    #[inline(always)]
    pub(super) const fn is_some(&self) -> bool {
        self.psn_and_tries & VALID != 0
    }

    /// First PSN of the latest rewind with its cause above it, as [`RewindCause::of_word`] reads it; 0
    /// before one.
    #[inline(always)]
    pub(super) const fn episode_word(&self) -> u32 {
        self.episode_start
    }

    #[inline(always)]
    pub(super) const fn episode(&self) -> Option<RewindEpisode> {
        if self.episode_start & VALID == 0 {
            return None;
        }
        Some(RewindEpisode {
            start: Psn::new(self.episode_start),
            packets: self.episode_packets as u32,
            cause: RewindCause::of_word(self.episode_start),
            time_us: self.episode_us,
        })
    }

    /// The sender went back to `start` after a silence of `idle` microseconds.
    #[inline(always)]
    pub(super) const fn rewind(&mut self, start: Psn, cause: RewindCause, time_us: u32, idle: u32) {
        self.episode_start = start.get() | VALID | (cause as u32) << ABOVE;
        self.episode_us = time_us;
        self.episode_packets = 0;
        let tries = self.psn_and_tries >> ABOVE;
        let is_same = self.psn_and_tries & (VALID | Psn::MAX.get()) == start.get() | VALID;
        if is_same {
            let tries = if tries < MOST_TRIES { tries + 1 } else { tries };
            self.psn_and_tries = start.get() | VALID | tries << ABOVE;
            self.spacing_us = time_us.wrapping_sub(self.last_try_us);
        } else {
            self.psn_and_tries = start.get() | VALID | 1 << ABOVE;
            self.first_try_us = time_us;
            self.spacing_us = idle;
            self.longest_silence = 0;
        }
        self.last_try_us = time_us;
        let silence = if idle >> 10 > u16::MAX as u32 { u16::MAX } else { (idle >> 10) as u16 };
        if silence > self.longest_silence {
            self.longest_silence = silence;
        }
    }

    #[inline(always)]
    pub(super) const fn count_packets(&mut self, count: u32) {
        self.episode_packets = super::burst::add(self.episode_packets, count);
    }

    /// Everything up to `psn` arrived.
    #[inline(always)]
    pub(super) const fn acknowledge(&mut self, psn: Psn) {
        if !Psn::new(self.psn_and_tries).is_after(psn) {
            self.psn_and_tries = 0;
        }
    }

    #[inline(always)]
    pub(super) const fn restart(&mut self) {
        self.psn_and_tries = 0;
    }
}

const _: () = assert!(size_of::<Ladder>() == 28);
