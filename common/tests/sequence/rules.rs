//! The rules, one by one.

use roce_common::sequence::{PacketClass, SequenceKind, read_span};

use crate::model::Counts;
use crate::tap::Tap;
use crate::trace::psn;

fn none() -> Counts {
    Counts::default()
}

#[test]
fn order_over_the_wrap_is_order() {
    let mut tap = Tap::default();
    tap.packets(0x00ff_fff0..0x0100_0010);
    assert_eq!(tap.counts(), none());
}

#[test]
fn a_read_takes_many_psns() {
    let mut tap = Tap::default();
    tap.kind(10, read_span(4096, 1024, 0), SequenceKind::Read);
    assert_eq!(tap.packet(14), PacketClass::InOrder);
    assert_eq!(tap.kind(15, read_span(4097, 1024, 0), SequenceKind::Read), PacketClass::InOrder);
    assert_eq!(tap.packet(20), PacketClass::InOrder);
    assert_eq!(tap.counts(), none());
}

#[test]
fn a_read_of_unknown_span_opens_no_gap() {
    assert_eq!(read_span(4096, 0, 1024), 0);
    assert_eq!([read_span(0, 0, 0), read_span(256, 0, 0), read_span(1024, 0, 1024)], [1, 1, 1]);
    let mut tap = Tap::default();
    tap.kind(10, 0, SequenceKind::Read);
    assert_eq!(tap.packet(14), PacketClass::InOrder);
    assert_eq!(tap.packet(16), PacketClass::GapOpener, "but the next one does");
    assert_eq!(tap.engine.state.totals.open(), 1);
}

#[test]
fn a_read_asked_for_again_inside_its_range_is_no_loss() {
    let mut tap = Tap::default();
    tap.kind(10, 8, SequenceKind::Read);
    tap.packet(18);
    assert_eq!(tap.kind(13, 5, SequenceKind::Read), PacketClass::Retransmission);
    let expected = Counts { retransmitted: 1, go_back_n_episodes: 1, ..none() };
    assert_eq!(tap.counts(), expected);
}

#[test]
fn go_back_n_after_a_nak() {
    let mut tap = Tap::default();
    tap.packets([1, 2, 4, 5, 6]);
    assert_eq!(tap.engine.state.totals.open(), 1);
    tap.engine.sequence().note_nak(psn(3), 0);
    assert_eq!(tap.packet(3), PacketClass::Fill);
    assert_eq!(tap.engine.state.totals.open(), 1, "it may be late");
    tap.packets([4, 5, 6, 7]);
    let expected = Counts {
        missing: 1,
        lost: 1,
        recovered: 1,
        retransmitted: 3,
        retransmitted_bytes: 3 * 1024,
        go_back_n_episodes: 1,
        ..none()
    };
    assert_eq!(tap.counts(), expected);
}

#[test]
fn more_packets_in_flight_than_the_bitmap_has_bits() {
    let mut tap = Tap::default();
    tap.packets((0..1000).filter(|at| *at != 100));
    tap.engine.sequence().note_nak(psn(100), 0);
    tap.packets(100..1001);
    let counts = tap.counts();
    assert_eq!((counts.lost, counts.recovered, counts.retransmitted), (1, 1, 899));
    assert_eq!(counts.go_back_n_episodes, 1);
}

#[test]
fn late_by_itself() {
    let mut tap = Tap::default();
    tap.packets([1, 2, 4, 5, 3, 6]);
    assert_eq!(tap.counts(), Counts { missing: 1, reordered: 1, ..none() });
}

#[test]
fn late_by_itself_before_the_answer_to_the_nak() {
    let mut tap = Tap::default();
    tap.packets([1, 2, 4, 5]);
    tap.engine.sequence().note_nak(psn(3), 0);
    tap.packets([3, 6, 7]);
    tap.packets([3, 4, 5, 6, 7, 8]);
    let counts = tap.counts();
    assert_eq!((counts.reordered, counts.lost, counts.retransmitted), (1, 0, 5));
}

#[test]
fn late_by_itself_after_the_answer_to_the_nak() {
    let mut tap = Tap::default();
    tap.packets([1, 2, 4, 5, 6]);
    tap.engine.sequence().note_nak(psn(3), 0);
    tap.packets([3, 4, 3, 5, 6, 7]);
    let counts = tap.counts();
    assert_eq!((counts.reordered, counts.lost, counts.go_back_n_episodes), (1, 0, 1));
}

#[test]
fn selective_repeat() {
    let mut tap = Tap::default();
    tap.packets([1, 2, 4, 5]);
    tap.engine.sequence().note_nak(psn(3), 0);
    tap.packets([6, 3, 7]);
    assert_eq!(tap.counts(), Counts { missing: 1, lost: 1, recovered: 1, ..none() });
}

#[test]
fn acknowledged_but_never_seen() {
    let mut tap = Tap::default();
    tap.packets([1, 2, 5, 6]);
    tap.engine.sequence().note_ack(psn(3), 0);
    assert_eq!((tap.engine.state.totals.unseen, tap.engine.state.totals.open()), (1, 1));
    tap.engine.sequence().note_ack(psn(6), 0);
    assert_eq!(tap.counts(), Counts { missing: 2, unseen: 2, ..none() });
}

