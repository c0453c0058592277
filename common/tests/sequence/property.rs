//! The engine equals the model.

use std::cell::RefCell;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use roce_common::sequence::{SequenceKind, SequenceWord, read_span};

use crate::model::{Counts, Model};
use crate::trace::{Engine, Event, Step, event, psn};

/// Of every READ.
const PATH_MTU: u32 = 1024;

/// Which packets a trace has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Space {
    Requests,
    Responses,
    Unreliable,
}

struct Run {
    engine: Engine,
    model: Model,
    space: Space,
    due: u64,
    time_us: u64,
    last_us: u64,
    last: Option<Step>,
    /// What the last look saw.
    looked: (SequenceWord, Option<u64>),
    knows_mtu: bool,
    /// Random bits for what does not matter much.
    dice: u32,
}

impl Run {
    fn kind(&mut self) -> SequenceKind {
        self.dice = self.dice.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let roll = self.dice >> 28;
        match (self.space, roll) {
            (Space::Requests, 0..4) => SequenceKind::Start,
            (Space::Requests, _) => SequenceKind::More,
            (Space::Unreliable, 0..4) => SequenceKind::UnreliableStart,
            (Space::Unreliable, _) => SequenceKind::UnreliableMore,
            (Space::Responses, 0..3) => SequenceKind::ResponseFirst,
            (Space::Responses, 3..10) => SequenceKind::ResponseMiddle,
            (Space::Responses, 10..12) => SequenceKind::ResponseLast,
            (Space::Responses, 12..14) => SequenceKind::ResponseOnly,
            (Space::Responses, _) => SequenceKind::Acknowledge,
        }
    }

    fn packet(&mut self, at: u64) {
        let kind = self.kind();
        if kind == SequenceKind::Acknowledge {
            self.engine.sequence().note_answered(psn(at));
            self.model.note_answered(at);
        } else {
            self.send(at, 1, 1000, kind, false);
        }
    }

    fn send(&mut self, at: u64, span: u32, payload: u32, kind: SequenceKind, is_copy: bool) {
        self.time_us += 7;
        let idle = u32::try_from(self.time_us - self.last_us).expect("short");
        self.last_us = self.time_us;
        let time_us = self.time_us;
        let step = Step { psn: at, span, kind, payload, time_us, idle, is_copy };
        self.last = Some(step);
        self.engine.sequence().observe(&step.packet());
        self.model.observe(&step);
    }

    fn event(&mut self, event: Event) {
        let due = self.due;
        match event {
            Event::Send { count, dropped } => {
                for number in 0..u64::from(count) {
                    if dropped >> (number % 32) & 1 == 0 {
                        self.packet(due + number);
                    }
                }
                self.due += u64::from(count);
            }
            Event::Rewind { back, count, dropped } => {
                let start = due - u64::from(back);
                let end = due.min(start + u64::from(count));
                for (number, at) in (start..end).enumerate() {
                    if dropped >> (number % 32) & 1 == 0 {
                        self.packet(at);
                    }
                }
            }
            Event::Late { back } => self.packet(due - u64::from(back)),
            Event::Read { span, is_known } if self.space == Space::Requests => {
                let is_known = is_known || self.knows_mtu;
                let dma_len = u32::from(span) * PATH_MTU;
                let known = if is_known { read_span(dma_len, PATH_MTU, 0) } else { 0 };
                self.send(due, known, dma_len, SequenceKind::Read, false);
                self.due += u64::from(span).max(1);
            }
            Event::Copy => {
                if let Some(last) = self.last {
                    self.send(last.psn, last.span, last.payload, last.kind, true);
                }
            }
            // Of responses, nobody sends acknowledgements.
            Event::Ack { .. } | Event::Nak { .. } | Event::Rnr { .. }
                if self.space == Space::Responses => {}
            Event::Ack { back } => {
                self.engine.sequence().note_ack(psn(due - u64::from(back)), self.time_us as u32);
                self.model.note_ack(due - u64::from(back));
            }
            Event::Nak { back } => {
                self.engine.sequence().note_nak(psn(due - u64::from(back)), self.time_us as u32);
                self.model.note_nak(due - u64::from(back));
            }
            Event::Rnr { back } => {
                self.engine.sequence().note_rnr(psn(due - u64::from(back)), self.time_us as u32);
                self.model.note_rnr(due - u64::from(back));
            }
            Event::Idle(us) => self.time_us += u64::from(us),
            Event::TapLoss(count) => self.due += u64::from(count),
            Event::Look => self.looked = (self.engine.word, self.model.next),
            Event::NoteTapLoss => {
                let (word, next) = self.looked;
                self.engine.sequence().note_tap_loss(word);
                self.model.note_tap_loss(next);
            }
            Event::PathMtu if self.space == Space::Requests => {
                self.knows_mtu = true;
                self.engine.sequence().note_path_mtu(PATH_MTU);
                self.model.note_path_mtu(PATH_MTU);
            }
            Event::AskAgain { from, span, is_answered } if self.space == Space::Responses => {
                let at = due.checked_add_signed(from.into()).expect("far from 0");
                let engine = &mut self.engine;
                engine.sequence().note_asked_again(psn(at), span.into(), is_answered);
                self.model.note_asked_again(at, span.into(), is_answered);
            }
            Event::Jump(distance) => {
                self.due = due.checked_add_signed(distance.into()).expect("far from 0");
            }
            Event::Restart => {
                self.engine.sequence().restart();
                self.model.restart();
            }
            Event::Read { .. } | Event::PathMtu | Event::AskAgain { .. } => {}
        }
    }
}

