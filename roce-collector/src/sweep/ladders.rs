//! Senders that climb a retry ladder: a warning before their queue pairs fail.

use std::net::IpAddr;
use std::time::Duration;

use roce_common::flow::WideKey;

use crate::capture::Timestamp;
use crate::flow::FlowId;
use crate::timeline::{Event, RewindCause};

/// Steps between two sweeps.
const MAX_STEPS: usize = 64;

/// A sender has sent its oldest PSN again and again, each time after silence: nobody answers, as far as the
/// tap sees. When its retries are used up, its queue pair fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LadderStep {
    /// Tap that saw it.
    pub tap: u8,
    /// Sender.
    pub src: IpAddr,
    /// Receiver.
    pub dst: IpAddr,
    /// Destination QP.
    pub dst_qp: u32,
    /// Queue pair of the sender, where answers have shown it.
    pub src_qp: Option<u32>,
    /// The oldest PSN.
    pub psn: u32,
    /// Times that it was sent again, at least: a power of two from 2 on.
    pub tries: u32,
    /// Silence before the last of them.
    pub silence: Duration,
    /// When the silence before the first of them began.
    pub since: Timestamp,
    /// When the last of them was seen.
    pub time: Timestamp,
}

/// A ladder that a sender is on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Climb {
    psn: u32,
    tries: u32,
    since: Timestamp,
}

/// Steps that nobody has taken.
#[derive(Debug, Default)]
pub(super) struct LadderSteps {
    steps: Vec<(WideKey, LadderStep)>,
    /// Steps since the last sweep.
    noted: usize,
    /// Steps that there was no room for.
    pub(super) dropped: u64,
}

impl Climb {
    /// The ladder after `event`, when it was `before`; `None` when the event shows that there is none.
    pub(super) fn after(before: Option<Self>, event: &Event, time: Timestamp) -> Option<Self> {
        let Event::Rewind { psn, was_acknowledged: false, cause, .. } = *event else { return None };
        let RewindCause::Timeout { silent_us } = cause else { return None };
        if let Some(before) = before.filter(|before| before.psn == psn) {
            return Some(Self { tries: before.tries.saturating_add(1), ..before });
        }
        let silence = silent_us.saturating_mul(1_000);
        let since = Timestamp::from_nanos(time.as_nanos().saturating_sub(silence));
        Some(Self { psn, tries: 1, since })
    }

    /// Whether it is worth a warning: seldom as it goes on.
    const fn is_step(&self) -> bool {
        self.tries >= 2 && self.tries.is_power_of_two()
    }
}

impl LadderSteps {
    /// Notes where a sender is after a rewind.
    pub(super) fn note(&mut self, key: &WideKey, climb: &Climb, event: &Event, time: Timestamp) {
        let Event::Rewind { cause: RewindCause::Timeout { silent_us }, .. } = *event else {
            return;
        };
        let Some(id) = FlowId::of(key).filter(|_| climb.is_step()) else { return };
        if self.noted == MAX_STEPS {
            self.dropped += 1;
            return;
        }
        self.noted += 1;
        let step = LadderStep {
            tap: id.tap,
            src: id.src,
            dst: id.dst,
            dst_qp: id.dst_qp,
            src_qp: None,
            psn: climb.psn,
            tries: climb.tries,
            silence: Duration::from_micros(silent_us),
            since: climb.since,
            time,
        };
        self.steps.push((*key, step));
    }

    /// There is room for more.
    pub(super) const fn renew(&mut self) {
        self.noted = 0;
    }

    /// Takes the steps, with the keys of their records.
    pub(super) fn take(&mut self) -> Vec<(WideKey, LadderStep)> {
        std::mem::take(&mut self.steps)
    }
}
