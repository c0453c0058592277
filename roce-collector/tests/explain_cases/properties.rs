//! What holds for any bytes.

use proptest::prelude::*;

#[path = "../explain_regressions/exercise.rs"]
mod exercise;

/// Pieces of known lines, in any order, with anything in between.
fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let lines = include_str!("../../../testdata/logs/qp_errors_all.log");
    let words: Vec<&'static str> = lines.split_inclusive([' ', '\n', ',']).collect();
    let word = prop_oneof![
        8 => prop::sample::select(words).prop_map(|word| word.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..8),
        1 => Just(b"\n".to_vec()),
    ];
    prop::collection::vec(word, 0..200).prop_map(|words| words.concat())
}

/// Known lines, damaged at random places.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let lines = include_bytes!("../../../testdata/logs/qp_errors_all.log").to_vec();
    let damage = (0..lines.len(), any::<u8>());
    prop::collection::vec(damage, 0..200).prop_map(move |damage| {
        let mut lines = lines.clone();
        for (at, byte) in damage {
            lines[at] = byte;
        }
        lines
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn any_bytes(log in prop::collection::vec(any::<u8>(), 0..2000)) {
        exercise::exercise(&log);
    }

    #[test]
    fn shuffled_lines(log in pieces()) {
        exercise::exercise(&log);
    }

    #[test]
    fn damaged_lines(log in damaged()) {
        exercise::exercise(&log);
    }
}
