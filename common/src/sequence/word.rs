//! The hot word and the side state.

use super::fills::Fills;
use super::holes::Holes;
use crate::psn::Psn;

/// State that every packet changes.
///
/// ```text
/// 31..28 | 27            | 26             | 25       | 24    | 23..0
/// zero   | response open | next uncertain | troubled | known | next PSN
/// ```
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SequenceWord(pub u32);

/// State that matters only while something is not in order: one cache line.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    pub(super) holes: Holes,
    pub(super) fills: Fills,
    /// PSN that a rewind goes on with, and the flags below.
    pub(super) cursor: u32,
    /// PSN that the last NAK asked for, with its flags.
    pub(super) nak: u32,
}

impl SequenceWord {
    /// A first packet was seen.
    pub(super) const KNOWN: u32 = 1 << 24;
    /// The window holds something.
    pub(super) const TROUBLED: u32 = 1 << 25;
    /// The last READ took an unknown number of PSNs.
    pub(super) const UNCERTAIN: u32 = 1 << 26;
    /// A READ response First or Middle was last.
    pub(super) const OPEN: u32 = 1 << 27;

    /// The PSN that is due.
    #[inline(always)]
    pub const fn next(self) -> Psn {
        Psn::new(self.0)
    }

    /// Whether a packet was seen.
    #[inline(always)]
    pub const fn is_known(self) -> bool {
        self.0 & Self::KNOWN != 0
    }

    #[inline(always)]
    pub(super) const fn has(self, flag: u32) -> bool {
        self.0 & flag != 0
    }
}

const _: () = assert!(size_of::<Window>() == 64);
