//! Attaching to real interfaces of network namespaces. Needs root and iproute2: fails without.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails its test")]

mod fallback;
mod hooks;
mod lab;
mod lifetime;
mod refused;
mod sniffer;
mod unchanged;
