//! Properties of the parser over packets of every shape, damaged packets and noise.

mod any_bytes;
mod build;
mod cut;
mod exercise;
mod fragments;
mod icrc;
mod lengths;
mod regressions;
mod round_trip;
