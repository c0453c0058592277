//! What the other direction says.

use super::observe::RNR;
use super::totals::VALID;
use super::{MAX_REWIND, Sequence};
use crate::psn::Psn;

impl Sequence<'_> {
    /// The peer has everything up to `psn`: it sent an ACK, or the response to that request.
    ///
    /// What is missing here, it got: the tap did not see it. Only what a NAK had named was lost.
    pub fn note_ack(&mut self, psn: Psn) {
        if !self.is_behind(psn) {
            return;
        }
        let totals = &mut *self.totals;
        let acknowledged = totals.acknowledged;
        if acknowledged & VALID == 0 || psn.is_after(Psn::new(acknowledged)) {
            totals.acknowledged = psn.get() | VALID;
        }
        let nak = self.window.nak;
        if !self.window.holes.is_empty() {
            let named = if nak & RNR == 0 { nak } else { 0 };
            let next = self.word.next();
            let (count, lost) = self.window.holes.take_through(next, psn, named);
            totals.lost = totals.lost.wrapping_add(lost);
            totals.unseen = totals.unseen.wrapping_add(count.wrapping_sub(lost));
        }
        if nak & VALID != 0 && !Psn::new(nak).is_after(psn) {
            self.window.nak = 0;
        }
        self.note_trouble();
    }

    /// The responder answered the request with `psn` by an ACK: there is no READ response with that PSN.
    pub fn note_answered(&mut self, psn: Psn) {
        self.totals.acknowledged = psn.get() | VALID;
    }

    /// The peer got a packet out of order and waits for `psn`. A READ asked for again says the same of
    /// the responses.
    pub fn note_nak(&mut self, psn: Psn) {
        self.note_ack(psn.plus(Psn::MAX.get()));
        // A responder that was not ready also calls the rest of the message out of order.
        let is_known_rnr = self.window.nak == psn.get() | VALID | RNR;
        if self.is_behind(psn) && !is_known_rnr {
            self.window.nak = psn.get() | VALID;
        }
    }

    /// The peer had no receive buffer for `psn`.
    pub fn note_rnr(&mut self, psn: Psn) {
        self.note_ack(psn.plus(Psn::MAX.get()));
        self.totals.rnr_waits = self.totals.rnr_waits.wrapping_add(1);
        if self.is_behind(psn) {
            self.window.nak = psn.get() | VALID | RNR;
        }
    }

    /// Whether `psn` was sent not long ago, as far as the tap saw.
    fn is_behind(&self, psn: Psn) -> bool {
        let back = self.word.next().distance_from(psn);
        self.word.is_known() && back > 0 && back.unsigned_abs() <= MAX_REWIND
    }
}
