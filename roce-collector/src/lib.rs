//! RoCEv2 packet telemetry.

pub mod attach;
pub mod bpf;
pub mod capture;
pub mod cli;
pub mod flow;
pub mod read;
pub mod sweep;
