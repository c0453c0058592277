//! What a packet is to its own PSN space.

use super::events::Notable;
use super::records::{cold_of, has_room_for_timing, peek, sequence_at, sequence_of};
use super::turn::Turn;
use super::{Step, is_sampled, tell};
use core::ptr::{addr_of, addr_of_mut};
use roce_common::event::EventKind;
use roce_common::flow::{FlowCold, RecordPlace};
use roce_common::psn::Psn;
use roce_common::sequence::{
    PacketClass, Sequence, SequenceKind, SequenceState, SequenceWord, read_span,
};

/// A copy that a tap made comes no later than this after its original.
const MAX_COPY_DELAY_US: u32 = 5;

/// Takes the packet of this turn, whose record is locked.
#[inline(always)]
pub(super) fn take(turn: &mut Turn) -> Step {
    let (place, word) = (turn.place, turn.word);
    let Some(cold) = cold_of(place) else { return Step { word, tell: tell::NOTHING } };
    // SAFETY: the lock of the slot is held, and it guards the cold part.
    let cold = unsafe { &mut *cold };
    if turn.packet.kind.has_order() { ordered(place, word, turn, cold) } else { answer(word, turn) }
}

/// An ACK or NAK: what it says is for the requests.
#[inline(always)]
fn answer(word: SequenceWord, turn: &Turn) -> Step {
    let is_news = word.is_watched() || turn.is_nak() || !word.is_known();
    let is_answer = turn.packet.kind == SequenceKind::Acknowledge;
    let tell = if is_news && is_answer { tell::ANSWER } else { tell::NOTHING };
    Step { word: word.seen(turn.packet.psn), tell }
}

#[inline(always)]
fn ordered(place: RecordPlace, word: SequenceWord, turn: &mut Turn, cold: &mut FlowCold) -> Step {
    let kind = turn.packet.kind;
    let path = Path::of(place, cold);
    if kind == SequenceKind::Read {
        turn.packet.payload = turn.extended;
        turn.packet.span = if turn.has_extended() { path.read_span(turn.extended) } else { 0 };
    }
    let (psn, span) = (turn.packet.psn, turn.packet.span);
    let is_response = kind.is_response();
    let is_news = is_response && (word.is_watched() || !word.is_known());
    let is_first_request = !is_response && !word.is_known();
    let answer = if is_news {
        tell::ANSWER
    } else if is_first_request {
        tell::ANNOUNCE
    } else {
        tell::NOTHING
    };
    let is_new = cold.sequence == FlowCold::NO_SEQUENCE;
    let is_timed = turn.asks_for_answer()
        && is_sampled(turn.packets_before)
        && cold.peer != 0
        && has_room_for_timing(cold);
    if !is_timed && word.is_due(psn, span, kind) {
        return Step { word: word.after(psn, span, kind), tell: answer };
    }
    // What does not exist has nothing to learn, nor to age.
    let is_start = !word.is_known() || word.only_ages(psn, span, kind);
    if is_new && is_start && span != 0 && !is_timed {
        return Step { word: word.started(psn, span, kind), tell: answer };
    }
    let Some(record) = sequence_of(cold) else {
        return Step { word: word.started(psn, span, kind), tell: answer };
    };
    let saw_last = record.seen_packets == turn.packets_before;
    let since = turn.packet.time_us.wrapping_sub(record.seen_at_us);
    turn.packet.idle = if saw_last { since } else { turn.idle_us() };
    let is_last_again = word.is_known() && psn.plus(span) == word.next();
    // What the engine did not see was in order, so it had the PSN before the next one.
    let is_soon = !saw_last || record.seen_psn == psn.get() && since <= MAX_COPY_DELAY_US;
    // Who does not see the answers cannot know that the peer was not ready.
    let may_be_copy = is_last_again && is_soon && turn.may_be_copy() && cold.peer != 0;
    record.seen_at_us = turn.packet.time_us;
    record.seen_packets = turn.packets_before.wrapping_add(1);
    record.seen_psn = psn.get();
    turn.word = word;
    let mut sequence = Sequence { word: &mut turn.word, state: &mut record.state };
    if is_new {
        sequence.adopt(cold.first_psn(), turn.packets_before);
    }
    // A port that is mirrored in both directions delivers each packet twice. Nobody sends the last packet
    // again that soon unless the peer has asked for it.
    turn.packet.is_copy = may_be_copy && !sequence.is_asked_for(psn);
    if kind == SequenceKind::Read && path.mtu != 0 && sequence.awaits_mtu() {
        sequence.note_path_mtu(path.mtu);
    }
    if let Some(answered) = answered(place, cold) {
        sequence.catch_up(answered);
    }
    turn.is_timed = is_timed;
    turn.tell = answer;
    turn.sequence = cold.sequence;
    Step { word, tell: tell::RUN }
}

