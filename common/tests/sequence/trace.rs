//! Traces: packets and notes with PSNs that do not wrap.

use proptest::prelude::*;
use roce_common::psn::Psn;
use roce_common::sequence::{Sequence, SequenceKind, SequencePacket, SequenceState, SequenceWord};

use crate::model::Counts;

/// One packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) psn: u64,
    pub(crate) span: u32,
    pub(crate) kind: SequenceKind,
    pub(crate) payload: u32,
    pub(crate) time_us: u64,
    pub(crate) idle: u32,
    pub(crate) is_copy: bool,
}

impl Step {
    pub(crate) fn taken(&self) -> u64 {
        u64::from(self.span.max(1))
    }

    pub(crate) fn packet(&self) -> SequencePacket {
        SequencePacket {
            psn: psn(self.psn),
            span: self.span,
            kind: self.kind,
            payload: self.payload,
            time_us: self.time_us as u32,
            idle: self.idle,
            is_copy: self.is_copy,
        }
    }
}

pub(crate) fn psn(unwrapped: u64) -> Psn {
    Psn::new(unwrapped as u32)
}

/// The engine with its state.
#[derive(Debug, Default)]
pub(crate) struct Engine {
    pub(crate) word: SequenceWord,
    pub(crate) state: SequenceState,
}

impl Engine {
    pub(crate) fn sequence(&mut self) -> Sequence<'_> {
        Sequence { word: &mut self.word, state: &mut self.state }
    }

    pub(crate) fn counts(&self) -> Counts {
        let totals = &self.state.totals;
        Counts {
            missing: totals.missing,
            lost: totals.lost,
            recovered: totals.recovered,
            unseen: totals.unseen,
            reordered: totals.reordered,
            retransmitted: totals.retransmitted,
            retransmitted_bytes: totals.retransmitted_bytes,
            tap_duplicates: totals.tap_duplicates,
            go_back_n_episodes: totals.go_back_n_episodes,
            timeouts: totals.timeouts,
            rnr_waits: totals.rnr_waits,
        }
    }
}

/// What happens next, relative to the PSN that is due.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// Packets in order; the bits say which the tap does not see.
    Send {
        count: u8,
        dropped: u32,
    },
    /// Packets from this far back on.
    Rewind {
        back: u16,
        count: u8,
        dropped: u32,
    },
    /// One packet from this far back: late, or a stray repeat.
    Late {
        back: u8,
    },
    /// A READ request.
    Read {
        span: u8,
        is_known: bool,
    },
    /// A copy of the last packet.
    Copy,
    /// Notes about PSNs this far back.
    Ack {
        back: u8,
    },
    Nak {
        back: u8,
    },
    Rnr {
        back: u8,
    },
    /// Silence in microseconds.
    Idle(u32),
    /// The tap is blind for so many packets.
    TapLoss(u16),
    /// Somebody looks whether it was.
    Look,
    /// And finds that it was, since the last look.
    NoteTapLoss,
    /// The path MTU shows.
    PathMtu,
    /// A READ asks again for the responses from a PSN on, this far from the one that is due.
    AskAgain {
        from: i16,
        span: u8,
        is_answered: bool,
    },
    /// Another sequence: so far off.
    Jump(i32),
    /// The connection manager opens the QP anew.
    Restart,
}

pub(crate) fn event() -> impl Strategy<Value = Event> {
    let few_dropped = prop_oneof![4 => Just(0), 1 => (0u32..12).prop_map(|bit| 1 << bit), 1 => any::<u32>().prop_map(|bits| bits & bits >> 7)];
    prop_oneof![
        8 => (1u8..40, few_dropped.clone()).prop_map(|(count, dropped)| Event::Send { count, dropped }),
        4 => (1u16..300, 1u8..60, few_dropped).prop_map(|(back, count, dropped)| Event::Rewind { back, count, dropped }),
        4 => (1u8..100).prop_map(|back| Event::Late { back }),
        2 => (0u8..20, prop::bool::weighted(0.8)).prop_map(|(span, is_known)| Event::Read { span, is_known }),
        1 => Just(Event::Copy),
        3 => (0u8..60).prop_map(|back| Event::Ack { back }),
        3 => (0u8..60).prop_map(|back| Event::Nak { back }),
        1 => (0u8..20).prop_map(|back| Event::Rnr { back }),
        2 => prop_oneof![0u32..20_000, 0u32..5_000_000].prop_map(Event::Idle),
        1 => (1u16..400).prop_map(Event::TapLoss),
        1 => Just(Event::Look),
        1 => Just(Event::NoteTapLoss),
        1 => Just(Event::PathMtu),
        2 => (-80i16..20, 0u8..30, any::<bool>()).prop_map(|(from, span, is_answered)| Event::AskAgain { from, span, is_answered }),
        1 => prop_oneof![70_000i32..4_000_000, -4_000_000i32..-1_100_000, -6_000i32..6_000].prop_map(Event::Jump),
        1 => Just(Event::Restart),
    ]
}
