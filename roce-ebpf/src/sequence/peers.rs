//! What a packet says of the other direction's PSN spaces.

use super::events::{Notable, roce_send_event};
use super::links::{roce_announce, roce_find_requests};
use super::records::{cold_of, lock_of, peek, sequence_of, update};
use super::tell;
use super::turn::Turn;
use crate::store::{release, take};
use core::ptr::addr_of;
use roce_common::event::EventKind;
use roce_common::flow::{FlowCold, RecordPlace};
use roce_common::psn::Psn;
use roce_common::sequence::{Sequence, SequenceKind, SequenceWord};

/// Answers that look for their requests.
const MAX_LOOKS: u32 = 8;

/// What [`roce_note`] is to do.
mod note {
    /// The packet of this turn answers these requests.
    pub(super) const ANSWER: u32 = 0;
    /// The packet of this turn is an ACK beside these responses.
    pub(super) const ANSWERED: u32 = 1;
    /// The packet of this turn asks again for these responses.
    pub(super) const ASKED_AGAIN: u32 = 2;
    /// The same, after it or a later request had been answered.
    pub(super) const ASKED_AGAIN_AFTER_ANSWER: u32 = 3;
}

/// Tells the records of the other direction what the packet of this turn, whose record is at `place`,
/// means for them; `what` is of [`tell`]. Always 0.
#[unsafe(no_mangle)]
#[inline(never)]
pub(crate) extern "C" fn roce_tell_peers(what: u32) -> u32 {
    let Some(turn) = Turn::current() else { return 0 };
    let place = turn.place;
    let Some(links) = Links::of(place) else { return 0 };
    if what & tell::EVENT != 0 {
        roce_send_event(place.word());
    }
    if what & tell::ANNOUNCE != 0 {
        roce_announce();
    }
    if what & tell::ANSWER != 0 {
        answer(place, turn, links);
        return 0;
    }
    if what & tell::WATCH != 0 {
        watch(place, links.peer);
        watch(place, links.responses);
    }
    if what & tell::ASKED_AGAIN != 0 && links.responses != 0 {
        let psn = turn.packet.psn;
        // A NAK with that very PSN asks for it.
        let is_answered = links.peer != 0 && has_reached(place.linked(links.peer), psn.plus(1));
        let responses = place.linked(links.responses);
        if is_answered || has_reached(responses, psn) {
            roce_note(responses.word(), note::ASKED_AGAIN_AFTER_ANSWER);
        } else {
            roce_note(responses.word(), note::ASKED_AGAIN);
        }
    }
    0
}

#[inline(always)]
fn answer(place: RecordPlace, turn: &mut Turn, links: Links) {
    let known = place.linked(links.peer);
    // The requests may have been taken out, and others put there.
    let is_mutual = links.peer != 0 && Links::of(known).is_some_and(|them| them.lead_to(place));
    let requests = if is_mutual { Some(known) } else { link(place, turn) };
    let Some(requests) = requests else {
        // The first few look again; the rest wait for user space.
        let looks_again = turn.packets_before < MAX_LOOKS;
        update(place, |word| answered(word, turn).watched(looks_again));
        return;
    };
    turn.owner = requests;
    let wants_more = roce_note(requests.word(), note::ANSWER) != 0;
    if turn.is_nak() && turn.notable.kind != 0 {
        roce_send_event(requests.word());
    }
    update(place, |word| answered(word, turn).watched(wants_more));
    if turn.packet.kind == SequenceKind::Acknowledge
        && let Some(Links { responses, .. }) = Links::of(requests)
        && responses != 0
        && peek(place.linked(responses)).is_some_and(SequenceWord::is_open_response)
    {
        roce_note(place.linked(responses).word(), note::ANSWERED);
    }
}

/// The word of the answers after the one of this turn: what that refuses is not acknowledged.
#[inline(always)]
fn answered(word: SequenceWord, turn: &Turn) -> SequenceWord {
    if turn.is_nak() { word.refused(turn.packet.psn) } else { word }
}

/// Whether the answers at `place` have come to `psn`.
#[inline(always)]
fn has_reached(place: RecordPlace, psn: Psn) -> bool {
    let last = peek(place).and_then(SequenceWord::last);
    last.is_some_and(|last| !psn.is_after(last))
}

