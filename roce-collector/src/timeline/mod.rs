//! What happened to a queue pair, in one line of time: gaps, NAKs, rewinds, marks, silence.
//!
//! Pure: packets, what the PSN engine said of them, and times come in; entries come out. Nothing is kept
//! of packets that are merely in order but the first and the last.
//!
//! ```text
//! packets of one record -----Recorder--> story: events with their moments, bounded
//! stories of both directions ---merge--> entries in order of time: JSON
//! entries ----------------------fold---> lines without repeats: text
//! ```

mod event;
mod fills;
mod fold;
mod log;
mod merge;
mod recorder;
mod repeats;
mod run;
mod told;
mod words;

pub use event::{Event, FillOutcome, RewindCause};
pub use fold::{Line, fold};
pub use log::{Budget, Log};
pub use merge::{Entry, Story, merge};
pub use recorder::{Change, Packet, Recorder};
pub use told::Told;
pub use words::duration;
pub(crate) use words::reject_reason;

use crate::capture::Timestamp;

/// When something happened: the number of the frame, from 1, which also gives the order; and its time,
/// where the tap gave one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment {
    /// Number of the frame in its file or stream.
    pub frame: u64,
    /// Its time.
    pub time: Option<Timestamp>,
}

impl Moment {
    /// Microseconds since `earlier`, rounded to the nearest; `None` when a time is missing.
    pub fn micros_since(self, earlier: Self) -> Option<u64> {
        let elapsed = self.time?.since(earlier.time?);
        u64::try_from((elapsed.as_nanos() + 500) / 1000).ok()
    }
}
