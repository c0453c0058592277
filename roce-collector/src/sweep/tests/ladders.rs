//! Warnings of senders that get no answer.

use roce_common::event::{EventKind, FlowEvent};
use roce_common::flow::{FlowKey, NarrowKey, WideKey};

use super::*;
use crate::timeline::Event;

const PSN: u32 = 100;
const TIMEOUT_US: u32 = 67_108;
/// Of a PSN, in words of the engine.
const VALID: u32 = 1 << 24;
const TIMEOUT_CAUSE: u32 = 2 << 25;
const NAK_CAUSE: u32 = 1 << 25;

/// Tag of RC requests at tap 0.
const RC: u32 = 1 << 24;

/// Requests to `qp` at tap 2.
fn key(qp: u32) -> WideKey {
    let [source, destination] = [[10, 0, 0, 1], [10, 0, 0, 2]].map(u32::from_ne_bytes);
    WideKey::from(NarrowKey { source, destination, tagged_qp: RC | qp }).at_tap(2)
}

fn rewind(qp: u32, psn: u32, cause: u32, time: u64) -> FlowEvent {
    FlowEvent {
        time_ns: time * u64::from(TIMEOUT_US) * 1_000,
        kind: EventKind::Rewind as u32,
        psn,
        count: 1,
        detail: TIMEOUT_US,
        key: key(qp),
        episode: psn | VALID | cause,
        acknowledged: 0,
        reserved: 0,
    }
}

fn timeout(time: u64) -> FlowEvent {
    rewind(7, PSN, TIMEOUT_CAUSE, time)
}

/// The moment when `timeouts` timeouts have passed since the first packet.
fn after(timeouts: u64) -> Moment {
    let nanos = timeouts * u64::from(TIMEOUT_US) * 1_000;
    let start = at(0);
    Moment {
        wall: Timestamp::from_nanos(start.wall.as_nanos() + nanos),
        boot_ns: nanos,
        uptime: Duration::from_nanos(nanos),
    }
}

/// The tries of the warnings that these events lead to.
fn tries(events: impl IntoIterator<Item = FlowEvent>) -> Vec<u32> {
    let (mut tables, mut sweeper) = tables(9);
    let mut steps = Vec::new();
    for event in events {
        tables.events.push_back(event);
        assert_eq!(sweeper.take_events(&mut tables, after(500)), 1);
        steps.extend(sweeper.take_ladder_steps());
    }
    steps.iter().map(|step| step.tries).collect()
}

#[test]
fn the_second_try_is_told_before_the_queue_pair_fails() {
    let (mut tables, mut sweeper) = tables(9);
    tables.events.push_back(timeout(1));
    sweeper.take_events(&mut tables, after(1));
    assert_eq!(sweeper.take_ladder_steps(), []);
    tables.events.push_back(timeout(2));
    sweeper.take_events(&mut tables, after(2));
    let [step] = sweeper.take_ladder_steps()[..] else { panic!("one step") };
    assert_eq!((step.tap, step.dst_qp, step.psn, step.tries), (2, 7, PSN, 2));
    assert_eq!(
        (step.src.to_string(), step.dst.to_string()),
        ("10.0.0.1".into(), "10.0.0.2".into())
    );
    assert_eq!(step.silence, Duration::from_micros(TIMEOUT_US.into()));
    // The silence began when the packet was first sent, two timeouts ago.
    assert_eq!((step.since, step.time), (after(0).wall, after(2).wall));
    assert_eq!(sweeper.take_ladder_steps(), [], "told once");
}

#[test]
fn a_long_ladder_is_told_ever_more_seldom() {
    assert_eq!(tries((1..=100).map(timeout)), [2, 4, 8, 16, 32, 64]);
}

#[test]
fn what_says_that_somebody_answers_ends_a_ladder() {
    let acknowledged = FlowEvent { acknowledged: PSN | VALID, ..timeout(2) };
    let nak = FlowEvent { kind: EventKind::Nak as u32, detail: 0x60, ..timeout(2) };
    let gap = FlowEvent { kind: EventKind::Gap as u32, detail: PSN + 9, ..timeout(2) };
    let other = rewind(7, PSN + 1, TIMEOUT_CAUSE, 2);
    let asked = rewind(7, PSN, NAK_CAUSE, 2);
    for between in [acknowledged, nak, gap, other, asked] {
        assert_eq!(tries([timeout(1), between, timeout(3)]), [0; 0], "{between:?}");
        assert_eq!(tries([timeout(1), between, timeout(3), timeout(4)]), [2], "{between:?}");
    }
    assert_eq!(
        tries([timeout(1), rewind(8, PSN, TIMEOUT_CAUSE, 1), timeout(2)]),
        [2],
        "not its own"
    );
}

#[test]
fn an_answer_for_an_earlier_packet_does_not_count_as_one_for_this() {
    let earlier = |time| FlowEvent { acknowledged: (PSN - 1) | VALID, ..timeout(time) };
    assert_eq!(tries([earlier(1), earlier(2)]), [2]);
    let (mut tables, mut sweeper) = tables(9);
    let later = FlowEvent { acknowledged: PSN | VALID, ..timeout(1) };
    tables.events.extend([earlier(1), later, FlowEvent { psn: PSN + 1, ..later }]);
    sweeper.take_events(&mut tables, after(1));
    let id = crate::flow::FlowId::of(&key(7)).expect("a key");
    let told = sweeper.stories.of_flow(&id, None).into_iter().map(|entry| match entry.event {
        Event::Rewind { was_acknowledged, .. } => was_acknowledged,
        other => panic!("{other:?}"),
    });
    // Of a rewind that began before the packet that shows it, nobody can say.
    assert_eq!(told.collect::<Vec<_>>(), [false, true, false]);
}

#[test]
fn a_flood_of_ladders_is_cut_and_counted() {
    let (mut tables, mut sweeper) = tables(9);
    for time in 1..=2 {
        tables.events.extend((0..100).map(|qp| rewind(qp, PSN, TIMEOUT_CAUSE, time)));
    }
    sweeper.take_events(&mut tables, after(2));
    assert_eq!(sweeper.take_ladder_steps().len(), 64);
    assert_eq!(sweeper.view().dropped_ladder_steps, 36);
    sweeper.sweep(&mut tables, after(3)).unwrap();
    tables.events.extend([3, 4].map(|time| rewind(99, PSN, TIMEOUT_CAUSE, time)));
    sweeper.take_events(&mut tables, after(4));
    assert_eq!(sweeper.take_ladder_steps().len(), 1, "there is room again");
}
