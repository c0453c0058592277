//! What the other direction says.

use super::pending::Reads;
use super::totals::VALID;
use super::window::RNR;
use super::{MAX_GAP, MAX_REWIND, Sequence, SequenceKind, SequenceWord};
use crate::psn::Psn;
use crate::wire::{Nak, Syndrome};

impl Sequence<'_> {
    /// Takes the answer to a packet of this space: `kind` is what the answer is, and `aeth` its
    /// [`crate::wire::Aeth::word`], 0 where there is none.
    #[inline(always)]
    pub fn note_answer(&mut self, kind: SequenceKind, psn: Psn, aeth: u32, time_us: u32) {
        if aeth != 0 {
            self.state.acks.note_aeth(aeth);
        }
        if kind.is_response() {
            return self.note_ack(psn, time_us);
        }
        match Syndrome::from_byte((aeth >> 24) as u8) {
            Syndrome::Ack { .. } => self.note_ack(psn, time_us),
            Syndrome::Nak(Nak::PsnSequenceError) => self.note_nak(psn, time_us),
            Syndrome::RnrNak { .. } => self.note_rnr(psn, time_us),
            Syndrome::Nak(_) => self.note_ack(before(psn), time_us),
            Syndrome::Reserved(_) => {}
        }
    }

    /// The peer has everything up to `psn`: it sent an ACK, or the response to that request.
    ///
    /// What is missing here, it got: the tap did not see it. Only what a NAK had named was lost.
    #[inline(always)]
    pub fn note_ack(&mut self, psn: Psn, time_us: u32) {
        if !self.is_behind(psn) {
            return;
        }
        self.state.acks.acknowledge(psn);
        let (elapsed, is_timed) = self.state.acks.stop_timing(psn, time_us);
        if is_timed {
            self.state.spread.count_rtt(elapsed);
        }
        self.arrived(psn);
    }

    /// The peer got a packet out of order and waits for `psn`.
    #[inline(always)]
    pub fn note_nak(&mut self, psn: Psn, time_us: u32) {
        self.note_ack(before(psn), time_us);
        self.ask_for(psn);
    }

    /// The requests answered by an ACK or NAK with `psn` have no READ response with that PSN: for the
    /// record of the responses.
    #[inline(always)]
    pub fn note_answered(&mut self, psn: Psn) {
        self.state.acks.acknowledged = psn.get() | VALID;
    }

    /// The requester asks again for the responses from `psn` on, because it did not get that one: for the
    /// record of the responses, and the first READ of a rewind. The READ takes `span` PSNs, 0 when that
    /// is not known.
    ///
    /// `is_answered` says that the responder had answered that READ or a later request, as
    /// [`super::AckState::acknowledged`] of the requests tells. Then, or in the middle of a READ, the
    /// responses that the tap did not see were there, and are lost.
    #[inline(always)]
    pub fn note_asked_again(&mut self, psn: Psn, span: u32, is_answered: bool) {
        if !self.word.is_known() {
            return;
        }
        let next = self.word.next();
        let ahead = psn.distance_from(next);
        let is_cut = ahead == 0 && self.word.has(SequenceWord::OPEN);
        if ahead >= 0
            && (is_cut || is_answered)
            && span.saturating_add(ahead.cast_unsigned()) <= MAX_GAP
        {
            let after = psn.plus(span);
            self.state.window.advance(next, ahead.cast_unsigned() + span, &mut self.state.totals);
            self.state.window.holes.add(after, psn, span);
            let totals = &mut self.state.totals;
            totals.missing = totals.missing.wrapping_add(span);
            *self.word = self.word.moved_to(after);
        }
        self.arrived(before(psn));
        self.ask_for(psn);
        self.note_trouble();
    }

    /// See [`Self::note_path_mtu`].
    #[inline(always)]
    pub(super) fn note_path_mtu_here(&mut self, path_mtu: u32) {
        let reads = self.state.acks.reads();
        let span = reads.span(path_mtu);
        if !self.awaits_mtu() || span == 0 {
            return;
        }
        self.state.acks.set_reads(Reads::NONE);
        if span > MAX_REWIND {
            return;
        }
        let next = self.word.next();
        let missing = reads.missing(path_mtu);
        if missing != 0 {
            let totals = &mut self.state.totals;
            totals.missing = totals.missing.wrapping_add(missing);
            let among = next.distance_from(reads.start()).cast_unsigned();
            self.state.window.holes.add_somewhere(reads.start(), among, missing);
        }
        if self.word.has(SequenceWord::UNCERTAIN) {
            self.state.window.advance(next, span - 1, &mut self.state.totals);
            *self.word = self.word.moved_to(next.plus(span - 1));
        }
        self.note_trouble();
    }

    /// Whether there were READs that took an unknown number of PSNs.
    #[inline(always)]
    pub fn awaits_mtu(&self) -> bool {
        self.word.is_known() && self.state.acks.reads().is_some()
    }

    /// The tap lost packets since the word of this record was `since`: what is missing from then on, it
    /// may not have seen.
    #[inline(always)]
    pub fn note_tap_loss(&mut self, since: SequenceWord) {
        let next = self.word.next();
        let back = next.distance_from(since.next());
        if !self.word.is_known() {
            return;
        }
        let is_all = !since.is_known() || back < 0 || back.unsigned_abs() > MAX_REWIND;
        let window = &mut self.state.window;
        let count = if is_all {
            window.holes.take_all()
        } else if back == 0 {
            0
        } else {
            window.holes.take_from(next, since.next())
        };
        let totals = &mut self.state.totals;
        totals.unseen = totals.unseen.wrapping_add(count);
        self.note_trouble();
    }

    /// The peer had no receive buffer for `psn`.
    #[inline(always)]
    pub fn note_rnr(&mut self, psn: Psn, time_us: u32) {
        self.note_ack(before(psn), time_us);
        let totals = &mut self.state.totals;
        totals.rnr_waits = totals.rnr_waits.wrapping_add(1);
        if self.is_behind(psn) && !self.state.window.is_unreliable() {
            self.state.window.nak = psn.get() | VALID | RNR;
        }
    }

    /// Times the answer to a packet that came in order and asks for one: AckReq, or the end of a
    /// message. One packet is timed at a time, and none that may have been sent twice (Karn).
    #[inline(always)]
    pub fn start_rtt(&mut self, psn: Psn, time_us: u32) {
        self.state.acks.start_timing(psn, time_us);
    }

    /// See [`Self::arrived`].
    #[inline(always)]
    pub(super) fn arrived_here(&mut self, psn: Psn) {
        if !self.is_behind(psn) {
            return;
        }
        let window = &mut self.state.window;
        if !window.holes.is_empty() {
            let next = self.word.next();
            let nak = window.sequence_nak();
            let is_named = nak & VALID != 0;
            let lost =
                if is_named { window.holes.run_through(next, Psn::new(nak), psn) } else { 0 };
            let count = window.holes.take_through(next, psn);
            let lost = if lost < count { lost } else { count };
            let totals = &mut self.state.totals;
            totals.lost = totals.lost.wrapping_add(lost);
            totals.unseen = totals.unseen.wrapping_add(count.wrapping_sub(lost));
        }
        if window.nak & VALID != 0 && !Psn::new(window.nak).is_after(psn) {
            window.nak = 0;
        }
        self.note_trouble();
    }

    /// The peer waits for `psn`.
    #[inline(always)]
    fn ask_for(&mut self, psn: Psn) {
        // A responder that was not ready also calls the rest of the message out of order.
        let is_known_rnr = self.state.window.nak == psn.get() | VALID | RNR;
        if self.is_behind(psn) && !is_known_rnr && !self.state.window.is_unreliable() {
            self.state.window.nak = psn.get() | VALID;
        }
    }

    /// Whether `psn` was sent not long ago, as far as the tap saw.
    #[inline(always)]
    fn is_behind(&self, psn: Psn) -> bool {
        let back = self.word.next().distance_from(psn);
        self.word.is_known() && back > 0 && back.unsigned_abs() <= MAX_REWIND
    }
}

#[inline(always)]
pub(super) const fn before(psn: Psn) -> Psn {
    psn.plus(Psn::MAX.get())
}