/// Finds the requests that the answers at `place` belong to, and makes the two known to each other.
#[inline(always)]
fn link(place: RecordPlace, turn: &Turn) -> Option<RecordPlace> {
    let requests = match roce_find_requests() {
        0 => return None,
        link => place.linked(link),
    };
    let is_response = turn.packet.kind.is_response();
    change_cold(requests, |cold| {
        if is_response {
            cold.responses = place.link();
        } else {
            cold.peer = place.link();
        }
    });
    change_cold(place, |cold| cold.peer = requests.link());
    Some(requests)
}

/// Says in the word of a linked record that its packets are wanted.
#[inline(always)]
fn watch(place: RecordPlace, link: u32) {
    if link == 0 {
        return;
    }
    let answers = place.linked(link);
    let is_watched = peek(answers).is_some_and(SequenceWord::is_watched);
    let is_mutual = Links::of(answers).is_some_and(|links| links.peer == place.link());
    if !is_watched && is_mutual {
        update(answers, |word| word.watched(true));
    }
}

/// Tells the record at `place` of the packet of this turn, as `note` says. Not 0 when it wants to hear
/// of the next one, too.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn roce_note(place: u32, note: u32) -> u32 {
    let place = RecordPlace::from_word(place);
    let (Some(turn), Some(lock), Some(cold)) = (Turn::current(), lock_of(place), cold_of(place))
    else {
        return 0;
    };
    let Some(word) = take(lock) else { return 1 };
    // SAFETY: the lock of the slot is held, and it guards the cold part.
    let cold = unsafe { &mut *cold };
    let (word, wants_more) = noted(turn, word, cold, note);
    release(lock, word);
    wants_more as u32
}

#[inline(always)]
fn noted(
    turn: &mut Turn,
    word: SequenceWord,
    cold: &mut FlowCold,
    note: u32,
) -> (SequenceWord, bool) {
    let is_new = cold.sequence == FlowCold::NO_SEQUENCE;
    // Nothing is missing, and nothing is being timed.
    if is_new && note == note::ANSWER && !turn.is_nak() {
        return (word, false);
    }
    let first_psn = cold.first_psn();
    let Some(record) = sequence_of(cold) else { return (word, false) };
    let (psn, time_us) = (turn.packet.psn, turn.packet.time_us);
    turn.is_in_trouble |= turn.is_nak() || word.is_troubled() || record.state.acks.is_on_ladder();
    if turn.is_nak() && record.admits_event(time_us) {
        let (kind, detail) = (EventKind::Nak as u32, turn.extended >> 24);
        turn.notable = Notable { kind, psn: psn.get(), detail, ..Notable::NOTHING };
    }
    let state = &mut record.state;
    let aeth = if turn.has_extended() { turn.extended } else { 0 };
    turn.word = word;
    let mut sequence = Sequence { word: &mut turn.word, state };
    if is_new {
        sequence.adopt(first_psn, u32::MAX);
    }
    if note == note::ANSWER {
        sequence.note_answer(turn.packet.kind, psn, aeth, time_us);
    } else if note == note::ANSWERED {
        sequence.note_answered(psn);
    } else {
        let is_answered = note == note::ASKED_AGAIN_AFTER_ANSWER;
        sequence.note_asked_again(psn, turn.packet.span, is_answered);
    }
    let wants_more = note == note::ANSWER && sequence.wants_answers();
    (turn.word, wants_more)
}

/// The links of a record.
#[derive(Clone, Copy)]
struct Links {
    peer: u32,
    responses: u32,
}

impl Links {
    #[inline(always)]
    fn of(place: RecordPlace) -> Option<Self> {
        let cold = cold_of(place)?;
        // SAFETY: the verifier bounds it. Another CPU may change a link meanwhile, as a whole.
        unsafe {
            Some(Self {
                peer: addr_of!((*cold).peer).read_volatile(),
                responses: addr_of!((*cold).responses).read_volatile(),
            })
        }
    }

    #[inline(always)]
    fn lead_to(self, place: RecordPlace) -> bool {
        self.peer == place.link() || self.responses == place.link()
    }
}

/// Changes the cold part of a record under its lock; not at all when the lock is not to be had.
#[inline(always)]
fn change_cold(place: RecordPlace, change: impl FnOnce(&mut FlowCold)) {
    let (Some(lock), Some(cold)) = (lock_of(place), cold_of(place)) else { return };
    let Some(word) = take(lock) else { return };
    // SAFETY: the lock of the slot is held, and it guards the cold part.
    change(unsafe { &mut *cold });
    release(lock, word);
}
