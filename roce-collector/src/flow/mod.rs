//! What user space makes of flow records: 64-bit totals, whole flows, and their form in JSON.
//!
//! The same code serves the kernel's tables and capture files. It is pure: records and times come in as
//! arguments.
//!
//! ```text
//! FlowSlot + FlowCold --RecordSnapshot::of--> snapshot --RecordTotals::advance--> totals
//! SpillKey + SpillCount --------------------------------RecordTotals::add_spill--> totals
//! totals of all records --Flow::join--> flows --FlowReport::of--> JSON
//! ```

mod acknowledged;
mod answers;
#[expect(clippy::module_inception, reason = "the file is named after its type, as all others")]
mod flow;
mod identity;
mod report;
mod retries;
mod sequence;
mod side;
mod snapshot;
mod spread;
mod totals;

pub use acknowledged::AcknowledgedReport;
pub use answers::AnswersReport;
pub use flow::{Flow, Record};
pub use identity::FlowId;
pub use report::{EcnReport, FlowReport, MismarkedReport, NakReport, PsnReport};
pub use retries::RetriesReport;
pub use sequence::SequenceReport;
pub use side::SideTotals;
pub use snapshot::RecordSnapshot;
pub use spread::{RttReport, Spread};
pub use totals::RecordTotals;
