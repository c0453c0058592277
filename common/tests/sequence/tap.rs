//! Packets one by one.

use roce_common::sequence::{PacketClass, SequenceKind};

use crate::model::Counts;
use crate::trace::{Engine, Step};

/// One PSN space, a packet every 10 microseconds.
#[derive(Default)]
pub(crate) struct Tap {
    pub(crate) engine: Engine,
    pub(crate) time_us: u64,
    last_us: u64,
}

impl Tap {
    pub(crate) fn kind(&mut self, at: u64, span: u32, kind: SequenceKind) -> PacketClass {
        self.packet_of(at, span, 1024, kind)
    }

    pub(crate) fn packet_of(
        &mut self,
        at: u64,
        span: u32,
        payload: u32,
        kind: SequenceKind,
    ) -> PacketClass {
        self.time_us += 10;
        let step = Step {
            psn: at,
            span,
            kind,
            payload,
            time_us: self.time_us,
            idle: (self.time_us - self.last_us) as u32,
            is_copy: false,
        };
        self.last_us = self.time_us;
        self.engine.sequence().observe(&step.packet())
    }

    pub(crate) fn packet(&mut self, at: u64) -> PacketClass {
        self.kind(at, 1, SequenceKind::More)
    }

    pub(crate) fn packets(&mut self, psns: impl IntoIterator<Item = u64>) {
        for at in psns {
            self.packet(at);
        }
    }

    /// The counts when nothing comes any more.
    pub(crate) fn counts(mut self) -> Counts {
        self.engine.sequence().settle();
        self.engine.counts()
    }
}
