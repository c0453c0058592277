//! Failures of queue pairs, told once each: from signals to incidents.
//!
//! ```text
//! ErrorRecord, QpEvent, WireTrouble, ... --Correlator--> Group: one failure, primary and secondaries
//! Group + what taps saw --diagnosis--> Incident --> JSON line, /api/v1/incidents, metrics, text
//! ```
//!
//! Pure: signals and times come in as arguments. Everything is bounded, and what is left out is counted.

mod claim;
mod cluster;
mod context;
mod correlator;
mod end;
mod group;
mod limits;
mod link;
mod report;
mod signal;
mod words;

pub use correlator::Correlator;
pub use group::Group;
pub use limits::{CorrelatorCounts, CorrelatorLimits};
pub use report::{
    Incident, LocalReport, PeerReport, StatusReport, TimelineEntry, VendorReport, VerdictReport,
};
pub use signal::{Signal, WireKind, WireTrouble};
