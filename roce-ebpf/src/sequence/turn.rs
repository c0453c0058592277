//! What the slow functions need of the packet whose turn it is.

use super::events::Notable;
use super::own::Before;
use crate::clock::now_us;
use crate::maps::TURN;
use crate::observe::{Deferred, deferred};
use roce_common::flow::{FlowKey, FlowSlot, Observation, RecordPlace, RunClass};
use roce_common::sequence::{SequencePacket, SequenceWord};

/// A packet, as plain words.
///
/// What comes out of a map is unknown to the verifier, so it follows the engine once and not once for
/// every way through the parser.
#[derive(Clone, Copy)]
pub(crate) struct Turn {
    pub(crate) place: RecordPlace,
    /// Word of its slot, which is locked.
    pub(crate) word: SequenceWord,
    pub(crate) packet: SequencePacket,
    pub(crate) notable: Notable,
    pub(crate) before: Before,
    /// Link to the record's side state, what is to be told besides, and whether the answer is timed: for
    /// the engine.
    pub(crate) sequence: u32,
    pub(crate) tell: u32,
    pub(crate) is_timed: bool,
    /// Whether it is worth recording: it, its record or the one that it answers is in trouble.
    pub(crate) is_in_trouble: bool,
    /// Place of the record whose recorder it belongs to.
    pub(crate) owner: RecordPlace,
    /// Word of the AETH, or DMA length of the RETH; see `has_extended`.
    pub(crate) extended: u32,
    /// Packets of the record before this one.
    pub(crate) packets_before: u32,
    /// Opcode, TOS byte and header lengths of this packet and of the one before it.
    class: RunClass,
    class_before: RunClass,
    /// Time of this packet and of the one before it, in jiffies.
    pub(crate) jiffies: u16,
    pub(crate) jiffies_before: u16,
    pub(crate) source_port: u16,
    flags: u8,
}

const ASKS_FOR_ANSWER: u8 = 1 << 0;
const HAS_EXTENDED: u8 = 1 << 1;
const IS_NAK: u8 = 1 << 2;

/// What a slot says of the packet before this one.
#[derive(Clone, Copy)]
pub(crate) struct LastPacket {
    pub(crate) packets: u32,
    jiffies: u16,
    class: RunClass,
}

impl LastPacket {
    #[inline(always)]
    pub(crate) fn of<K: FlowKey>(slot: &FlowSlot<K>) -> Self {
        Self { packets: slot.packets, jiffies: slot.jiffies(), class: slot.run_class() }
    }
}

impl Turn {
    /// Begins the turn of the deferred packet, which is counted in the record at `place`; `word` is that of
    /// its slot, which stays locked. `false` only where the map is broken.
    ///
    /// No more than the slot knows, and without a branch: whatever counts a packet has many ways to here.
    /// [`Self::take_packet`] does the rest.
    #[inline(always)]
    pub(crate) fn begin(
        place: RecordPlace,
        word: SequenceWord,
        seen: &Observation,
        before: LastPacket,
    ) -> bool {
        let Some(turn) = TURN.get_ptr_mut(0) else { return false };
        // SAFETY: the place is this CPU's own, and what is not written keeps a valid value.
        let turn = unsafe { &mut *turn };
        (turn.place, turn.word) = (place, word);
        (turn.class, turn.class_before) = (seen.class(), before.class);
        (turn.jiffies, turn.jiffies_before) = (seen.jiffies, before.jiffies);
        turn.packets_before = before.packets;
        true
    }

    /// Takes over what the engine needs of the deferred packet.
    #[inline(always)]
    pub(super) fn take_packet(&mut self) {
        let Some(Deferred { packet, .. }) = deferred() else { return };
        let seen = Observation::of(packet, self.jiffies);
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        self.packet = SequencePacket {
            psn: seen.psn,
            span: 1,
            kind: seen.kind(),
            payload: seen.payload,
            time_us: now_us(),
            idle: 0,
            is_copy: false,
        };
        (self.notable, self.before) = (Notable::NOTHING, Before::NOTHING);
        (self.sequence, self.tell, self.is_timed) = (0, 0, false);
        (self.is_in_trouble, self.owner) = (false, self.place);
        self.extended = seen.extended.word();
        self.source_port = seen.source_port;
        self.flags = flag(seen.asks_for_answer, ASKS_FOR_ANSWER)
            | flag(seen.extended.is_present(), HAS_EXTENDED)
            | flag(seen.is_nak(), IS_NAK);
    }

    /// The packet that this run of the program has put down.
    #[inline(always)]
    pub(crate) fn current<'a>() -> Option<&'a mut Self> {
        let place = TURN.get_ptr_mut(0)?;
        // SAFETY: the place is this CPU's own and was written by this run of the program, which takes it
        // up in one function at a time.
        Some(unsafe { &mut *place })
    }

    #[inline(always)]
    pub(super) const fn asks_for_answer(&self) -> bool {
        self.flags & ASKS_FOR_ANSWER != 0
    }

    #[inline(always)]
    pub(super) const fn has_extended(&self) -> bool {
        self.flags & HAS_EXTENDED != 0
    }

    #[inline(always)]
    pub(super) const fn is_nak(&self) -> bool {
        self.flags & IS_NAK != 0
    }

    /// Whether this may be the packet before it once more: alike, and within a tick of the coarse clock.
    #[inline(always)]
    pub(super) const fn may_be_copy(&self) -> bool {
        self.class.bits() == self.class_before.bits() && self.jiffies == self.jiffies_before
    }

    /// Silence before this packet in microseconds, at least: the clock ticks in jiffies.
    #[inline(always)]
    pub(super) fn idle_us(&self) -> u32 {
        let jiffies = self.jiffies.wrapping_sub(self.jiffies_before) as u32;
        let whole = jiffies.saturating_sub(1);
        whole * crate::settings::JIFFY_US.load()
    }
}
