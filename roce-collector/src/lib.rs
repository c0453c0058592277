//! RoCEv2 packet telemetry.

pub mod capture;
pub mod flow;
