//! Queue pairs that die or stand still, as far as their packets show it.

use std::sync::Arc;
use std::time::Duration;

use roce_common::event::{EventKind, FlowEvent};
use roce_common::psn::Psn;
use roce_common::sequence::{self, RetryLadder};
use roce_common::tap::{NAK_COUNTERS, NAK_UNKNOWN};
use roce_common::wire::{Nak, Syndrome};

use crate::capture::Timestamp;
use crate::diagnosis::MOST_RETRIES;
use crate::flow::FlowId;
use crate::incident::{WireKind, WireTrouble};
use crate::timeline::{Event, RewindCause};

/// Tries without an answer before the end of a stream is more than its end.
const MIN_TRIES: u32 = 3;
/// Tries where the tap saw every one answered, or has never seen an answer: it may just be the last message, whose
/// last answers others saw.
const MIN_TRIES_IN_DOUBT: u32 = 5;
/// A sender that is silent for so many times its longest pause between two tries has given up, ...
const SILENT_SPACINGS: u32 = 4;
/// ... but not before this.
const MIN_SILENCE: Duration = Duration::from_secs(1);
/// Waiting for a receiver may take its time: the standard has a code for "for ever".
const MIN_UNREADY: Duration = Duration::from_secs(5);
/// Troubles that wait to be taken.
const MAX_PENDING: usize = 1024;

/// Troubles that nobody has taken yet, with the tap that saw each.
#[derive(Debug, Default)]
pub(super) struct Troubles {
    pending: Vec<(u8, WireTrouble)>,
    /// Troubles beyond the limit.
    pub(super) dropped: u64,
}

/// What has been told of the ladder that a sender is on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LadderWatch {
    psn: u32,
    /// Tries from which on it is told again.
    next: u32,
    is_over: bool,
}

/// A ladder at one look.
#[derive(Clone, Copy, Debug)]
pub(super) struct LadderLook {
    pub(super) ladder: RetryLadder,
    pub(super) cause: Option<sequence::RewindCause>,
    /// Since the first try.
    pub(super) age: Duration,
    /// Since the last packet of the sender.
    pub(super) silence: Duration,
    /// The tap sees answers, and none to this.
    pub(super) is_certain: bool,
}

/// Tries in a row of a PSN that the tap had seen acknowledged: the sender does not hear the answers.
#[derive(Clone, Copy, Debug)]
pub(super) struct VainTries {
    psn: u32,
    tries: u32,
    first: Timestamp,
    last: Timestamp,
}

impl VainTries {
    /// Those after `event`, when they were `before`.
    pub(super) fn after(before: Option<Self>, event: &Event, time: Timestamp) -> Option<Self> {
        let Event::Rewind { psn, was_acknowledged: true, cause, .. } = *event else { return None };
        let RewindCause::Timeout { .. } = cause else { return None };
        Some(match before.filter(|before| before.psn == psn) {
            Some(before) => Self { tries: before.tries.saturating_add(1), last: time, ..before },
            None => Self { psn, tries: 1, first: time, last: time },
        })
    }

    /// As a ladder.
    pub(super) fn look(&self, now: Timestamp) -> LadderLook {
        let age = self.last.since(self.first);
        let ladder = RetryLadder {
            psn: Psn::new(self.psn),
            tries: self.tries,
            first_try_us: 0,
            spacing_us: (age / self.tries).as_micros() as u32,
            longest_silence_us: 0,
        };
        let cause = Some(sequence::RewindCause::Timeout);
        LadderLook { ladder, cause, age, silence: now.since(self.last), is_certain: false }
    }
}

impl LadderWatch {
    /// What is to be told now. `None` stands for no ladder.
    pub(super) fn look(&mut self, look: Option<LadderLook>) -> Option<WireKind> {
        let Some(LadderLook { ladder, cause, age, silence, is_certain }) = look else {
            *self = Self::default();
            return None;
        };
        let (psn, tries) = (ladder.psn.get(), ladder.tries);
        if self.psn != psn || self.next == 0 {
            *self = Self { psn, next: MOST_RETRIES + 1, is_over: false };
        }
        let is_unready = cause == Some(sequence::RewindCause::NotReady);
        let pause = ladder.spacing_us.max(ladder.longest_silence_us);
        let patience = Duration::from_micros(pause.into()) * SILENT_SPACINGS;
        if silence >= patience.max(MIN_SILENCE) {
            let min_tries = if is_certain { MIN_TRIES } else { MIN_TRIES_IN_DOUBT };
            if self.is_over || tries < min_tries {
                return None;
            }
            self.is_over = true;
            return Some(if is_unready {
                WireKind::NotReady { psn, refusals: tries + 1 }
            } else {
                WireKind::GaveUp { psn, tries, silence }
            });
        }
        self.is_over = false;
        if tries < self.next || (is_unready && age < MIN_UNREADY) {
            return None;
        }
        // Not each try is news.
        self.next = tries.saturating_mul(2);
        Some(if is_unready {
            WireKind::NotReady { psn, refusals: tries + 1 }
        } else {
            WireKind::Stalled { psn, tries, age }
        })
    }
}

impl Troubles {
    /// A NAK after which the queue pair is in error is trouble at once. Its event is one of the requests that
    /// it refuses.
    pub(super) fn note_event(&mut self, event: &FlowEvent, time: Timestamp) {
        if EventKind::of_code(event.kind) != Some(EventKind::Nak) {
            return;
        }
        let Some(id) = FlowId::of(&event.key) else { return };
        let code = match Syndrome::from_byte(event.detail as u8) {
            Syndrome::Nak(code) if code != Nak::PsnSequenceError => code.name(),
            _ => return,
        };
        self.note_requests(&id, None, WireKind::FatalNak { code, psn: event.psn }, time);
    }

