//! The way of a line from its source into the channel.

use std::sync::Arc;
use std::time::SystemTime;

use memchr::memchr;
use tokio::sync::mpsc::error::TrySendError;

use super::{LogCounter, LogCounters, Shared};
use crate::capture::Timestamp;
use crate::explain::{Splitter, TakeLine};

/// Lines behind one that matters which are handed on, too: rows of a dump are marked by no word.
const FOLLOWING_LINES: u8 = 16;

/// A line that may matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// File, `journal`, `kmsg` or `-`.
    pub source: Arc<str>,
    /// Number of the line in its source, from 1, counting from when the collector began to read.
    pub number: u64,
    /// When the source says that it was written, else when it was read.
    pub time: Timestamp,
    /// The line, without its end.
    pub line: Box<[u8]>,
}

/// The lines of one source on their way.
#[derive(Debug)]
pub(super) struct Sink {
    splitter: Splitter,
    lines: Lines,
}

/// What the splitter hands its lines to.
#[derive(Debug)]
struct Lines {
    source: Arc<str>,
    shared: Shared,
    bucket: Bucket,
    following: u8,
    written: Timestamp,
    read: Timestamp,
}

impl Sink {
    pub(super) fn new(source: &str, shared: Shared) -> Self {
        Self {
            splitter: Splitter::new(shared.limits.max_line),
            lines: Lines {
                source: source.into(),
                bucket: Bucket::new(shared.limits.lines_per_second, shared.limits.burst),
                shared,
                following: 0,
                written: Timestamp::default(),
                read: Timestamp::default(),
            },
        }
    }

    pub(super) fn counters(&self) -> &LogCounters {
        &self.lines.shared.counters
    }

    pub(super) fn shared(&self) -> &Shared {
        &self.lines.shared
    }

    pub(super) fn name(&self) -> &str {
        &self.lines.source
    }

    /// Takes bytes that were read at `now`.
    pub(super) fn feed(&mut self, bytes: &[u8], now: Timestamp) {
        self.feed_written(bytes, now, now);
    }

    /// Takes bytes that were `written` some time before they were `read`.
    pub(super) fn feed_written(&mut self, bytes: &[u8], written: Timestamp, read: Timestamp) {
        (self.lines.written, self.lines.read) = (written, read);
        self.counters().add(LogCounter::Bytes, bytes.len() as u64);
        let before = self.splitter.totals().cut_lines;
        self.splitter.feed(bytes, &mut self.lines);
        let cut = self.splitter.totals().cut_lines - before;
        self.counters().add(LogCounter::CutLines, cut);
    }

    /// The source ends, also in the middle of a line.
    pub(super) fn finish(&mut self) {
        self.splitter.finish(&mut self.lines);
    }

    /// The rest of a line that was begun will not come.
    pub(super) fn forget_tail(&mut self) {
        self.splitter.forget_tail();
    }
}

impl TakeLine for Lines {
    fn wants_next(&self) -> bool {
        self.following > 0
    }

    fn take(&mut self, line: &[u8], number: u64) {
        // A file cut while its writer goes on where it was begins with a hole.
        let text = line.iter().position(|byte| *byte != 0).map_or(&[][..], |start| &line[start..]);
        let is_marked = crate::explain::is_candidate(text);
        self.following = if is_marked { FOLLOWING_LINES } else { self.following.saturating_sub(1) };
        if text.is_empty() || memchr(0, text).is_some() {
            return;
        }
        let counters = &self.shared.counters;
        if !self.bucket.take(self.read) {
            return counters.count(LogCounter::RateDrops);
        }
        let source = Arc::clone(&self.source);
        let line = LogLine { source, number, time: self.written, line: text.into() };
        match self.shared.sender.try_send(line) {
            Ok(()) => counters.count(LogCounter::Lines),
            // Nobody listens any more when the collector stops.
            Err(TrySendError::Full(_) | TrySendError::Closed(_)) => {
                counters.count(LogCounter::ChannelDrops);
            }
        }
    }
}

/// Tokens, one for each line: so many a second, and as many as fit in.
#[derive(Debug)]
struct Bucket {
    /// Billionths of a token.
    tokens: u64,
    per_second: u64,
    capacity: u64,
    last: Timestamp,
}

impl Bucket {
    const TOKEN: u64 = 1_000_000_000;

    fn new(per_second: u32, capacity: u32) -> Self {
        let capacity = u64::from(capacity) * Self::TOKEN;
        Self {
            tokens: capacity,
            per_second: per_second.into(),
            capacity,
            last: Timestamp::default(),
        }
    }

    fn take(&mut self, now: Timestamp) -> bool {
        // A clock that is set back gives no tokens, and begins anew.
        let passed = now.since(self.last).as_nanos();
        let gained = u64::try_from(passed).unwrap_or(u64::MAX).saturating_mul(self.per_second);
        self.tokens = self.tokens.saturating_add(gained).min(self.capacity);
        self.last = now;
        let is_there = self.tokens >= Self::TOKEN;
        self.tokens -= if is_there { Self::TOKEN } else { 0 };
        is_there
    }
}

/// The clock on the wall.
pub(crate) fn now() -> Timestamp {
    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_nanos(u64::try_from(since_epoch.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_come_back_with_time() {
        let mut bucket = Bucket::new(10, 2);
        let at = |millis: u64| Timestamp::from_nanos(1_000_000_000_000 + millis * 1_000_000);
        let taken =
            [0, 0, 0, 50, 100, 150, 10_000, 10_000, 10_000].map(|millis| bucket.take(at(millis)));
        assert_eq!(taken, [true, true, false, false, true, false, true, true, false]);
        assert!(!bucket.take(Timestamp::from_nanos(5)), "the clock was set back");
        assert!(bucket.take(Timestamp::from_nanos(200_000_005)), "and goes on from there");
    }
}
