//! Capture files through the parser and the flow records of the kernel programs.
//!
//! ```text
//! CaptureReader --frames--> Engine --records--> Reading --Flow::join--> ReadReport --> JSON, text
//! ```
//!
//! A frame with a wrong ICRC is counted in its flow like any other, and in `icrc.bad`; the PSN engine does
//! not see it, if the record ever had a right one.

mod copies;
mod engine;
mod filter;
mod findings;
mod incidents;
mod report;
mod sequences;
mod store;
mod stories;
mod text;

pub use engine::{Engine, FrameCounts, IcrcCounts, Reading};
pub use filter::FlowFilter;
pub use findings::{Finding, Severity};
pub use incidents::{IncidentFinder, Incidents, Tap};
pub use report::{InputReport, NotSeenReport, PacketsReport, ReadReport, Source};
pub use sequences::{AfterAck, Climb, Notes, Refusals, SequenceFacts};
pub use store::{FlowStore, OtherFlows};
pub use stories::Unconnected;
pub use text::{Colours, write_text};
