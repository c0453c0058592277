//! One packet.

use super::fills::{FRESH, NAMED};
use super::totals::VALID;
use super::{
    IDLE, MAX_GAP, MAX_REWIND, MIN_RESTART, MIN_TIMEOUT, PacketClass, SequenceKind, SequencePacket,
    SequenceState, SequenceWord, Window,
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
    pub state: &'a mut SequenceState,
}

impl Sequence<'_> {
    /// Takes a packet.
    #[inline(always)]
    pub fn observe(&mut self, packet: &SequencePacket) -> PacketClass {
        if packet.is_copy {
            self.state.totals.tap_duplicates = self.state.totals.tap_duplicates.wrapping_add(1);
            return PacketClass::TapDuplicate;
        }
        if self.word.is_due(packet.psn, packet.kind) {
            *self.word = self.word.after(packet.psn, packet.span, packet.kind);
            let has_order = packet.kind.has_order();
            return if has_order { PacketClass::InOrder } else { PacketClass::NotTracked };
        }
        let class = self.out_of_order(packet);
        self.note_trouble();
        class
    }

    /// Decides what waits for a late packet: nothing comes any more.
    pub fn settle(&mut self) {
        self.settle_echo();
        self.state.window.fills.settle_all(&mut self.state.totals);
    }

    /// Forgets the sequence, but no counter: the QP starts anew.
    pub fn restart(&mut self) {
        self.settle();
        self.word.0 &= SequenceWord::WATCHED;
        self.state.window = Window::default();
        self.state.totals.first = 0;
        self.state.acks.restart();
    }

    fn out_of_order(&mut self, packet: &SequencePacket) -> PacketClass {
        if !self.word.is_known() {
            return self.learn(packet);
        }
        self.state.window.fills.settle_due(packet.time_us, &mut self.state.totals);
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
        self.state.totals.first = packet.psn.get() | VALID;
        self.step(packet);
        PacketClass::InOrder
    }

    fn ahead(&mut self, packet: &SequencePacket, ahead: u32) -> PacketClass {
        self.settle_echo();
        if self.state.window.fills.is_fresh() {
            self.state.window.fills.isolate(&mut self.state.totals);
        }
        self.state.window.cursor = 0;
        let (missing, mut forgotten) = self.skip(packet, ahead);
        forgotten += self.state.window.holes.advance(packet.psn, taken(packet), false);
        self.step(packet);
        if packet.kind.is_unreliable() {
            // Nobody sends them again.
            forgotten += self.state.window.holes.drain_far();
            self.state.totals.lost = self.state.totals.lost.wrapping_add(forgotten);
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
            return (0, self.state.window.holes.advance(next, ahead, false));
        }
        // Responses have only the PSNs of READs and atomics for certain: the others are those of
        // requests that an ACK answers or nothing. A READ that has begun goes on with the next PSN, and
        // one that goes on had the PSN before.
        let is_response = packet.kind.is_response();
        let first = !is_response || self.word.has(SequenceWord::OPEN);
        let last = !is_response || packet.kind.continues_response();
        let between = first && last && !(is_response && self.acknowledged_within(next, packet.psn));
        let holes = &mut self.state.window.holes;
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
        self.state.totals.missing = self.state.totals.missing.wrapping_add(missing);
        (missing, forgotten)
    }

    fn acknowledged_within(&self, from: Psn, to: Psn) -> bool {
        let acknowledged = Psn::new(self.state.acks.acknowledged);
        self.state.acks.acknowledged & VALID != 0
            && acknowledged.distance_from(from) >= 0
            && to.is_after(acknowledged)
    }

    fn behind(&mut self, packet: &SequencePacket, back: u32) -> PacketClass {
        let first = self.state.totals.first;
        let psn = packet.psn;
        if first & VALID != 0 && Psn::new(first).is_after(psn) {
            return PacketClass::NotTracked;
        }
        let next = self.word.next();
        let span = taken(packet);
        let inside = if span > back { back } else { span };
        let missing = self.state.window.holes.take(next, psn, inside);
        if packet.kind.is_unreliable() {
            return self.unreliable_behind(packet, missing);
        }
        self.state.acks.void_timing(psn);
        self.join_echo(packet, missing);
        let cursor = self.state.window.cursor;
        let skipped = psn.distance_from(Psn::new(cursor));
        // What is dropped again leaves a gap in the rewind, too.
        let goes_on = skipped == 0 || skipped > 0 && (missing == 0 || cursor & CONFIRMED != 0);
        let continues = cursor & VALID != 0 && goes_on;
        if self.state.window.fills.is_fresh() {
            if !continues || skipped != 0 {
                self.state.window.fills.isolate(&mut self.state.totals);
            } else if missing == 0 {
                self.state.window.fills.confirm();
            }
        }
        let is_echo = !continues && missing == 0 && cursor & VALID != 0;
        if is_echo {
            self.state.totals.echo = psn.get() | VALID;
            return self.repeat(packet);
        }
        let named = self.nak_names(psn, inside);
        if continues {
            self.go_on(missing);
        } else {
            self.begin(packet, missing, named);
        }
        let is_run = self.state.window.cursor & CONFIRMED != 0
            && (!continues || skipped == 0)
            && !self.state.window.fills.is_fresh();
        self.move_cursor(psn.plus(span));
        self.extend(packet, back);
        if missing == 0 {
            return self.repeat(packet);
        }
        let how = if is_run { 0 } else { FRESH | if named { NAMED } else { 0 } };
        self.state.window.fills.add(psn, missing, how, packet.time_us, &mut self.state.totals);
        PacketClass::Fill
    }

    fn unreliable_behind(&mut self, packet: &SequencePacket, missing: u32) -> PacketClass {
        if missing == 0 {
            return self.repeat(packet);
        }
        self.state.totals.reordered = self.state.totals.reordered.wrapping_add(missing);
        PacketClass::Reordered
    }

    fn repeat(&mut self, packet: &SequencePacket) -> PacketClass {
        let totals = &mut self.state.totals;
        totals.retransmitted = totals.retransmitted.wrapping_add(1);
        totals.retransmitted_bytes = totals.retransmitted_bytes.wrapping_add(packet.payload);
        self.state.window.fills.again(packet.psn, false, &mut self.state.totals);
        PacketClass::Retransmission
    }

    /// A repeat that did not follow the rewind was alone: the late packet itself, where its PSN is a fill.
    fn settle_echo(&mut self) {
        if self.state.totals.echo & VALID != 0 {
            self.state.window.fills.again(
                Psn::new(self.state.totals.echo),
                true,
                &mut self.state.totals,
            );
            self.state.totals.echo = 0;
        }
    }

    /// Or it was the start of another rewind, if this packet is the one after it.
    fn join_echo(&mut self, packet: &SequencePacket, missing: u32) {
        let echo = Psn::new(self.state.totals.echo);
        if self.state.totals.echo & VALID != 0 && echo.plus(1) == packet.psn {
            self.state.totals.echo = 0;
            let start = SequencePacket { psn: echo, ..*packet };
            self.begin(&start, missing, false);
            self.state.window.cursor =
                self.state.window.cursor & !Psn::MAX.get() | packet.psn.get();
        } else {
            self.settle_echo();
        }
    }

    /// Whether a NAK asked for one of the `span` PSNs from `psn`.
    fn nak_names(&self, psn: Psn, span: u32) -> bool {
        let nak = self.state.window.nak;
        let from = Psn::new(nak).distance_from(psn);
        nak & (VALID | RNR) == VALID && from >= 0 && from.unsigned_abs() < span
    }

    /// Starts a rewind and says what made the sender do it.
    fn begin(&mut self, packet: &SequencePacket, missing: u32, named: bool) {
        let totals = &mut self.state.totals;
        let nak = self.state.window.nak;
        let answers_nak = nak & VALID != 0 && Psn::new(nak) == packet.psn;
        let is_repeated_read = matches!(packet.kind, SequenceKind::Read) && missing == 0;
        let mut flags = VALID | CONFIRMED;
        if missing != 0 && named {
            // It may be the late packet itself.
            flags = VALID | UNEXPLAINED;
        } else if answers_nak {
            let counts = u32::from(nak & RNR == 0);
            totals.go_back_n_episodes = totals.go_back_n_episodes.wrapping_add(counts);
            self.state.window.nak = 0;
        } else if packet.idle >= MIN_TIMEOUT {
            totals.timeouts = totals.timeouts.wrapping_add(1);
        } else if is_repeated_read {
            // A response was lost: the requester asks again from there.
            totals.go_back_n_episodes = totals.go_back_n_episodes.wrapping_add(1);
        } else {
            flags = VALID | UNEXPLAINED;
        }
        self.state.window.cursor = flags;
    }

    /// Goes on with a rewind. One that nothing explained is certain when it repeats a second PSN.
    fn go_on(&mut self, missing: u32) {
        if missing != 0 || self.state.window.cursor & UNEXPLAINED == 0 {
            return;
        }
        self.state.window.cursor = self.state.window.cursor & !UNEXPLAINED | CONFIRMED;
        let totals = &mut self.state.totals;
        totals.go_back_n_episodes = totals.go_back_n_episodes.wrapping_add(1);
        let nak = Psn::new(self.state.window.nak);
        if Psn::new(self.state.window.cursor).is_after(nak) {
            self.state.window.nak = 0;
        }
    }

    fn move_cursor(&mut self, to: Psn) {
        let is_over = to.distance_from(self.word.next()) >= 0;
        let flags = self.state.window.cursor & !Psn::MAX.get();
        self.state.window.cursor = if is_over { 0 } else { flags | to.get() };
    }

    /// A packet behind the next PSN may take more PSNs than was known.
    fn extend(&mut self, packet: &SequencePacket, back: u32) {
        let span = taken(packet);
        if span > back {
            self.state.window.holes.advance(self.word.next(), span - back, false);
            self.step(packet);
        }
    }

    #[inline(always)]
    fn step(&mut self, packet: &SequencePacket) {
        *self.word = self.word.after(packet.psn, packet.span, packet.kind);
    }

    /// Brings the word up to date with the side state.
    pub(super) fn note_trouble(&mut self) {
        let next = self.word.next();
        let totals = &mut self.state.totals;
        let since_first = next.distance_from(Psn::new(totals.first));
        if since_first < 0 || since_first.unsigned_abs() > MAX_REWIND {
            totals.first = 0;
        }
        let window = &self.state.window;
        let is_calm = window.holes.is_empty()
            && window.fills.is_empty()
            && (window.cursor | totals.echo) & VALID == 0;
        *self.word = self.word.with_trouble(!is_calm);
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
