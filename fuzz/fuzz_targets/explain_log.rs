//! Any bytes as a log: see `exercise.rs` for what must hold.
#![no_main]

#[path = "../../roce-collector/tests/explain_regressions/exercise.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|log: &[u8]| exercise::exercise(log));