/// What is compared with the state after the engine has run.
#[derive(Clone, Copy)]
pub(crate) struct Before {
    rewinds: u32,
    missing: u32,
    next: u32,
}

impl Before {
    pub(crate) const NOTHING: Self = Self { rewinds: 0, missing: 0, next: 0 };

    /// Volatile, or the compiler keeps it on the stack, of which the engine needs every byte.
    #[inline(always)]
    fn keep(&mut self, word: SequenceWord, state: &SequenceState) {
        let SequenceState { totals, .. } = state;
        let (rewinds, missing) = (totals.rewinds(), totals.missing);
        // SAFETY: writes through a reference.
        unsafe {
            addr_of_mut!(*self).write_volatile(Self { rewinds, missing, next: word.next().get() });
        }
    }

    #[inline(always)]
    fn recall(&self) -> Self {
        // SAFETY: reads through a reference.
        unsafe { addr_of!(*self).read_volatile() }
    }
}

/// Runs the engine on the packet of this turn, whose record is locked and has side state. Its word is in
/// the turn then; what is to be told of it.
#[inline(always)]
pub(super) fn run(turn: &mut Turn) -> u32 {
    let Some(record) = sequence_at(turn.sequence) else { return turn.tell };
    let (psn, kind) = (turn.packet.psn, turn.packet.kind);
    turn.before.keep(turn.word, &record.state);
    let mut sequence = Sequence { word: &mut turn.word, state: &mut record.state };
    let class = sequence.observe(&turn.packet);
    if turn.is_timed && class == PacketClass::InOrder {
        sequence.start_rtt(psn, turn.packet.time_us);
    }
    let is_odd = matches!(
        class,
        PacketClass::GapOpener
            | PacketClass::Fill
            | PacketClass::Reordered
            | PacketClass::Retransmission
    );
    turn.is_in_trouble = is_odd || sequence.word.is_troubled();
    let wants_answers = !kind.is_response() && sequence.wants_answers();
    let Before { rewinds, missing, next } = turn.before.recall();
    let is_new_rewind = record.state.totals.rewinds() != rewinds;
    let missing = record.state.totals.missing.wrapping_sub(missing);
    let watch = if wants_answers { tell::WATCH } else { tell::NOTHING };
    let asks_again = is_new_rewind && kind == SequenceKind::Read;
    let again = if asks_again { tell::ASKED_AGAIN } else { tell::NOTHING };
    if is_new_rewind {
        let count = turn.word.next().distance_from(psn).cast_unsigned();
        let detail = turn.packet.idle;
        let is_request = !kind.is_response();
        let acks = &record.state.acks;
        let episode = if is_request { acks.episode_word() } else { 0 };
        let acknowledged = if asks_again { 0 } else { acks.acknowledged_word() };
        let kind = EventKind::Rewind as u32;
        turn.notable = Notable { kind, psn: psn.get(), count, detail, episode, acknowledged };
    } else if missing != 0 {
        let kind = EventKind::Gap as u32;
        let detail = psn.get();
        turn.notable = Notable { kind, psn: next, count: missing, detail, ..Notable::NOTHING };
    }
    let is_notable = (is_new_rewind || missing != 0) && record.admits_event(turn.packet.time_us);
    let event = if is_notable { tell::EVENT } else { tell::NOTHING };
    turn.tell | watch | again | event
}

/// A PSN that these requests are acknowledged up to, as far as the record of their answers says.
#[inline(always)]
fn answered(place: RecordPlace, cold: &FlowCold) -> Option<Psn> {
    if cold.peer == 0 {
        return None;
    }
    peek(place.linked(cold.peer))?.acknowledged()
}

/// What requests and their READ responses have shown of the path.
struct Path {
    mtu: u32,
    largest_payload: u32,
}

impl Path {
    #[inline(always)]
    fn of(place: RecordPlace, cold: &FlowCold) -> Self {
        let own = Self { mtu: cold.path_mtu(), largest_payload: cold.largest_payload as u32 };
        if cold.responses == 0 {
            return own;
        }
        let Some(responses) = cold_of(place.linked(cold.responses)) else { return own };
        // SAFETY: the verifier bounds it. Another CPU may write to it, and every bit pattern is valid;
        // both values are facts of the path, whoever learnt them.
        let (codes, payload) = unsafe {
            (
                addr_of!((*responses).first_and_codes).read_volatile(),
                addr_of!((*responses).largest_payload).read_volatile() as u32,
            )
        };
        let mtu = FlowCold::path_mtu_of(codes);
        Self {
            mtu: if mtu > own.mtu { mtu } else { own.mtu },
            largest_payload: if payload > own.largest_payload {
                payload
            } else {
                own.largest_payload
            },
        }
    }

    #[inline(always)]
    fn read_span(&self, dma_len: u32) -> u32 {
        read_span(dma_len, self.mtu, self.largest_payload)
    }
}
