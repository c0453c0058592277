//! Any packets of one record and any notes, in any order: nothing panics, and the counters add up.

use proptest::prelude::*;
use roce_common::psn::Psn;
use roce_common::sequence::{SequenceKind, SequencePacket, SequenceWord};
use roce_common::wire::Opcode;

use crate::trace::Engine;

#[derive(Clone, Copy, Debug)]
struct Input {
    what: u8,
    psn: u32,
    span: u32,
    opcode: u8,
    payload: u32,
    time_us: u32,
    idle: u32,
}

fn input() -> impl Strategy<Value = Input> {
    // Near each other, near the wrap, or anywhere.
    let psn = prop_oneof![6 => 0u32..400, 2 => 0x00ff_ff00u32..=0x00ff_ffff, 1 => any::<u32>()];
    let span = prop_oneof![6 => Just(1u32), 2 => 0u32..300, 1 => any::<u32>()];
    let idle = prop_oneof![4 => 0u32..50, 1 => any::<u32>()];
    let payload = prop_oneof![Just(4096u32), any::<u32>()];
    (0u8..16, psn, span, any::<u8>(), payload, any::<u32>(), idle).prop_map(
        |(what, psn, span, opcode, payload, time_us, idle)| Input {
            what,
            psn,
            span,
            opcode,
            payload,
            time_us,
            idle,
        },
    )
}

/// Opcodes of one record, by space: requests of RC, responses to READs, UC.
fn opcode(space: u8, dice: u8) -> Opcode {
    Opcode(match space {
        0 => dice % 0x0d,
        1 => 0x0d + dice % 4,
        _ => 0x20 + dice % 0x0c,
    })
}

fn feed(engine: &mut Engine, space: u8, input: &Input, since: &mut SequenceWord) {
    let Input { what, psn, span, opcode: dice, payload, time_us, idle } = *input;
    let (psn, kind) = (Psn::new(psn), SequenceKind::of_opcode(opcode(space, dice)));
    let answer = SequenceKind::of_opcode(Opcode(0x0d + dice % 5));
    let span = if kind == SequenceKind::Read { span } else { 1 };
    let mut sequence = engine.sequence();
    match what {
        0 => sequence.note_answer(answer, psn, payload, time_us),
        1 => sequence.note_nak(psn, time_us),
        2 => sequence.note_rnr(psn, time_us),
        3 => sequence.note_asked_again(psn, span, idle & 1 != 0),
        4 => sequence.note_path_mtu(if idle & 1 == 0 { 1024 } else { payload }),
        5 => sequence.note_tap_loss(*since),
        6 => sequence.start_rtt(psn, time_us),
        7 => sequence.settle_due(time_us),
        8 => *since = engine.word,
        _ => {
            let packet =
                SequencePacket { psn, span, kind, payload, time_us, idle, is_copy: what == 9 };
            sequence.observe(&packet);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_input_is_taken(space in 0u8..3, inputs in prop::collection::vec(input(), 1..80)) {
        let (mut engine, mut since) = (Engine::default(), SequenceWord::default());
        for input in &inputs {
            feed(&mut engine, space, input, &mut since);
        }
        engine.sequence().settle();
        let totals = engine.state.totals;
        prop_assert!(totals.recovered <= totals.lost, "{:?}", totals);
        prop_assert!(engine.word.0 & 1 << 31 == 0);
    }
}
