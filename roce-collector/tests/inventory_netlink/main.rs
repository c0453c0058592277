//! RDMA netlink: recorded conversations with real kernels, a made-up kernel, and damage.

#![expect(clippy::unwrap_used, reason = "what fails in a helper fails its test")]

mod cost;
mod damage;
mod http;
mod kernel;
mod recorded;
mod recording;
mod sweeps;
mod trouble;
