//! Inputs of which the engine once said something untrue, or might.

use roce_common::sequence::{
    PacketClass, RetryLadder, RewindCause, SequenceKind, SequenceWord, read_span,
};

use crate::model::Counts;
use crate::tap::Tap;
use crate::trace::psn;

/// What became of missing PSNs: lost, recovered, unseen, reordered, open.
fn fate(tap: Tap) -> [u32; 5] {
    let counts = tap.counts();
    let Counts { missing, lost, recovered, unseen, reordered, .. } = counts;
    [lost, recovered, unseen, reordered, missing - lost - unseen - reordered]
}

/// Packets 3 and 4 are late; the NAK makes the sender go back before they come. All ways in which the
/// late ones may come between the repeated ones.
#[test]
fn late_ones_that_follow_their_own_retransmission_are_not_lost() {
    let rewind = [3, 4, 5, 6, 7];
    for first in 0..=rewind.len() {
        for second in first..=rewind.len() {
            let mut tap = Tap::default();
            tap.packets([1, 2, 5, 6, 7]);
            tap.engine.sequence().note_nak(psn(3), 0);
            for (number, again) in rewind.into_iter().enumerate() {
                if number == first {
                    tap.packet(3);
                }
                if number == second {
                    tap.packet(4);
                }
                tap.packet(again);
            }
            if first == rewind.len() {
                tap.packet(3);
            }
            if second == rewind.len() {
                tap.packet(4);
            }
            tap.packets([8, 9]);
            let retransmitted = tap.engine.state.totals.retransmitted;
            assert_eq!(fate(tap), [0, 0, 0, 2, 0], "late ones before {first} and {second}");
            assert_eq!(retransmitted, 5);
        }
    }
}

#[test]
fn many_late_ones_that_follow_their_own_retransmission_are_not_lost() {
    let mut tap = Tap::default();
    tap.packets((0..20).filter(|at| !(5..12).contains(at)));
    tap.engine.sequence().note_nak(psn(5), 0);
    tap.packets(5..20);
    tap.packets(5..12);
    tap.packets(20..30);
    assert_eq!(tap.engine.state.totals.go_back_n_episodes, 1, "they are no other rewind");
    assert_eq!(fate(tap), [0, 0, 0, 7, 0]);
}

#[test]
fn many_holes_filled_by_one_rewind_and_then_by_the_late_ones() {
    let late = [4, 9, 17, 18, 26, 33, 47];
    let mut tap = Tap::default();
    tap.packets((0..60).filter(|at| !late.contains(at)));
    tap.engine.sequence().note_nak(psn(4), 0);
    tap.packets(4..60);
    tap.packets(late);
    tap.packets(60..70);
    assert_eq!(fate(tap), [0, 0, 0, 7, 0]);
}

/// The second time, the repeated ones go on beyond what was missing: no late originals.
#[test]
fn a_second_rewind_over_the_same_holes_leaves_them_lost() {
    let mut tap = Tap::default();
    tap.packets([1, 2, 5, 6, 7]);
    tap.engine.sequence().note_nak(psn(3), 0);
    tap.packets([3, 4, 5, 6, 7]);
    tap.packets([3, 4, 5, 6, 7, 8]);
    assert_eq!(tap.engine.state.totals.go_back_n_episodes, 2);
    assert_eq!(fate(tap), [2, 2, 0, 0, 0]);
}

#[test]
fn selective_repeat_after_silence() {
    let mut tap = Tap::default();
    tap.packets([1, 2, 4, 5]);
    tap.time_us += 5_000;
    tap.packets([3, 6, 7]);
    assert_eq!(fate(tap), [1, 1, 0, 0, 0]);
}

#[test]
fn late_after_silence_and_then_sent_again() {
    let mut tap = Tap::default();
    tap.packets([1, 2, 4, 5]);
    tap.time_us += 5_000;
    tap.packets([3, 6]);
    tap.packets([3, 4, 5, 6, 7]);
    assert_eq!(fate(tap), [0, 0, 0, 1, 0]);
}