#[test]
fn named_by_a_nak_and_never_seen() {
    let mut tap = Tap::default();
    tap.packets([1, 2, 4, 5, 7]);
    tap.engine.sequence().note_nak(psn(3), 0);
    tap.engine.sequence().note_ack(psn(7), 0);
    assert_eq!(tap.counts(), Counts { missing: 2, lost: 1, unseen: 1, ..none() });
}

#[test]
fn not_ready_is_no_loss() {
    let mut tap = Tap::default();
    tap.packets([1, 2, 3]);
    tap.engine.sequence().note_rnr(psn(2), 0);
    tap.engine.sequence().note_nak(psn(2), 0);
    tap.packets([2, 3]);
    let counts = tap.counts();
    assert_eq!((counts.rnr_waits, counts.retransmitted), (1, 2));
    assert_eq!((counts.lost, counts.go_back_n_episodes, counts.timeouts), (0, 0, 0));
}

#[test]
fn each_rung_of_a_retry_ladder_is_a_timeout() {
    let mut tap = Tap::default();
    tap.packets([1, 2]);
    for _ in 0..4 {
        tap.time_us += 67_000;
        tap.packets([2]);
    }
    let counts = tap.counts();
    assert_eq!((counts.timeouts, counts.retransmitted, counts.lost), (4, 4, 0));
}

#[test]
fn unreliable_gaps_are_losses_when_nothing_late_can_come() {
    let mut tap = Tap::default();
    let unreliable = |at| (at, SequenceKind::UnreliableMore);
    for (at, kind) in [1, 2, 4, 3, 6].map(unreliable) {
        tap.kind(at, 1, kind);
    }
    assert_eq!((tap.engine.state.totals.reordered, tap.engine.state.totals.open()), (1, 1));
    for (at, kind) in (7..140).map(unreliable) {
        tap.kind(at, 1, kind);
    }
    assert_eq!(tap.counts(), Counts { missing: 2, reordered: 1, lost: 1, ..none() });
}

#[test]
fn jumps_between_responses_are_no_losses() {
    use SequenceKind::{ResponseFirst, ResponseLast, ResponseMiddle, ResponseOnly};
    let mut tap = Tap::default();
    for (at, kind) in [
        (1, ResponseOnly),
        (20, ResponseFirst),
        (21, ResponseMiddle),
        (22, ResponseLast),
        (90, ResponseOnly),
    ] {
        tap.kind(at, 1, kind);
    }
    assert_eq!(tap.engine.counts(), none());
    for (at, kind) in [(100, ResponseFirst), (102, ResponseLast), (110, ResponseLast)] {
        tap.kind(at, 1, kind);
    }
    assert_eq!(tap.engine.state.totals.open(), 2, "101 and 109 must have been there");
}

#[test]
fn new_sequences_are_learnt_without_alarm() {
    let mut tap = Tap::default();
    tap.packets([1_000_000, 1_000_001]);
    // Far ahead, far back.
    tap.packets([5_000_000, 5_000_001, 100, 101]);
    tap.packet(10_000);
    let open = tap.engine.state.totals.open();
    // After silence.
    tap.time_us += 3_000_000;
    tap.packet(12_000);
    tap.time_us += 3_000_000;
    tap.kind(0, 1, SequenceKind::Start);
    tap.packet(1);
    assert_eq!(
        (tap.engine.state.totals.open(), open),
        (9_898, 9_898),
        "only that within the sequence"
    );
    assert_eq!(tap.engine.state.totals.retransmitted, 0);
}

#[test]
fn what_is_older_than_the_first_packet_is_not_tracked() {
    let mut tap = Tap::default();
    tap.packets([10, 11]);
    assert_eq!(tap.packet(9), PacketClass::NotTracked);
    assert_eq!(tap.counts(), none());
}

#[test]
fn the_time_to_an_answer() {
    let mut tap = Tap::default();
    tap.packets([1, 2, 3, 4]);
    tap.engine.sequence().start_rtt(psn(2), 100);
    tap.engine.sequence().start_rtt(psn(4), 105);
    tap.engine.sequence().note_ack(psn(1), 110);
    tap.engine.sequence().note_ack(psn(3), 164);
    assert_eq!(tap.engine.state.spread.rtt[6], 1, "one at a time: 64 microseconds");
    tap.engine.sequence().start_rtt(psn(4), 170);
    tap.packet(4);
    tap.engine.sequence().note_ack(psn(4), 180);
    assert_eq!(tap.engine.state.spread.rtt.iter().sum::<u16>(), 1, "none of what was sent twice");
}

#[test]
fn an_answer_says_how_much_it_acknowledges() {
    let mut tap = Tap::default();
    tap.packets(0..10);
    let acknowledge = SequenceKind::Acknowledge;
    tap.engine.sequence().note_answer(acknowledge, psn(2), 0x1f00_0001, 0);
    tap.engine.sequence().note_answer(acknowledge, psn(8), 0x0500_0003, 0);
    let acks = tap.engine.state.acks;
    assert_eq!((acks.acknowledged(), acks.acks, acks.acknowledged_psns), (Some(psn(8)), 2, 7));
    assert_eq!((acks.msn(), acks.credits()), (3, 5));
    tap.engine.sequence().note_answer(acknowledge, psn(9), 0x2e00_0003, 0);
    assert_eq!((tap.engine.state.totals.rnr_waits, tap.engine.state.acks.credits()), (1, 5));
}
