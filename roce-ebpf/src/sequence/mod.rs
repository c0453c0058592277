//! The PSN engine on the packet path.
//!
//! A packet that is due changes nothing but the word in its slot's lock. Everything else goes through
//! global functions, which the verifier checks once for any arguments:
//!
//! - [`roce_take_turn`], while the slot is locked: what the packet is to its own PSN space;
//! - [`peers::roce_tell_peers`], after that: what it says of the other direction's. It locks one record
//!   at a time, so that two CPUs never wait for each other.
//!
//! What they need of the packet lies in [`crate::maps::TURN`].

mod events;
mod links;
mod own;
mod peers;
mod records;
mod restart;
mod turn;

use crate::store::release;
pub(crate) use events::key_of;
pub(crate) use peers::roce_tell_peers;
use records::lock_of;
pub(crate) use restart::roce_restart_opened;
use roce_common::flow::Observation;
use roce_common::sequence::SequenceWord;
pub(crate) use turn::{LastPacket, Turn};

/// What the records of the other direction are to be told.
pub(crate) mod tell {
    /// Nothing.
    pub(crate) const NOTHING: u32 = 0;
    /// Of requests and responses: they want to hear of every answer.
    pub(crate) const WATCH: u32 = 1 << 0;
    /// Of a READ request: it asks again, so a response is missing.
    pub(crate) const ASKED_AGAIN: u32 = 1 << 1;
    /// Of an answer: what it is.
    pub(crate) const ANSWER: u32 = 1 << 2;
    /// Of the first request: where its record is.
    pub(crate) const ANNOUNCE: u32 = 1 << 3;
    /// To user space: what is notable.
    pub(crate) const EVENT: u32 = 1 << 4;
    /// Nobody yet: the engine has to run first, and the record is still locked.
    pub(crate) const RUN: u32 = 1 << 5;
}

/// The word of a record after a packet, and what is to be told of it.
#[derive(Clone, Copy)]
pub(crate) struct Step {
    pub(crate) word: SequenceWord,
    pub(crate) tell: u32,
}

/// The word after a packet of which that is all there is to say; else the default.
#[inline(always)]
pub(crate) fn usual(word: SequenceWord, seen: &Observation, packets_before: u32) -> SequenceWord {
    const UNUSUAL: SequenceWord = SequenceWord(0);
    let is_long_read = seen.traits.is_read() && !is_short_read(seen);
    let is_timed = seen.asks_for_answer && is_sampled(packets_before);
    if is_long_read || is_timed || seen.is_nak() {
        return UNUSUAL;
    }
    word.usual(seen.psn, seen.traits)
}

/// Gives the packet of this turn, whose record is locked, to the PSN engine. What is to be told of it.
#[unsafe(no_mangle)]
#[inline(never)]
pub(crate) extern "C" fn roce_take_turn() -> u32 {
    let Some(turn) = Turn::current() else { return 0 };
    let Some(lock) = lock_of(turn.place) else { return 0 };
    turn.take_packet();
    let Step { word, tell } = own::take(turn);
    if tell != tell::RUN {
        release(lock, word);
    }
    tell
}

/// Runs the engine after [`roce_take_turn`] has asked for it: a function of its own, because their stacks
/// would add up. What is to be told.
#[unsafe(no_mangle)]
#[inline(never)]
pub(crate) extern "C" fn roce_run_engine() -> u32 {
    let Some(turn) = Turn::current() else { return 0 };
    let Some(lock) = lock_of(turn.place) else { return 0 };
    let tell = own::run(turn);
    release(lock, turn.word);
    tell
}

/// Whether a READ takes one PSN whatever the path MTU.
#[inline(always)]
fn is_short_read(seen: &Observation) -> bool {
    const SMALLEST_MTU: u32 = 256;
    seen.extended.is_present() && seen.extended.word() <= SMALLEST_MTU
}

/// Whether the answer to a packet is timed: one of 64, at no fixed distance, and the first one.
#[inline(always)]
fn is_sampled(packets_before: u32) -> bool {
    const GOLDEN_RATIO: u32 = 0x9e37_79b1;
    packets_before.wrapping_mul(GOLDEN_RATIO) >> 26 == 0
}
