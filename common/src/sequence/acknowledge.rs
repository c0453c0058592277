//! What the other direction says.

use super::observe::RNR;
use super::totals::VALID;
use super::{MAX_REWIND, Sequence, SequenceKind, histogram};
use crate::psn::Psn;
use crate::wire::{Nak, Syndrome};

impl Sequence<'_> {
    /// Takes the answer to a packet of this space: `kind` is what the answer is, and `aeth` its
    /// [`crate::wire::Aeth::word`], 0 where there is none.
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
    pub fn note_ack(&mut self, psn: Psn, time_us: u32) {
        if !self.is_behind(psn) {
            return;
        }
        self.state.acks.acknowledge(psn);
        let (elapsed, is_timed) = self.state.acks.stop_timing(psn, time_us);
        if is_timed {
            histogram::count(&mut self.state.spread.rtt, elapsed);
        }
        let nak = self.state.window.nak;
        if !self.state.window.holes.is_empty() {
            let named = if nak & RNR == 0 { nak } else { 0 };
            let next = self.word.next();
            let (count, lost) = self.state.window.holes.take_through(next, psn, named);
            let totals = &mut self.state.totals;
            totals.lost = totals.lost.wrapping_add(lost);
            totals.unseen = totals.unseen.wrapping_add(count.wrapping_sub(lost));
        }
        if nak & VALID != 0 && !Psn::new(nak).is_after(psn) {
            self.state.window.nak = 0;
        }
        self.note_trouble();
    }

    /// The responder answered the request with `psn` by an ACK: there is no READ response with that PSN.
    pub fn note_answered(&mut self, psn: Psn) {
        self.state.acks.acknowledged = psn.get() | VALID;
    }

    /// The peer got a packet out of order and waits for `psn`. A READ asked for again says the same of
    /// the responses.
    pub fn note_nak(&mut self, psn: Psn, time_us: u32) {
        self.note_ack(before(psn), time_us);
        // A responder that was not ready also calls the rest of the message out of order.
        let is_known_rnr = self.state.window.nak == psn.get() | VALID | RNR;
        if self.is_behind(psn) && !is_known_rnr {
            self.state.window.nak = psn.get() | VALID;
        }
    }

    /// The peer had no receive buffer for `psn`.
    pub fn note_rnr(&mut self, psn: Psn, time_us: u32) {
        self.note_ack(before(psn), time_us);
        let totals = &mut self.state.totals;
        totals.rnr_waits = totals.rnr_waits.wrapping_add(1);
        if self.is_behind(psn) {
            self.state.window.nak = psn.get() | VALID | RNR;
        }
    }

    /// Times the answer to a packet that came in order and asks for one: AckReq, or the end of a
    /// message. One packet is timed at a time, and none that may have been sent twice (Karn).
    #[inline(always)]
    pub fn start_rtt(&mut self, psn: Psn, time_us: u32) {
        self.state.acks.start_timing(psn, time_us);
    }

    /// Whether `psn` was sent not long ago, as far as the tap saw.
    fn is_behind(&self, psn: Psn) -> bool {
        let back = self.word.next().distance_from(psn);
        self.word.is_known() && back > 0 && back.unsigned_abs() <= MAX_REWIND
    }
}

const fn before(psn: Psn) -> Psn {
    psn.plus(Psn::MAX.get())
}
