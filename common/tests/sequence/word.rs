//! The word alone says what it must.

use roce_common::psn::Psn;
use roce_common::sequence::{PacketClass, SequenceKind, SequencePacket, SequenceWord};
use roce_common::wire::{Opcode, Operation};

use crate::trace::Engine;

fn packet(psn: u32, kind: SequenceKind) -> SequencePacket {
    let psn = Psn::new(psn);
    SequencePacket { psn, span: 1, kind, payload: 1024, time_us: 0, idle: 0, is_copy: false }
}

#[test]
fn every_opcode_byte_has_its_kind() {
    use SequenceKind::{
        Acknowledge, More, Read, ResponseFirst, ResponseLast, ResponseMiddle, ResponseOnly, Start,
        UnreliableMore, UnreliableStart, Untracked,
    };
    for byte in 0..=255 {
        let opcode = Opcode(byte);
        let expected = match opcode.operation() {
            Operation::Unknown(_) | Operation::Cnp => Untracked,
            _ if byte >> 5 == 3 => Untracked,
            Operation::RdmaReadRequest => Read,
            Operation::RdmaReadResponseFirst => ResponseFirst,
            Operation::RdmaReadResponseMiddle => ResponseMiddle,
            Operation::RdmaReadResponseLast => ResponseLast,
            Operation::RdmaReadResponseOnly | Operation::AtomicAcknowledge => ResponseOnly,
            Operation::Acknowledge => Acknowledge,
            Operation::SendMiddle
            | Operation::SendLast
            | Operation::SendLastImmediate
            | Operation::SendLastInvalidate
            | Operation::RdmaWriteMiddle
            | Operation::RdmaWriteLast
            | Operation::RdmaWriteLastImmediate => {
                if byte >> 5 == 1 {
                    UnreliableMore
                } else {
                    More
                }
            }
            _ if byte >> 5 == 1 => UnreliableStart,
            _ => Start,
        };
        assert_eq!(SequenceKind::of_opcode(opcode), expected, "{byte:#04x}");
    }
}

#[test]
fn what_is_due_leaves_the_state_alone() {
    let mut engine = Engine::default();
    assert!(!engine.word.is_due(Psn::new(5), 1, SequenceKind::Start), "the first one is learnt");
    engine.sequence().observe(&packet(5, SequenceKind::Start));
    let state = engine.state;
    for psn in 6..100 {
        assert!(engine.word.is_due(Psn::new(psn), 1, SequenceKind::More));
        assert!(!engine.word.is_due(Psn::new(psn + 1), 1, SequenceKind::More));
        assert!(!engine.word.is_due(Psn::new(psn - 1), 1, SequenceKind::More));
        engine.word = engine.word.after(Psn::new(psn), 1, SequenceKind::More);
    }
    assert_eq!((engine.word.next().get(), engine.state), (100, state));
    engine.word = engine.word.after(Psn::new(100), 0, SequenceKind::Read);
    assert!(!engine.word.is_due(Psn::new(101), 1, SequenceKind::Start), "a READ of unknown length");
}

#[test]
fn acknowledgements_keep_the_highest() {
    let mut word = SequenceWord::default();
    for (psn, next) in
        [(0xff_fff0, 0xff_fff1), (0xff_ffe0, 0xff_fff1), (3, 4), (0x80_0000, 0x80_0001)]
    {
        assert!(word.is_due(Psn::new(psn), 1, SequenceKind::Acknowledge));
        word = word.after(Psn::new(psn), 1, SequenceKind::Acknowledge);
        assert_eq!((word.is_known(), word.next().get()), (true, next));
    }
}

#[test]
fn the_mark_of_the_caller_stays() {
    let is_watched = |engine: &Engine| engine.word.0 & SequenceWord::WATCHED != 0;
    let mut engine = Engine::default();
    engine.word.0 |= SequenceWord::WATCHED;
    engine.word = engine.word.seen(Psn::new(9));
    assert!(is_watched(&engine));
    for psn in [10, 11, 15, 12, 500_000] {
        engine.sequence().observe(&packet(psn, SequenceKind::Start));
        engine.sequence().note_ack(Psn::new(psn), 0);
        assert!(is_watched(&engine));
    }
    engine.sequence().restart();
    assert_eq!(engine.word.0, SequenceWord::WATCHED);
}

#[test]
fn a_sequence_longer_than_psns_can_be_compared() {
    let mut engine = Engine::default();
    let mut touched = 0;
    for psn in 0..0x00c0_0000 {
        if engine.word.is_due(Psn::new(psn), 1, SequenceKind::More) {
            engine.word = engine.word.after(Psn::new(psn), 1, SequenceKind::More);
        } else {
            touched += 1;
            let class = engine.sequence().observe(&packet(psn, SequenceKind::More));
            assert_eq!(class, PacketClass::InOrder);
        }
    }
    assert_eq!(touched, 12, "the first one, and one in 2^20");
    let again = packet(0x00bf_ffff, SequenceKind::More);
    assert_eq!(engine.sequence().observe(&again), PacketClass::Retransmission);
}