    /// NAKs without an event, because the requests are not seen; `before` and `now` are counters by
    /// [`roce_common::tap::nak_index`].
    pub(super) fn note_naks(
        &mut self,
        answers: &FlowId,
        psn: Option<Psn>,
        [before, now]: [&[u64; NAK_COUNTERS]; 2],
        time: Timestamp,
    ) {
        let grown = (1..=NAK_UNKNOWN).find(|index| {
            let index = usize::from(*index);
            now[index] > before[index]
        });
        let Some(code) = grown.map(|index| Nak::from_code(index).name()) else { return };
        let FlowId { tap, src, dst, dst_qp, .. } = *answers;
        let trouble = WireTrouble {
            time,
            device: None,
            requester: dst,
            requester_qp: Some(dst_qp),
            responder: src,
            responder_qp: None,
            kind: WireKind::FatalNak { code, psn: psn.map_or(0, Psn::get) },
        };
        self.push(tap, trouble);
    }

    /// Requests that are in trouble.
    pub(super) fn note_requests(
        &mut self,
        id: &FlowId,
        source_qp: Option<u32>,
        kind: WireKind,
        time: Timestamp,
    ) {
        let trouble = WireTrouble {
            time,
            device: None,
            requester: id.src,
            requester_qp: source_qp,
            responder: id.dst,
            responder_qp: Some(id.dst_qp),
            kind,
        };
        self.push(id.tap, trouble);
    }

    fn push(&mut self, tap: u8, trouble: WireTrouble) {
        if self.pending.len() < MAX_PENDING {
            self.pending.push((tap, trouble));
        } else {
            self.dropped += 1;
        }
    }

    /// Takes them; `devices` are the interfaces in the order of their taps.
    pub(super) fn take(&mut self, devices: &[String]) -> Vec<WireTrouble> {
        let named = |(tap, trouble): (u8, WireTrouble)| {
            let device = devices.get(usize::from(tap / 2));
            WireTrouble { device: device.map(|name| Arc::from(name.as_str())), ..trouble }
        };
        self.pending.drain(..).map(named).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use roce_common::sequence::RewindCause as Cause;

    fn look(tries: u32, silence_ms: u64, cause: Cause) -> LadderLook {
        let ladder = RetryLadder {
            psn: Psn::new(7),
            tries,
            first_try_us: 0,
            spacing_us: 67_000,
            longest_silence_us: 67_000,
        };
        let age = Duration::from_millis(u64::from(tries) * 67);
        let silence = Duration::from_millis(silence_ms);
        LadderLook { ladder, cause: Some(cause), age, silence, is_certain: true }
    }

    fn timeout(tries: u32, silence_ms: u64) -> LadderLook {
        look(tries, silence_ms, Cause::Timeout)
    }

    #[test]
    fn a_sender_that_falls_silent_has_given_up_once() {
        let mut watch = LadderWatch::default();
        assert_eq!(watch.look(Some(timeout(3, 60))), None, "it may still get its answer");
        let told = watch.look(Some(timeout(3, 1200)));
        assert!(matches!(told, Some(WireKind::GaveUp { psn: 7, tries: 3, .. })), "{told:?}");
        assert_eq!(watch.look(Some(timeout(3, 2200))), None);
        assert_eq!(watch.look(None), None);
        assert_eq!(LadderWatch::default().look(Some(timeout(2, 5000))), None, "too few tries");
    }

    #[test]
    fn retries_beyond_the_standard_are_a_stall() {
        let mut watch = LadderWatch::default();
        let told: Vec<_> =
            (1..=40).filter(|tries| watch.look(Some(timeout(*tries, 10))).is_some()).collect();
        assert_eq!(told, [8, 16, 32], "each time it has doubled");
        watch.look(None);
        assert!(matches!(
            watch.look(Some(timeout(8, 10))),
            Some(WireKind::Stalled { tries: 8, .. })
        ));
    }

    #[test]
    fn a_receiver_that_is_not_ready_has_time() {
        let mut watch = LadderWatch::default();
        assert_eq!(watch.look(Some(look(20, 10, Cause::NotReady))), None);
        let told = watch.look(Some(look(80, 10, Cause::NotReady)));
        assert_eq!(told, Some(WireKind::NotReady { psn: 7, refusals: 81 }));
    }

    #[test]
    fn answers_that_do_not_reach_the_sender() {
        let at = |tenths: u64| Timestamp::from_nanos(tenths * 100_000_000);
        let rewind = |psn, was_acknowledged| Event::Rewind {
            psn,
            last: psn,
            packets: 1,
            filled: 0,
            cause: RewindCause::Timeout { silent_us: 200_000 },
            was_acknowledged,
        };
        let after = |tries: Option<VainTries>, event: &Event, tenths| {
            VainTries::after(tries, event, at(tenths))
        };
        let tries = (0..5).fold(None, |tries, n| after(tries, &rewind(9, true), 10 + 2 * n));
        let look = tries.unwrap().look(at(48));
        assert_eq!((look.ladder.tries, look.silence), (5, Duration::from_secs(3)));
        let told = LadderWatch::default().look(Some(look));
        assert!(matches!(told, Some(WireKind::GaveUp { psn: 9, tries: 5, .. })), "{told:?}");
        assert!(after(tries, &rewind(9, false), 20).is_none(), "that one was not answered");
        assert_eq!(after(tries, &rewind(10, true), 20).unwrap().tries, 1, "it went on");
    }
}
