//! Traffic with its exact truth: pure functions that make frames, and say what they made.
//!
//! Every frame in a [`Scenario`] is one the tap sees; a packet "lost before the tap" is therefore
//! in no list. Addresses come from the ranges set aside for benchmarks and documentation.

mod connection;
mod datagrams;
mod many_flows;
mod marking;
mod operations;
mod recovery;
mod requester;
mod script;
mod sets;
mod streams;
mod truth;

pub use connection::{Connection, Endpoint};
pub use datagrams::{extended_reliable, unreliable_connection, unreliable_datagrams};
pub use many_flows::ManyFlows;
pub use marking::{congestion, wrong_marking};
pub use operations::{atomics, placement, reads, sends};
pub use recovery::{LossAt, answers_lost, go_back_n, receiver_not_ready};
pub use script::{Frame, Scenario};
pub use sets::{all, demo, demo_from};
pub use streams::{write_both_ways, write_stream};
pub use truth::{Ecns, FlowKey, FlowTruth, Naks, PsnTruth, Truth};

#[cfg(test)]
mod tests;
