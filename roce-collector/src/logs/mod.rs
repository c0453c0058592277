//! Where error lines come from while the collector runs: files, trees of pod logs, the journal, the kernel's
//! log, standard input.
//!
//! ```text
//! file ── Follower ──┐
//! tree ── Followers ─┤ Sink: lines that may matter,     bounded    LogDecoders ── ErrorRecord
//! journalctl ────────┤       at a bounded rate       ── channel ──
//! /dev/kmsg ─────────┤
//! stdin ─────────────┘
//! ```
//!
//! Each source is a task. None of them ever waits for the reader of the channel: what does not fit is
//! counted and dropped, so a source that floods harms itself alone. Every way to lose a line has a counter
//! in [`LogCounters`].

mod counters;
mod decoders;
mod export_format;
mod files;
mod follower;
mod journal;
mod kmsg;
pub(crate) mod metrics;
mod sink;
mod source;
mod stdin;
#[cfg(test)]
mod testing;
mod tree;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;

use journal::KernelRecords;

pub use counters::{LogCounter, LogCounters};
pub use decoders::{LogDecoders, SourcedRecord};
pub use sink::LogLine;
pub(crate) use sink::now;
pub use source::LogSource;

/// How much is read, and how often.
#[derive(Clone, Copy, Debug)]
pub struct LogLimits {
    /// Bytes of a line that are kept.
    pub max_line: usize,
    /// Lines that wait in the channel.
    pub channel: usize,
    /// Lines that may matter, a second and source; `burst` at once.
    pub lines_per_second: u32,
    /// See there.
    pub burst: u32,
    /// Files followed of one tree: those written to last.
    pub max_files: usize,
    /// Time between two looks at files.
    pub poll: Duration,
    /// Time between two looks for new files in a tree.
    pub rescan: Duration,
    /// Time for which a file is still read after another one took its name.
    pub drain: Duration,
    /// Time between two attempts to start what ended.
    pub retry: Duration,
}

impl Default for LogLimits {
    fn default() -> Self {
        Self {
            max_line: 16 * 1024,
            channel: 1024,
            lines_per_second: 2000,
            burst: 10_000,
            max_files: 256,
            poll: Duration::from_millis(250),
            rescan: Duration::from_secs(5),
            drain: Duration::from_secs(10),
            retry: Duration::from_secs(2),
        }
    }
}

/// What the tasks of all sources share.
#[derive(Clone, Debug)]
struct Shared {
    limits: LogLimits,
    sender: mpsc::Sender<LogLine>,
    counters: Arc<LogCounters>,
}

/// The running sources. They end when this is dropped.
#[derive(Debug)]
pub struct LogSources {
    /// Lines of all sources.
    pub lines: mpsc::Receiver<LogLine>,
    /// What was read and what was lost.
    pub counters: Arc<LogCounters>,
    tasks: JoinSet<()>,
}

impl LogSources {
    /// Starts a task for each source. Files are read from their present end.
    ///
    /// What cannot be read is tried again and counted, except for a device that needs privileges: it is
    /// opened here, before the collector gives them up.
    pub fn start(sources: &[LogSource], limits: LogLimits) -> Self {
        let (sender, lines) = mpsc::channel(limits.channel.max(1));
        let counters = Arc::new(LogCounters::default());
        let mut tasks = JoinSet::new();
        let has_kmsg = sources.contains(&LogSource::Kmsg);
        let kernel = if has_kmsg { KernelRecords::LeftOut } else { KernelRecords::Wanted };
        for (index, source) in sources.iter().enumerate() {
            if sources[..index].contains(source) {
                continue;
            }
            let shared = Shared { limits, sender: sender.clone(), counters: Arc::clone(&counters) };
            match source {
                LogSource::Path(path) => {
                    tasks.spawn(files::follow(path.clone(), shared));
                }
                LogSource::Journal => {
                    tasks.spawn(journal::follow(kernel, shared));
                }
                LogSource::Kmsg => {
                    let device = kmsg::open(Path::new(kmsg::DEVICE), &counters);
                    tasks.spawn(kmsg::follow(device, shared));
                }
                LogSource::Stdin => {
                    tasks.spawn(stdin::follow(shared));
                }
            }
        }
        Self { lines, counters, tasks }
    }

    /// Whether a source still runs. Standard input ends, files do not.
    pub fn is_running(&self) -> bool {
        !self.tasks.is_empty()
    }
}
