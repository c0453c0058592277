//! RoCEv2 packet telemetry.

pub mod capture;