/// Runs a trace and compares after each event. Gives the counts.
fn check(space: Space, start: u32, dice: u32, events: &[Event]) -> Result<Counts, TestCaseError> {
    let mut run = Run {
        engine: Engine::default(),
        model: Model::default(),
        space,
        // Far from 0, so that nothing before it is below 0.
        due: (1 << 40) + u64::from(start),
        time_us: 0,
        last_us: 0,
        last: None,
        looked: (SequenceWord::default(), None),
        knows_mtu: false,
        dice,
    };
    for (number, event) in events.iter().enumerate() {
        run.event(*event);
        prop_assert_eq!(run.engine.counts(), run.model.counts, "after event {}", number);
        let next = run.engine.word.is_known().then(|| run.engine.word.next());
        prop_assert_eq!(next, run.model.next.map(psn), "after event {}", number);
    }
    run.engine.sequence().settle();
    run.model.finish();
    prop_assert_eq!(run.engine.counts(), run.model.counts, "in the end");
    let totals = run.engine.state.totals;
    prop_assert!(totals.open() <= totals.missing, "{:?}", totals);
    Ok(run.model.counts)
}

/// Ten thousand traces, or `ROCE_TRACES`.
#[test]
fn engine_is_model() {
    let cases = std::env::var("ROCE_TRACES").ok().map(|count| count.parse().expect("a number"));
    let config =
        Config { cases: cases.unwrap_or(10_000), failure_persistence: None, ..Config::default() };
    let space = prop_oneof![
        3 => Just(Space::Requests),
        2 => Just(Space::Responses),
        1 => Just(Space::Unreliable),
    ];
    // Near the wrap as often as not.
    let start = prop_oneof![any::<u32>(), 0x00ff_fe00u32..0x0100_0100];
    let events = prop::collection::vec(event(), 1..40);
    let sum = RefCell::new([0u64; 11]);
    TestRunner::new(config)
        .run(&(space, start, any::<u32>(), events), |(space, start, dice, events)| {
            let counts = check(space, start, dice, &events)?;
            for (sum, count) in sum.borrow_mut().iter_mut().zip(counts.all()) {
                *sum += u64::from(count);
            }
            Ok(())
        })
        .unwrap();
    // The traces do what they are for.
    assert!(sum.borrow().iter().all(|count| *count > 100), "{sum:?}");
}

#[test]
fn fills_in_a_row_are_one_even_when_another_was_dropped_between() {
    let events = [
        Event::Rewind { back: 96, count: 2, dropped: 0 },
        Event::Send { count: 25, dropped: 2 },
        Event::Rewind { back: 158, count: 40, dropped: 0 },
        Event::Rewind { back: 68, count: 1, dropped: 0 },
        Event::Read { span: 14, is_known: false },
        Event::Rewind { back: 134, count: 3, dropped: 0 },
        Event::Rewind { back: 40, count: 3, dropped: 0 },
    ];
    check(Space::Requests, 0, 0, &events).unwrap();
}
