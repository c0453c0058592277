//! Packets with a PSN before the next one: late by themselves, or sent again.

use super::burst::{self, Burst, NAMED, REPEAT, SILENT};
use super::observe::taken;
use super::totals::VALID;
use super::window::RNR;
use super::{MIN_TIMEOUT, PacketClass, RewindCause, Sequence, SequenceKind, SequencePacket};
use crate::psn::Psn;

impl Sequence<'_> {
    /// See [`Self::behind`].
    #[inline(always)]
    pub(super) fn behind_here(&mut self, packet: &SequencePacket, back: u32) -> PacketClass {
        let first = self.state.totals.first;
        let psn = packet.psn;
        if first & VALID != 0 && Psn::new(first).is_after(psn) {
            return PacketClass::NotTracked;
        }
        let span = taken(packet);
        if span > back {
            // It takes more PSNs than was known.
            self.state.window.advance(self.word.next(), span - back, &mut self.state.totals);
            self.step(packet);
        }
        let next = self.word.next();
        let window = &mut self.state.window;
        window.holes.take(next, psn, span, &mut window.found);
        if packet.kind.is_response() {
            let skipped = self.state.acks.take_skipped(next, back, back);
            self.state.totals.missing = self.state.totals.missing.wrapping_add(skipped);
            self.state.window.found.add(skipped);
        } else {
            self.state.acks.void_timing(psn);
        }
        let missing = self.state.window.found.get();
        if packet.kind.is_unreliable() {
            self.unreliable(packet, missing, back)
        } else {
            self.reliable(packet, missing, span)
        }
    }

    #[inline(always)]
    fn unreliable(&mut self, packet: &SequencePacket, missing: u32, back: u32) -> PacketClass {
        if missing == 0 {
            return self.repeat(packet, 1);
        }
        let totals = &mut self.state.totals;
        totals.reordered = totals.reordered.wrapping_add(missing);
        self.state.spread.count_reorder(back);
        PacketClass::Reordered
    }

    #[inline(always)]
    fn reliable(&mut self, packet: &SequencePacket, missing: u32, span: u32) -> PacketClass {
        let psn = packet.psn;
        let next = self.word.next();
        let joins = u32::from(self.joins(psn));
        // Through memory, so that the verifier need not remember what it knows by now.
        self.state.window.found.set(joins);
        if self.state.window.found.get() == 0 {
            self.close_burst();
            self.state.window.found.set(0);
        }
        let window = &mut self.state.window;
        let is_echo = missing == 0 && window.filled.contains(next, psn);
        if missing != 0 {
            window.touch(packet.time_us);
            window.fill(next, psn, span, missing, &mut self.state.totals);
        }
        let ahead = psn.distance_from(Psn::new(window.cursor));
        // What is dropped again leaves a gap in a rewind, too.
        let goes_on =
            window.cursor & VALID != 0 && (ahead == 0 || ahead > 0 && missing == 0 && !is_echo);
        if window.found.get() != 0 {
            self.join(packet, missing, span, is_echo);
        } else if goes_on {
            self.go_on(packet, span);
        } else {
            self.begin(packet, missing, span, is_echo);
        }
        if missing == 0 { self.repeat(packet, span) } else { PacketClass::Fill }
    }

    /// Whether a packet goes on with the burst. In a rewind, what is dropped again leaves a gap; but what a
    /// NAK asks for is the first packet of another one.
    #[inline(always)]
    fn joins(&self, psn: Psn) -> bool {
        let window = &self.state.window;
        let burst = window.burst;
        let expected = psn.get() | VALID;
        let gap = psn.distance_from(burst.end());
        if !burst.is_some() || gap < 0 || window.cursor == expected {
            return false;
        }
        let nak = window.sequence_nak();
        let rewind = if window.cursor & VALID != 0 { window.cursor } else { nak };
        let is_rewinding = burst.has(NAMED | SILENT)
            || rewind & VALID != 0 && burst.start().is_after(Psn::new(rewind));
        gap == 0 || is_rewinding && nak != expected
    }

    /// The tap had seen the packet. What came alone before was late by itself.
    #[inline(always)]
    fn repeat(&mut self, packet: &SequencePacket, span: u32) -> PacketClass {
        let totals = &mut self.state.totals;
        totals.retransmitted = totals.retransmitted.wrapping_add(1);
        if !matches!(packet.kind, SequenceKind::Read) {
            totals.retransmitted_bytes = totals.retransmitted_bytes.wrapping_add(packet.payload);
        }
        let late = self.state.window.alone.take_at(packet.psn, span);
        totals.reordered = totals.reordered.wrapping_add(late);
        PacketClass::Retransmission
    }

    /// Goes on with a rewind.
    #[inline(always)]
    fn go_on(&mut self, packet: &SequencePacket, span: u32) {
        self.state.window.cursor = self.until(packet.psn.plus(span));
        self.state.acks.count_rewound(packet.kind, 1);
    }

    /// See [`Self::join`].
    #[inline(always)]
    pub(super) fn join_here(
        &mut self,
        packet: &SequencePacket,
        missing: u32,
        span: u32,
        is_echo: bool,
    ) {
        let window = &mut self.state.window;
        window.burst.end = packet.psn.plus(span).get();
        if missing != 0 {
            window.burst.fills = burst::add(window.burst.fills, missing);
            return;
        }
        if is_echo && !window.burst.has(REPEAT) {
            let echoes = burst::add(window.burst.echoes, span);
            window.burst.echoes = echoes;
            if u32::from(echoes) + u32::from(window.burst.fills) <= window.filled.count() {
                return;
            }
        }
        self.confirm(packet);
    }

    /// The burst is a rewind: the tap had seen this packet, and it is no late original.
    #[inline(always)]
    fn confirm(&mut self, packet: &SequencePacket) {
        let burst = self.state.window.burst;
        self.state.window.burst = Burst::NONE;
        let cursor = Psn::new(self.state.window.cursor);
        let is_same = self.state.window.cursor & VALID != 0 && burst.start().is_after(cursor);
        self.state.window.cursor = self.until(burst.end());
        if !is_same {
            self.count_rewind(burst.start(), self.cause_of(burst), packet);
        }
        self.state.acks.count_rewound(packet.kind, burst.len());
    }

    #[inline(always)]
    fn cause_of(&self, burst: Burst) -> RewindCause {
        let nak = self.state.window.nak;
        if nak & VALID != 0 && burst.end().is_after(Psn::new(nak)) {
            if nak & RNR == 0 { RewindCause::Nak } else { RewindCause::NotReady }
        } else if burst.has(SILENT) {
            RewindCause::Timeout
        } else {
            RewindCause::Unknown
        }
    }

    /// See [`Self::begin`].
    #[inline(always)]
    pub(super) fn begin_here(
        &mut self,
        packet: &SequencePacket,
        missing: u32,
        span: u32,
        is_echo: bool,
    ) {
        let nak = self.state.window.nak;
        let from = Psn::new(nak).distance_from(packet.psn);
        let is_asked = nak & VALID != 0 && from >= 0 && from.unsigned_abs() < span;
        // The first ones of a rewind may have been dropped again.
        let answers_nak = nak & VALID != 0
            && (from == 0 || from < 0 && missing == 0 && !is_echo && nak & RNR == 0);
        let is_silent = packet.idle >= MIN_TIMEOUT;
        let end = packet.psn.plus(span);
        let cause = if answers_nak && nak & RNR != 0 {
            RewindCause::NotReady
        } else if missing != 0 || is_echo && !answers_nak {
            // It may be late by itself.
            let named = if is_asked && nak & RNR == 0 { NAMED } else { 0 };
            let silent = if is_silent { SILENT } else { 0 };
            let echoes = if missing == 0 { span } else { 0 };
            self.state.window.burst = Burst::of(packet.psn, end, missing, echoes, named | silent);
            return;
        } else if answers_nak {
            RewindCause::Nak
        } else if is_silent {
            RewindCause::Timeout
        } else if matches!(packet.kind, SequenceKind::Read) {
            // A response was lost: the requester asks again from there.
            RewindCause::Read
        } else {
            self.state.window.burst = Burst::of(packet.psn, end, 0, 0, REPEAT);
            return;
        };
        self.count_rewind(packet.psn, cause, packet);
        self.go_on(packet, span);
    }

    #[inline(always)]
    fn count_rewind(&mut self, start: Psn, cause: RewindCause, packet: &SequencePacket) {
        let totals = &mut self.state.totals;
        match cause {
            RewindCause::Timeout => totals.timeouts = totals.timeouts.wrapping_add(1),
            RewindCause::NotReady => {}
            RewindCause::Nak | RewindCause::Read | RewindCause::Unknown => {
                totals.go_back_n_episodes = totals.go_back_n_episodes.wrapping_add(1);
            }
        }
        if matches!(cause, RewindCause::Nak | RewindCause::NotReady) {
            self.state.window.nak = 0;
        }
        let back = self.word.next().distance_from(start).cast_unsigned();
        self.state.spread.count_go_back(back);
        if !packet.kind.is_response() {
            let ladder = self.state.acks.rewinds();
            ladder.rewind(start, cause, packet.time_us, packet.idle);
        }
    }

    /// A new packet comes. Before that, a sender goes back over everything: a burst beyond the cursor of
    /// a rewind belongs to it, and others were dropped again.
    #[inline(always)]
    pub(super) fn end_rewind(&mut self) {
        let window = &mut self.state.window;
        let burst = window.burst;
        let is_rewinding = window.cursor & VALID != 0;
        if burst.is_some() && is_rewinding && burst.start().is_after(Psn::new(window.cursor)) {
            window.burst = Burst::NONE;
        } else {
            self.close_burst();
        }
        self.state.window.cursor = 0;
    }

    /// See [`Self::close_burst`].
    #[inline(always)]
    pub(super) fn close_burst_here(&mut self) {
        let burst = self.state.window.burst;
        if !burst.is_some() {
            return;
        }
        let next = self.word.next();
        let window = &mut self.state.window;
        window.burst = Burst::NONE;
        let (fills, echoes) = (burst.fills as u32, burst.echoes as u32);
        let (start, len) = (burst.start(), burst.len());
        window.filled.take_some(next, start, len, fills + echoes, &mut window.found);
        let mut late = window.found.get();
        if burst.has(NAMED | SILENT) && fills != 0 {
            let given_up = window.alone.add(start, len, fills);
            self.state.totals.recover(given_up);
            late = late.saturating_sub(fills);
        }
        if late != 0 {
            let totals = &mut self.state.totals;
            totals.reordered = totals.reordered.wrapping_add(late);
            let extent = next.distance_from(start).cast_unsigned();
            self.state.spread.count_reorder(extent);
        }
    }

    /// Cursor of a rewind that has come to `end`.
    #[inline(always)]
    fn until(&self, end: Psn) -> u32 {
        if end.distance_from(self.word.next()) >= 0 { 0 } else { end.get() | VALID }
    }
}
