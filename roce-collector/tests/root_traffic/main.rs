//! Traffic through a veth pair into the tables, by the attached programs: what was sent is what was
//! counted. Needs root and BPF: fails without.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails its test")]

mod capture;
mod frames;
mod lab;
mod volume;
