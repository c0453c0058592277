//! What user space keeps of the kernel's tables, brought up to date once a second.
//!
//! ```text
//! Tables (BPF maps or a fake) --Sweeper::sweep, once a second--> Ledger: hosts, queue pairs
//!                                                                records: totals of every flow
//! Sweeper::view  -> View, what /metrics is made of
//! Sweeper::flows -> FlowReport, what /api/v1/flows serves
//! ```
//!
//! Everything here is pure: tables and time come in as arguments. Records that stay idle are taken out
//! of the tables; what they counted stays in the totals of their hosts, so no exported counter goes
//! back.

mod counts;
mod history;
mod ladders;
mod ledger;
mod pairing;
mod peers;
mod picture;
mod qps;
mod records;
mod report;
mod spill;
mod stories;
mod sweeper;
mod tables;
mod troubles;
mod view;

pub use counts::{Counts, PsnCounts};
pub use ladders::LadderStep;
pub use ledger::TapSequences;
pub use peers::PeerKey;
pub use picture::Picture;
pub use qps::QpKey;
pub use report::FlowList;
pub use sweeper::{SweepOptions, Sweeper};
pub use tables::{RecordSource, Tables};
pub use view::{DeviceFigures, Durations, Moment, View};

#[cfg(test)]
mod fake;
#[cfg(test)]
mod tests;
