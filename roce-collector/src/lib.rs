//! RoCEv2 packet telemetry.
