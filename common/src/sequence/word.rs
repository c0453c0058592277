//! The word that every packet changes.

use super::{MAX_OUTSTANDING, MAX_REWIND, SequenceKind, SequenceTraits};
use crate::psn::Psn;

/// State that every packet changes.
///
/// ```text
/// 31     | 30    | 29      | 28      | 27            | 26             | 25       | 24    | 23..0
/// locked | block | refused | watched | response open | next uncertain | troubled | known | next PSN
/// ```
///
/// In a record of ACKs, the next PSN is the one after the highest that was answered, and `refused` says that
/// this one was answered by a NAK.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SequenceWord(pub u32);

impl SequenceWord {
    /// A first packet was seen.
    pub(super) const KNOWN: u32 = 1 << 24;
    /// The window holds something.
    pub(super) const TROUBLED: u32 = 1 << 25;
    /// The last READ took an unknown number of PSNs.
    pub(super) const UNCERTAIN: u32 = 1 << 26;
    /// A READ response First or Middle was last.
    pub(super) const OPEN: u32 = 1 << 27;
    /// For the caller, and kept by everything here: whoever has the other direction wants to hear of
    /// every packet of this one.
    pub const WATCHED: u32 = 1 << 28;
    /// Of answers: the highest PSN was refused, not acknowledged.
    const REFUSED: u32 = 1 << Self::REFUSED_SHIFT;
    const REFUSED_SHIFT: u32 = 29;
    /// Copy of [`Self::BLOCK_OF_PSN`] in the next PSN when the side state was last touched: so it is,
    /// once for each 2^20 PSNs, and ages.
    const BLOCK: u32 = 1 << 30;
    const BLOCK_OF_PSN: u32 = 1 << 20;
    const BLOCK_SHIFT: u32 = 10;

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

    /// Whether nothing is missing, nothing waits for a decision, and the next PSN is certain: an
    /// acknowledgement changes no counter.
    #[inline(always)]
    pub const fn is_calm(self) -> bool {
        self.0 & (Self::KNOWN | Self::TROUBLED | Self::UNCERTAIN) == Self::KNOWN
    }

    /// Whether something is missing or waits for a decision.
    #[inline(always)]
    pub const fn is_troubled(self) -> bool {
        self.has(Self::TROUBLED)
    }

    /// The word of a slot that somebody is at; nothing here sets this bit.
    pub const LOCKED: u32 = 1 << 31;

    /// Whether the slot with this word is locked.
    #[inline(always)]
    pub const fn is_locked(self) -> bool {
        self.has(Self::LOCKED)
    }

    /// The PSN before the one that is due, when a packet was seen: the highest, in serial order.
    #[inline(always)]
    pub const fn last(self) -> Option<Psn> {
        if self.is_known() { Some(self.next().plus(Psn::MAX.get())) } else { None }
    }

    /// Of answers, the highest PSN that they acknowledge: what was refused is not, nor what followed it.
    #[inline(always)]
    pub const fn acknowledged(self) -> Option<Psn> {
        let above = 1 + ((self.0 >> Self::REFUSED_SHIFT) & 1);
        if self.is_known() { Some(self.next().plus(Psn::MAX.get() + 1 - above)) } else { None }
    }

    /// Of answers, the word after a NAK of `psn`.
    #[must_use]
    #[inline(always)]
    pub const fn refused(self, psn: Psn) -> Self {
        let word = self.seen(psn);
        let is_highest = word.next().get() == psn.plus(1).get();
        if is_highest { Self(word.0 | Self::REFUSED) } else { word }
    }

    /// Whether the other direction wants to hear of every packet of this one.
    #[inline(always)]
    pub const fn is_watched(self) -> bool {
        self.has(Self::WATCHED)
    }

    /// The word when the other direction wants to hear of every packet, or no longer.
    #[must_use]
    #[inline(always)]
    pub const fn watched(self, is_watched: bool) -> Self {
        Self(if is_watched { self.0 | Self::WATCHED } else { self.0 & !Self::WATCHED })
    }

    /// Whether a READ response has begun and not ended.
    #[inline(always)]
    pub const fn is_open_response(self) -> bool {
        self.has(Self::OPEN)
    }

    /// Whether an answer with `psn` may be for one of these requests: sent not long ago, or due, for a
    /// NAK may name that.
    #[inline(always)]
    pub const fn is_outstanding(self, psn: Psn) -> bool {
        let back = self.next().distance_from(psn);
        self.is_known() && back >= 0 && back <= MAX_OUTSTANDING
    }

    /// The word after the first packet of a record that has no side state.
    #[must_use]
    #[inline(always)]
    pub const fn started(self, psn: Psn, span: u32, kind: SequenceKind) -> Self {
        self.after(psn, span, kind).with_trouble(false)
    }

