//! RoCE wire formats, PSN arithmetic and flow records.
//!
//! One parser and one set of flow records for the kernel programs, for capture files and for tests.
//! Everything here is pure: bytes, records and time come in as arguments; no clock, file or map is
//! touched, nothing allocates, and no bytes make it panic.
//!
//! - [`wire`]: Ethernet to the RoCE extended headers, over a [`wire::PacketRead`] back end.
//! - [`psn`]: 24-bit packet sequence numbers.
//! - [`sequence`]: loss, reordering and retransmission from PSNs.
//! - [`flow`]: what is kept for one flow, and how one packet changes it.
//! - [`event`]: rare things that the kernel tells one by one.
//! - [`qp_watch`]: what probes on the kernel's queue pairs tell.
//! - [`recording`]: the last packets of connections in trouble.
//! - [`tap`]: node-wide counters of one interface direction.
//! - [`marking`]: which DSCP and ECN codepoints a fabric expects.
#![no_std]
// The verifier refuses what can panic, and no captured byte may stop a reader.
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

pub mod config;
pub mod event;
pub mod flow;
pub mod marking;
pub mod psn;
pub mod qp_watch;
pub mod recording;
pub mod sequence;
pub mod tap;
pub mod wire;