#[test]
fn a_whole_read_response_that_was_lost() {
    use SequenceKind::{ResponseFirst, ResponseLast, ResponseOnly};
    let mut tap = Tap::default();
    for at in [10, 11, 13, 14] {
        tap.kind(at, 1, ResponseOnly);
    }
    assert_eq!(tap.engine.counts(), Counts::default(), "12 may be that of a WRITE");
    tap.engine.sequence().note_asked_again(psn(12), 1, true);
    assert_eq!(tap.kind(12, 1, ResponseOnly), PacketClass::Fill);
    assert_eq!(tap.kind(13, 1, ResponseOnly), PacketClass::Retransmission);
    tap.kind(14, 1, ResponseOnly);
    tap.kind(15, 1, ResponseOnly);
    // At the end, where nothing came after it.
    tap.engine.sequence().note_asked_again(psn(20), 2, true);
    tap.kind(20, 1, ResponseFirst);
    tap.kind(21, 1, ResponseLast);
    tap.kind(22, 1, ResponseOnly);
    assert_eq!(fate(tap), [3, 3, 0, 0, 0]);
}

#[test]
fn the_end_of_a_read_response_that_was_lost() {
    use SequenceKind::{ResponseFirst, ResponseLast, ResponseMiddle};
    let mut tap = Tap::default();
    tap.kind(10, 1, ResponseFirst);
    tap.kind(11, 1, ResponseMiddle);
    tap.engine.sequence().note_asked_again(psn(12), 2, false);
    tap.kind(12, 1, ResponseFirst);
    tap.kind(13, 1, ResponseLast);
    assert_eq!(fate(tap), [2, 2, 0, 0, 0]);
}

#[test]
fn a_read_asked_for_again_whose_request_may_have_been_lost() {
    let mut tap = Tap::default();
    tap.kind(10, 1, SequenceKind::ResponseOnly);
    tap.engine.sequence().note_asked_again(psn(11), 4, false);
    tap.kind(11, 1, SequenceKind::ResponseFirst);
    assert_eq!(fate(tap), [0; 5], "nobody knows of a response");
}

#[test]
fn a_late_read_response() {
    let mut tap = Tap::default();
    for at in [10, 11, 13, 12, 14] {
        tap.kind(at, 1, SequenceKind::ResponseOnly);
    }
    assert_eq!(tap.engine.state.totals.retransmitted, 0);
    assert_eq!(fate(tap), [0, 0, 0, 1, 0]);
}

#[test]
fn old_holes() {
    let holes = [100, 200, 300, 400, 500];
    let stream = || (0..1000).filter(|at| !holes.contains(at));
    let mut recovered = Tap::default();
    recovered.packets(stream());
    recovered.engine.sequence().note_nak(psn(100), 0);
    recovered.packets(100..1001);
    let retransmitted = recovered.engine.state.totals.retransmitted;
    assert_eq!((fate(recovered), retransmitted), ([5, 5, 0, 0, 0], 895));

    let mut acknowledged = Tap::default();
    acknowledged.packets(stream());
    acknowledged.engine.sequence().note_ack(psn(450), 0);
    assert_eq!(acknowledged.engine.state.totals.open(), 5, "which ones, nobody remembers");
    acknowledged.engine.sequence().note_ack(psn(500), 0);
    assert_eq!(fate(acknowledged), [0, 0, 5, 0, 0]);
}

#[test]
fn a_hole_filled_in_its_middle() {
    let mut tap = Tap::default();
    tap.packets((0..1000).filter(|at| !(100..110).contains(at)));
    tap.packet(105);
    tap.engine.sequence().note_ack(psn(999), 0);
    assert_eq!(fate(tap), [0, 0, 9, 1, 0]);
}

#[test]
fn what_the_tap_lost_is_not_seen() {
    let mut tap = Tap::default();
    tap.packets([1, 2, 4, 5]);
    let word = tap.engine.word;
    tap.packets((6..100).filter(|at| !(7..9).contains(at) && *at != 80));
    tap.engine.sequence().note_tap_loss(word);
    assert_eq!(fate(tap), [0, 0, 3, 0, 1], "3 was missing before");

    let mut before = Tap::default();
    before.packets([1, 2, 4, 5]);
    before.engine.sequence().note_tap_loss(SequenceWord::default());
    assert_eq!(fate(before), [0, 0, 1, 0, 0], "nobody had looked");
}