    /// The word after a packet that is due and takes one PSN, or that has no order, of a record that
    /// nobody watches; the default when the packet is not that usual.
    #[must_use]
    #[inline(always)]
    pub const fn usual(self, psn: Psn, traits: SequenceTraits) -> Self {
        const LOOKED_AT: u32 = Psn::MAX.get()
            | SequenceWord::KNOWN
            | SequenceWord::TROUBLED
            | SequenceWord::UNCERTAIN
            | SequenceWord::WATCHED
            | SequenceWord::BLOCK;
        const NOBODY_ASKS: u32 = SequenceWord::KNOWN | SequenceWord::WATCHED;
        let known = Self::KNOWN | Self::block(psn);
        if traits.has_order() {
            if self.0 & LOOKED_AT != psn.get() | known {
                return Self(0);
            }
            let open = traits.opens_response() * Self::OPEN;
            return Self(psn.plus(1).get() | known | open);
        }
        if traits.is_untracked() || self.0 & NOBODY_ASKS == Self::KNOWN {
            return self.seen(psn);
        }
        Self(0)
    }

    /// Whether a packet is in order, and only the side state would have to age: what does not exist
    /// need not, and [`Self::started`] is the word after it.
    #[inline(always)]
    pub const fn only_ages(self, psn: Psn, span: u32, kind: SequenceKind) -> bool {
        Self(self.0 & !Self::BLOCK | Self::block(self.next())).is_due(psn, span, kind)
    }

    /// Whether [`Self::after`] says everything of a packet that takes `span` PSNs, 0 when that is not
    /// known, so that the side state need not be touched.
    #[inline(always)]
    pub const fn is_due(self, psn: Psn, span: u32, kind: SequenceKind) -> bool {
        const LOOKED_AT: u32 = Psn::MAX.get()
            | SequenceWord::KNOWN
            | SequenceWord::TROUBLED
            | SequenceWord::UNCERTAIN
            | SequenceWord::BLOCK;
        match kind {
            SequenceKind::Untracked | SequenceKind::Acknowledge => true,
            _ => span != 0 && self.0 & LOOKED_AT == psn.get() | Self::KNOWN | Self::block(psn),
        }
    }

    /// The word after a packet that [`Self::is_due`] and takes `span` PSNs, 0 when that is not known.
    #[must_use]
    #[inline(always)]
    pub const fn after(self, psn: Psn, span: u32, kind: SequenceKind) -> Self {
        if !kind.has_order() {
            return self.seen(psn);
        }
        let mut word = Self::KNOWN | self.0 & (Self::TROUBLED | Self::WATCHED | Self::BLOCK);
        word |= if span == 0 { psn.plus(1).get() | Self::UNCERTAIN } else { psn.plus(span).get() };
        if kind.opens_response() {
            word |= Self::OPEN;
        }
        Self(word)
    }

    /// The word after a packet whose PSN has no place among others: the highest counts.
    #[must_use]
    #[inline(always)]
    pub const fn seen(self, psn: Psn) -> Self {
        let back = self.next().distance_from(psn);
        if self.is_known() && back > 0 && back.unsigned_abs() <= MAX_REWIND {
            return self;
        }
        Self(psn.plus(1).get() | Self::KNOWN | self.0 & Self::WATCHED)
    }

    /// The word when it turns out that another PSN is due.
    #[inline(always)]
    pub(super) const fn moved_to(self, next: Psn) -> Self {
        Self(self.0 & !(Psn::MAX.get() | Self::UNCERTAIN | Self::OPEN) | next.get())
    }

    #[inline(always)]
    pub(super) const fn with_trouble(self, is_troubled: bool) -> Self {
        let word = self.0 & !(Self::TROUBLED | Self::BLOCK) | Self::block(self.next());
        Self(if is_troubled { word | Self::TROUBLED } else { word })
    }

    #[inline(always)]
    const fn block(psn: Psn) -> u32 {
        (psn.get() & Self::BLOCK_OF_PSN) << Self::BLOCK_SHIFT
    }

    #[inline(always)]
    pub(super) const fn has(self, flag: u32) -> bool {
        self.0 & flag != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Opcode;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_usual_packet_is_one_that_is_due(
            flags in 0_u32..256,
            next in 0_u32..=0x00ff_ffff,
            off in prop_oneof![Just(0_u32), 0_u32..4],
            opcode: u8,
        ) {
            let word = SequenceWord(next | (flags << 24) & !SequenceWord::LOCKED);
            let psn = Psn::new(next).plus(off);
            let kind = SequenceKind::of_opcode(Opcode(opcode));
            let usual = word.usual(psn, SequenceTraits::of_opcode(Opcode(opcode)));
            let is_asked_for = !word.is_known() || word.is_watched();
            let is_usual = word.is_due(psn, 1, kind)
                && (!is_asked_for || kind == SequenceKind::Untracked);
            prop_assert_eq!(usual.is_known(), is_usual);
            if is_usual {
                prop_assert_eq!(usual, word.after(psn, 1, kind));
            }
        }
    }
}
