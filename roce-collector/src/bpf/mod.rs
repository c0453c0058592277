//! The kernel side as user space sees it. The only module that knows aya.
//!
//! [`Datapath`] is the loaded object. Its tables are read by mmap, without a system call for each
//! record; only the small fallback map is read entry by entry. [`QpWatch`] is a second, optional object.

mod attach;
mod error;
mod events;
mod mapped;
mod object;
pub(crate) mod qp_watch;
mod recorders;
mod run;
mod sequences;
mod spill;
mod stats;
mod table;
mod taps;

pub use attach::{AttachRequest, Attachments, check};
pub use error::DatapathError;
pub use events::{EventRing, event_clock_ns};
pub use object::{Datapath, DatapathOptions};
pub use qp_watch::{
    Absence, Btf, BtfError, Clocks, Point, PointState, QpFailure, QpFailureKind, QpSettings,
    QpWatch, QpWatchFigures, async_event_name,
};
pub use recorders::{RecordedHeaders, RecorderTable};
pub use run::RunResult;
pub use sequences::SequencePool;
pub use spill::SpillMap;
pub use stats::RunStatistics;
pub use table::{FlowTable, RecordState};
pub use taps::TapTable;
