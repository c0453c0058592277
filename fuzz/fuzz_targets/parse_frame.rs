//! Any bytes as an Ethernet frame: see `exercise.rs` for what must hold.
#![no_main]

#[path = "../../common/tests/properties/exercise.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|frame: &[u8]| exercise::exercise(frame));
