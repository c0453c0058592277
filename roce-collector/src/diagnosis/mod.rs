//! Why a queue pair died or stands still: rules over everything that is known of it.
//!
//! Pure: what error sources said, what taps saw and what hosts count comes in as a [`Case`]; a
//! [`Diagnosis`] comes out. Nothing is known of files, clocks or kernels here.
//!
//! ```text
//! Case { failure, sight, neighbours, facts } --rules, in their order--> opinions --> Diagnosis
//! ```
//!
//! Each verdict has a file of its own in `rules`. The first rule that fits decides; the order, and every
//! threshold, is explained in `docs/troubleshooting.md`.

mod case;
mod commands;
mod confidence;
mod evidence;
mod facts;
mod missing;
mod opinion;
mod path;
mod reading;
mod recent;
mod rules;
mod sight;
#[cfg(test)]
mod testing;
mod verdict;

pub use case::{Case, Failure, Outcome};
pub use facts::{FactsError, HostFacts, SideFacts};
pub use opinion::{Diagnosis, Evidence, Finding, Opinion};
pub use rules::diagnose;
pub(crate) use sight::MOST_RETRIES;
pub use sight::{
    Answers, Ladder, Neighbours, Payload, PeerQp, Place, Requests, Sight, TapSight, Traffic,
};
pub use verdict::Verdict;
