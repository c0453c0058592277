//! One packet.

use super::acknowledge::before;
use super::totals::VALID;
use super::window::UNRELIABLE;
use super::{
    IDLE, MAX_GAP, MAX_REWIND, MIN_RESTART, PacketClass, SequencePacket, SequenceState,
    SequenceWord, Window,
};
use crate::psn::Psn;

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
        if self.word.is_due(packet.psn, packet.span, packet.kind) {
            *self.word = self.word.after(packet.psn, packet.span, packet.kind);
            let has_order = packet.kind.has_order();
            return if has_order { PacketClass::InOrder } else { PacketClass::NotTracked };
        }
        let class = self.out_of_order(packet);
        self.note_trouble();
        class
    }

    /// Starts with fresh side state in the middle of a sequence that began with `first`, `packets` ago.
    #[inline(always)]
    pub const fn adopt(&mut self, first: Psn, packets: u32) {
        if packets < MAX_REWIND {
            self.state.totals.first = first.get() | VALID;
        }
    }

    /// Whether the peer has asked for `psn`, by a NAK or after it was not ready.
    pub const fn is_asked_for(&self, psn: Psn) -> bool {
        let nak = self.state.window.nak;
        nak & VALID != 0 && Psn::new(nak).get() == psn.get()
    }

    /// Of requests, whether anything waits for what the other direction says.
    #[inline(always)]
    pub const fn wants_answers(&self) -> bool {
        let acks = &self.state.acks;
        self.word.is_troubled() || acks.is_timing() || acks.is_on_ladder()
    }

    /// Of requests, catches up with answers up to `psn` that it was not told of.
    #[inline(always)]
    pub const fn catch_up(&mut self, psn: Psn) {
        self.state.acks.reach(psn);
    }

    /// Decides what waits for a late packet: nothing comes any more.
    #[inline(always)]
    pub fn settle(&mut self) {
        self.close_burst();
        self.state.window.settle(&mut self.state.totals);
        self.note_trouble();
    }

    /// Decides what has waited long enough for a late packet, at the time of `time_us`. Packets do that,
    /// too: this is for whoever looks at the state of a sequence that has stopped, or at a copy of it.
    #[inline(always)]
    pub fn settle_due(&mut self, time_us: u32) {
        if self.state.window.is_due(time_us) {
            self.settle();
        }
    }

    /// Forgets the sequence, but no counter: the QP starts anew.
    #[inline(always)]
    pub fn restart(&mut self) {
        self.close_burst();
        self.state.window.settle(&mut self.state.totals);
        self.word.0 &= SequenceWord::WATCHED;
        self.state.window = Window::default();
        self.state.totals.first = 0;
        self.state.acks.restart();
    }

    #[inline(always)]
    fn out_of_order(&mut self, packet: &SequencePacket) -> PacketClass {
        self.state.window.settle_due(packet.time_us, &mut self.state.totals);
        let ahead = packet.psn.distance_from(self.word.next());
        if self.is_new_sequence(packet, ahead) {
            return self.learn(packet);
        }
        if ahead < 0 {
            self.behind(packet, ahead.unsigned_abs())
        } else {
            self.ahead(packet, ahead.unsigned_abs())
        }
    }

    /// Whether the packet is so far off that its PSN says nothing about the ones before.
    #[inline(always)]
    fn is_new_sequence(&self, packet: &SequencePacket, ahead: i32) -> bool {
        let distance = ahead.unsigned_abs();
        if !self.word.is_known() {
            return true;
        }
        if ahead >= 0 {
            return distance > MAX_GAP || packet.idle > IDLE && distance > 0;
        }
        if distance > MAX_REWIND {
            return true;
        }
        if !packet.kind.starts_message() || distance <= MIN_RESTART {
            return false;
        }
        // Nobody has that much to send again, least of all what was acknowledged.
        let is_request = !packet.kind.is_response();
        let beyond = self.state.acks.acknowledged_beyond(packet.psn);
        packet.idle > IDLE || is_request && beyond > MIN_RESTART
    }

    #[inline(always)]
    pub(super) fn learn_here(&mut self, packet: &SequencePacket) -> PacketClass {
        self.restart();
        self.state.totals.first = packet.psn.get() | VALID;
        self.start_read(packet);
        self.step(packet);
        PacketClass::InOrder
    }

    #[inline(always)]
    pub(super) fn ahead_here(&mut self, packet: &SequencePacket, ahead: u32) -> PacketClass {
        self.end_rewind();
        let missing = self.skip(packet, ahead);
        self.state.totals.missing = self.state.totals.missing.wrapping_add(missing);
        self.start_read(packet);
        self.step(packet);
        if packet.kind.is_unreliable() {
            // Nobody sends them again.
            let gone = self.state.window.holes.take_far();
            self.state.totals.lost = self.state.totals.lost.wrapping_add(gone);
            if missing != 0 {
                self.state.window.nak = UNRELIABLE;
                self.state.window.touch(packet.time_us);
            }
        }
        if missing == 0 { PacketClass::InOrder } else { PacketClass::GapOpener }
    }

    /// Moves over `ahead` PSNs that did not come and those of the packet, and returns how many of the first
    /// are missing.
    #[inline(always)]
    fn skip(&mut self, packet: &SequencePacket, ahead: u32) -> u32 {
        let next = self.word.next();
        let after = packet.psn.plus(taken(packet));
        self.state.window.advance(next, ahead + taken(packet), &mut self.state.totals);
        if self.word.has(SequenceWord::UNCERTAIN) {
            let reads = self.state.acks.reads().followed(ahead + 1);
            self.state.acks.set_reads(reads);
            return 0;
        }
        if ahead == 0 {
            return 0;
        }
        // Responses have only the PSNs of READs and atomics for certain: the others are those of
        // requests that an ACK answers or nothing. A READ that has begun goes on with the next PSN, and
        // one that goes on had the PSN before.
        let (mut first, mut last) = (ahead, 0);
        if packet.kind.is_response() {
            let is_open = self.word.has(SequenceWord::OPEN);
            let goes_on = packet.kind.continues_response();
            let is_answered = self.state.acks.acknowledged_within(next, packet.psn);
            if !(is_open && goes_on && !is_answered) {
                first = u32::from(is_open || goes_on && ahead == 1);
                last = u32::from(goes_on && ahead > 1);
            }
            let between = ahead - first - last;
            if between != 0 {
                self.state.acks.skip(packet.psn, between + last, 1 + last);
            }
        }
        let holes = &mut self.state.window.holes;
        holes.add(after, next, first);
        holes.add(after, before(packet.psn), last);
        first + last
    }

    /// Until the path MTU is known, a READ may have taken any number of PSNs.
    #[inline(always)]
    fn start_read(&mut self, packet: &SequencePacket) {
        if known_span(packet) == 0 {
            let reads = self.state.acks.reads().with(packet.psn, packet.payload);
            self.state.acks.set_reads(reads);
        }
    }

    #[inline(always)]
    pub(super) fn step(&mut self, packet: &SequencePacket) {
        *self.word = self.word.after(packet.psn, known_span(packet), packet.kind);
    }

    /// Brings the word up to date with the side state.
    #[inline(always)]
    pub(super) fn note_trouble(&mut self) {
        let next = self.word.next();
        let totals = &mut self.state.totals;
        let since_first = next.distance_from(Psn::new(totals.first));
        if since_first < 0 || since_first.unsigned_abs() > MAX_REWIND {
            totals.first = 0;
        }
        self.state.window.holes.age(next);
        *self.word = self.word.with_trouble(!self.state.window.is_calm());
    }
}

/// PSNs that a packet takes, 0 when that is not known. More than a rewind is long cannot be compared.
#[inline(always)]
const fn known_span(packet: &SequencePacket) -> u32 {
    if packet.span > MAX_REWIND { 0 } else { packet.span }
}

/// PSNs that a packet takes, at least.
#[inline(always)]
pub(super) const fn taken(packet: &SequencePacket) -> u32 {
    let span = known_span(packet);
    if span == 0 { 1 } else { span }
}
