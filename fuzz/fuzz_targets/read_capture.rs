//! Any bytes as a capture file: see `exercise.rs` for what must hold.
#![no_main]

#[path = "../../roce-collector/tests/fuzz_regressions/exercise.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|file: &[u8]| exercise::exercise(file));
