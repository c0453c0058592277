//! Failures of queue pairs, told once each: from signals to incidents.
//!
//! ```text
//! ErrorRecord, QpEvent, WireTrouble, ... --Correlator--> Group: one failure, primary and secondaries
//! Group + what taps saw --diagnosis--> Incident --> JSON line, /api/v1/incidents, metrics, text
//! ```
//!
//! Pure: signals and times come in as arguments. Everything is bounded, and what is left out is counted.

mod build;
mod claim;
mod cluster;
mod context;
mod correlator;
mod end;
mod group;
mod limits;
mod link;
pub(crate) mod metrics;
mod report;
mod signal;
mod store;
mod text;
mod words;

pub use correlator::Correlator;
pub use group::Group;
pub use limits::{CorrelatorCounts, CorrelatorLimits};
pub use metrics::{ErrorLabels, IncidentFigures};
pub use report::{
    Incident, LocalReport, PeerReport, StatusReport, TimelineEntry, VendorReport, VerdictReport,
};
pub use signal::{Signal, WireKind, WireTrouble};
pub use store::{IncidentList, IncidentStore};
pub use text::write_incident;
