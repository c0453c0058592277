//! One packet.

use super::fills::{FRESH, NAMED};
use super::totals::VALID;
use super::{
    IDLE, MAX_GAP, MAX_REWIND, MIN_RESTART, MIN_TIMEOUT, PacketClass, SequenceKind, SequencePacket,
    SequenceTotals, SequenceWord, Window,
};
use crate::psn::Psn;

/// Flag of a cursor: the rewind is one for certain.
const CONFIRMED: u32 = 1 << 25;
/// Flag of a cursor: neither a NAK nor silence came before the rewind.
const UNEXPLAINED: u32 = 1 << 26;
/// Flag of a NAK word: the receiver was not ready.
pub(super) const RNR: u32 = 1 << 25;

/// The state of one PSN space, borrowed from wherever it is kept.
#[derive(Debug)]
pub struct Sequence<'a> {
    /// Changes with every packet.
    pub word: &'a mut SequenceWord,
    /// Changes only when something is not in order.
    pub window: &'a mut Window,
    /// Counters.
    pub totals: &'a mut SequenceTotals,
}

impl Sequence<'_> {
    /// Takes a packet.
    #[inline(always)]
    pub fn observe(&mut self, packet: &SequencePacket) -> PacketClass {
        const CALM: u32 = SequenceWord::KNOWN;
        const LOOKED_AT: u32 = CALM | SequenceWord::TROUBLED | SequenceWord::UNCERTAIN;
        if packet.is_copy {
            self.totals.tap_duplicates = self.totals.tap_duplicates.wrapping_add(1);
            return PacketClass::TapDuplicate;
        }
        match packet.kind {
            SequenceKind::Untracked => return PacketClass::NotTracked,
            SequenceKind::Acknowledge => {
                self.totals.acknowledged = packet.psn.get() | VALID;
                return PacketClass::NotTracked;
            }
            _ => {}
        }
        if self.word.0 & LOOKED_AT == CALM && self.word.next() == packet.psn {
            self.step(packet, packet.psn.plus(taken(packet)));
            return PacketClass::InOrder;
        }
        let class = self.out_of_order(packet);
        self.note_trouble();
        class
    }

    /// Decides what waits for a late packet: nothing comes any more.
    pub fn settle(&mut self) {
        self.settle_echo();
        self.window.fills.settle_all(self.totals);
    }

    /// Forgets the sequence, but no counter: the QP starts anew.
    pub fn restart(&mut self) {
        self.settle();
        *self.word = SequenceWord::default();
        *self.window = Window::default();
        (self.totals.first, self.totals.acknowledged) = (0, 0);
    }

    fn out_of_order(&mut self, packet: &SequencePacket) -> PacketClass {
        if !self.word.is_known() {
            return self.learn(packet);
        }
        self.window.fills.settle_due(packet.time_ms, self.totals);
        let ahead = packet.psn.distance_from(self.word.next());
        if is_new_sequence(packet, ahead) {
            return self.learn(packet);
        }
        if ahead < 0 {
            self.behind(packet, ahead.unsigned_abs())
        } else {
            self.ahead(packet, ahead.unsigned_abs())
        }
    }

    fn learn(&mut self, packet: &SequencePacket) -> PacketClass {
        self.restart();
        self.totals.first = packet.psn.get() | VALID;
        self.step(packet, packet.psn.plus(taken(packet)));
        PacketClass::InOrder
    }

    fn ahead(&mut self, packet: &SequencePacket, ahead: u32) -> PacketClass {
        self.settle_echo();
        if self.window.fills.is_fresh() {
            self.window.fills.isolate(self.totals);
        }
        self.window.cursor = 0;
        let (missing, mut forgotten) = self.skip(packet, ahead);
        let next = packet.psn.plus(taken(packet));
        forgotten += self.window.holes.advance(packet.psn, taken(packet), false);
        self.step(packet, next);
        if packet.kind.is_unreliable() {
            // Nobody sends them again.
            forgotten += self.window.holes.drain_far();
            self.totals.lost = self.totals.lost.wrapping_add(forgotten);
        }
        if missing == 0 { PacketClass::InOrder } else { PacketClass::GapOpener }
    }

    /// Moves over `ahead` PSNs that did not come, and returns how many of them are missing, and how many
    /// older ones it had to forget.
    fn skip(&mut self, packet: &SequencePacket, ahead: u32) -> (u32, u32) {
        let next = self.word.next();
        if ahead == 0 {
            return (0, 0);
        }
        if self.word.has(SequenceWord::UNCERTAIN) {
            return (0, self.window.holes.advance(next, ahead, false));
        }
        // Responses have only the PSNs of READs and atomics for certain: the others are those of
        // requests that an ACK answers or nothing. A READ that has begun goes on with the next PSN, and
        // one that goes on had the PSN before.
        let is_response = packet.kind.is_response();
        let first = !is_response || self.word.has(SequenceWord::OPEN);
        let last = !is_response || packet.kind.continues_response();
        let between = first && last && !(is_response && self.acknowledged_within(next, packet.psn));
        let holes = &mut self.window.holes;
        let (missing, forgotten) = if between {
            (ahead, holes.advance(next, ahead, true))
        } else if ahead == 1 {
            (u32::from(first || last), holes.advance(next, 1, first || last))
        } else {
            let forgotten = holes.advance(next, 1, first)
                + holes.advance(next.plus(1), ahead - 2, false)
                + holes.advance(next.plus(ahead - 1), 1, last);
            (u32::from(first) + u32::from(last), forgotten)
        };
        self.totals.missing = self.totals.missing.wrapping_add(missing);
        (missing, forgotten)
    }

    fn acknowledged_within(&self, from: Psn, to: Psn) -> bool {
        let acknowledged = Psn::new(self.totals.acknowledged);
        self.totals.acknowledged & VALID != 0
            && acknowledged.distance_from(from) >= 0
            && to.is_after(acknowledged)
    }

    fn behind(&mut self, packet: &SequencePacket, back: u32) -> PacketClass {
        let first = self.totals.first;
        let psn = packet.psn;
        if first & VALID != 0 && Psn::new(first).is_after(psn) {
            return PacketClass::NotTracked;
        }
        let next = self.word.next();
        let span = taken(packet);
        let inside = if span > back { back } else { span };
        let missing = self.window.holes.take(next, psn, inside);
        if packet.kind.is_unreliable() {
            return self.unreliable_behind(packet, missing);
        }
        self.join_echo(packet, missing);
        let cursor = self.window.cursor;
        let skipped = psn.distance_from(Psn::new(cursor));
        // What is dropped again leaves a gap in the rewind, too.
        let goes_on = skipped == 0 || skipped > 0 && (missing == 0 || cursor & CONFIRMED != 0);
        let continues = cursor & VALID != 0 && goes_on;
        if self.window.fills.is_fresh() {
            if !continues || skipped != 0 {
                self.window.fills.isolate(self.totals);
            } else if missing == 0 {
                self.window.fills.confirm();
            }
        }
        let is_echo = !continues && missing == 0 && cursor & VALID != 0;
        if is_echo {
            self.totals.echo = psn.get() | VALID;
            return self.repeat(packet);
        }
        let named = self.nak_names(psn, inside);
        if continues {
            self.go_on(missing);
        } else {
            self.begin(packet, missing, named);
        }
        let is_run = self.window.cursor & CONFIRMED != 0
            && (!continues || skipped == 0)
            && !self.window.fills.is_fresh();
        self.move_cursor(psn.plus(span));
        self.extend(packet, back);
        if missing == 0 {
            return self.repeat(packet);
        }
        let how = if is_run { 0 } else { FRESH | if named { NAMED } else { 0 } };
        self.window.fills.add(psn, missing, how, packet.time_ms, self.totals);
        PacketClass::Fill
    }

    fn unreliable_behind(&mut self, packet: &SequencePacket, missing: u32) -> PacketClass {
        if missing == 0 {
            return self.repeat(packet);
        }
        self.totals.reordered = self.totals.reordered.wrapping_add(missing);
        PacketClass::Reordered
    }

    fn repeat(&mut self, packet: &SequencePacket) -> PacketClass {
        let totals = &mut *self.totals;
        totals.retransmitted = totals.retransmitted.wrapping_add(1);
        totals.retransmitted_bytes = totals.retransmitted_bytes.wrapping_add(packet.payload);
        self.window.fills.again(packet.psn, false, self.totals);
        PacketClass::Retransmission
    }

    /// A repeat that did not follow the rewind was alone: the late packet itself, where its PSN is a fill.
    fn settle_echo(&mut self) {
        if self.totals.echo & VALID != 0 {
            self.window.fills.again(Psn::new(self.totals.echo), true, self.totals);
            self.totals.echo = 0;
        }
    }

    /// Or it was the start of another rewind, if this packet is the one after it.
    fn join_echo(&mut self, packet: &SequencePacket, missing: u32) {
        let echo = Psn::new(self.totals.echo);
        if self.totals.echo & VALID != 0 && echo.plus(1) == packet.psn {
            self.totals.echo = 0;
            let start = SequencePacket { psn: echo, ..*packet };
            self.begin(&start, missing, false);
            self.window.cursor = self.window.cursor & !Psn::MAX.get() | packet.psn.get();
        } else {
            self.settle_echo();
        }
    }

    /// Whether a NAK asked for one of the `span` PSNs from `psn`.
    fn nak_names(&self, psn: Psn, span: u32) -> bool {
        let nak = self.window.nak;
        let from = Psn::new(nak).distance_from(psn);
        nak & (VALID | RNR) == VALID && from >= 0 && from.unsigned_abs() < span
    }

    /// Starts a rewind and says what made the sender do it.
    fn begin(&mut self, packet: &SequencePacket, missing: u32, named: bool) {
        let totals = &mut *self.totals;
        let nak = self.window.nak;
        let answers_nak = nak & VALID != 0 && Psn::new(nak) == packet.psn;
        let is_repeated_read = matches!(packet.kind, SequenceKind::Read) && missing == 0;
        let mut flags = VALID | CONFIRMED;
        if missing != 0 && named {
            // It may be the late packet itself.
            flags = VALID | UNEXPLAINED;
        } else if answers_nak {
            let counts = u32::from(nak & RNR == 0);
            totals.go_back_n_episodes = totals.go_back_n_episodes.wrapping_add(counts);
            self.window.nak = 0;
        } else if packet.idle >= MIN_TIMEOUT {
            totals.timeouts = totals.timeouts.wrapping_add(1);
        } else if is_repeated_read {
            // A response was lost: the requester asks again from there.
            totals.go_back_n_episodes = totals.go_back_n_episodes.wrapping_add(1);
        } else {
            flags = VALID | UNEXPLAINED;
        }
        self.window.cursor = flags;
    }

    /// Goes on with a rewind. One that nothing explained is certain when it repeats a second PSN.
    fn go_on(&mut self, missing: u32) {
        if missing != 0 || self.window.cursor & UNEXPLAINED == 0 {
            return;
        }
        self.window.cursor = self.window.cursor & !UNEXPLAINED | CONFIRMED;
        let totals = &mut *self.totals;
        totals.go_back_n_episodes = totals.go_back_n_episodes.wrapping_add(1);
        let nak = Psn::new(self.window.nak);
        if Psn::new(self.window.cursor).is_after(nak) {
            self.window.nak = 0;
        }
    }

    fn move_cursor(&mut self, to: Psn) {
        let is_over = to.distance_from(self.word.next()) >= 0;
        let flags = self.window.cursor & !Psn::MAX.get();
        self.window.cursor = if is_over { 0 } else { flags | to.get() };
    }

    /// A packet behind the next PSN may take more PSNs than was known.
    fn extend(&mut self, packet: &SequencePacket, back: u32) {
        let span = taken(packet);
        if span > back {
            self.window.holes.advance(self.word.next(), span - back, false);
            self.step(packet, packet.psn.plus(span));
        }
    }

    #[inline(always)]
    fn step(&mut self, packet: &SequencePacket, next: Psn) {
        let mut word = next.get() | SequenceWord::KNOWN | self.word.0 & SequenceWord::TROUBLED;
        if packet.span == 0 {
            word |= SequenceWord::UNCERTAIN;
        }
        if packet.kind.opens_response() {
            word |= SequenceWord::OPEN;
        }
        self.word.0 = word;
    }

    pub(super) fn note_trouble(&mut self) {
        let window = &*self.window;
        let is_calm = window.holes.is_empty()
            && window.fills.is_empty()
            && (window.cursor | self.totals.echo) & VALID == 0;
        let word = self.word.0 & !SequenceWord::TROUBLED;
        self.word.0 = if is_calm { word } else { word | SequenceWord::TROUBLED };
    }
}

/// Whether the packet is so far off that its PSN says nothing about the ones before.
const fn is_new_sequence(packet: &SequencePacket, ahead: i32) -> bool {
    let distance = ahead.unsigned_abs();
    if ahead >= 0 {
        return distance > MAX_GAP || packet.idle > IDLE && distance > 0;
    }
    let starts = packet.kind.starts_message();
    distance > MAX_REWIND || packet.idle > IDLE && starts && distance > MIN_RESTART
}

/// PSNs that a packet takes, at least.
#[inline(always)]
const fn taken(packet: &SequencePacket) -> u32 {
    if packet.span == 0 { 1 } else { packet.span }
}
