//! A channel and counters for tests of single sources.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

use super::{LogCounters, LogLimits, LogLine, Shared};

/// What a source shares with others, and the lines that come out.
pub(super) fn shared(channel: usize) -> (Shared, mpsc::Receiver<LogLine>) {
    let limits = LogLimits {
        max_line: 500,
        channel,
        poll: Duration::from_millis(5),
        rescan: Duration::from_millis(20),
        retry: Duration::from_millis(20),
        ..LogLimits::default()
    };
    let (sender, lines) = mpsc::channel(channel);
    (Shared { limits, sender, counters: Arc::new(LogCounters::default()) }, lines)
}