#[test]
fn reads_before_the_path_mtu_is_known() {
    let mut tap = Tap::default();
    let read = |tap: &mut Tap, at| tap.packet_of(at, 0, 4096, SequenceKind::Read);
    for at in [1000, 1004, 1008, 1016, 1020] {
        assert_eq!(read(&mut tap, at), PacketClass::InOrder);
    }
    assert_eq!(tap.engine.state.totals.missing, 0);
    assert!(tap.engine.sequence().awaits_mtu());
    tap.engine.sequence().note_path_mtu(1024);
    assert_eq!((tap.engine.state.totals.open(), tap.engine.word.next()), (4, psn(1024)));
    tap.engine.sequence().note_nak(psn(1012), 0);
    for at in [1012, 1016, 1020, 1024] {
        tap.packet_of(at, read_span(4096, 1024, 0), 4096, SequenceKind::Read);
    }
    assert_eq!(tap.engine.state.totals.retransmitted, 2);
    assert_eq!(fate(tap), [4, 4, 0, 0, 0]);
}

#[test]
fn reads_of_which_the_length_was_not_captured() {
    let mut tap = Tap::default();
    for at in [1000, 1004, 1008] {
        tap.packet_of(at, 0, 0, SequenceKind::Read);
    }
    tap.engine.sequence().note_path_mtu(1024);
    assert_eq!(fate(tap), [0; 5]);
}

#[test]
fn unreliable_losses_are_decided_by_time_and_by_the_end() {
    use SequenceKind::{UnreliableMore, UnreliableStart};
    let mut tap = Tap::default();
    for at in (0..64).filter(|at| at % 2 == 0) {
        tap.kind(at, 1, UnreliableStart);
    }
    assert_eq!(tap.engine.state.totals.open(), 31);
    tap.time_us += 11_000;
    tap.kind(63, 1, UnreliableMore);
    assert_eq!((tap.engine.state.totals.lost, tap.engine.state.totals.open()), (31, 0));
    tap.kind(65, 1, UnreliableMore);
    tap.kind(64, 1, UnreliableMore);
    tap.kind(67, 1, UnreliableMore);
    assert_eq!(fate(tap), [32, 0, 0, 1, 0]);
}

#[test]
fn a_queue_pair_that_starts_anew_without_silence() {
    let mut tap = Tap::default();
    tap.packets(0..9000);
    tap.engine.sequence().note_ack(psn(8999), 0);
    assert_eq!(
        tap.kind(100, 1, SequenceKind::Start),
        PacketClass::InOrder,
        "acknowledged long ago"
    );
    tap.packets(101..200);
    assert_eq!(tap.engine.state.totals.retransmitted, 0);
    assert_eq!(fate(tap), [0; 5]);
}

#[test]
fn holes_that_nobody_will_fill_do_not_stay_for_ever() {
    let mut tap = Tap::default();
    tap.packets((0..70_000).filter(|at| *at != 5));
    assert!(tap.engine.word.is_calm());
    assert_eq!(fate(tap), [0, 0, 0, 0, 1]);
}

#[test]
fn the_ladder_of_tries_without_an_answer() {
    let mut tap = Tap::default();
    tap.packets([1, 2, 3]);
    tap.engine.sequence().note_ack(psn(1), 0);
    assert_eq!(tap.engine.state.acks.ladder(), None);
    for silence in [4_000, 8_000, 16_000] {
        tap.time_us += silence;
        tap.packets([2, 3]);
    }
    let ladder = RetryLadder {
        psn: psn(2),
        tries: 3,
        first_try_us: 4_040,
        spacing_us: 16_020,
        longest_silence_us: 15_360,
    };
    assert_eq!(tap.engine.state.acks.ladder(), Some(ladder));
    let episode = tap.engine.state.acks.episode().expect("a rewind");
    assert_eq!((episode.start, episode.packets), (psn(2), 2));
    assert_eq!((episode.cause, episode.time_us), (RewindCause::Timeout, 28_080));
    tap.engine.sequence().note_ack(psn(2), 0);
    assert_eq!(tap.engine.state.acks.ladder(), None, "answered");
    assert_eq!(tap.counts().timeouts, 3);
}

#[test]
fn how_far_back_and_how_late() {
    let mut tap = Tap::default();
    tap.packets([1, 2, 4, 5, 6, 3]);
    tap.packets(7..100);
    tap.engine.sequence().note_nak(psn(80), 0);
    tap.packets(80..100);
    let spread = tap.engine.state.spread;
    assert_eq!(spread.reorder, [0, 0, 1, 0, 0, 0], "3 came 4 later");
    assert_eq!(spread.go_back, [0, 0, 1, 0, 0, 0], "20 back");
    assert_eq!(tap.engine.state.acks.episode().expect("a rewind").packets, 20);
}
