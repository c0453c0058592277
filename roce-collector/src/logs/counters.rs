//! What was read, what was lost, and why.

use std::sync::atomic::{AtomicU64, Ordering};

/// Names one of the counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogCounter {
    /// Bytes read.
    Bytes,
    /// Lines handed on to be decoded.
    Lines,
    /// Lines that were longer than the limit.
    CutLines,
    /// Lines dropped because their source brought too many at once.
    RateDrops,
    /// Lines dropped because nobody took them out of the channel.
    ChannelDrops,
    /// Another file took the name of a followed one.
    Rotations,
    /// A file became shorter.
    Truncations,
    /// A file is not there, or not any more.
    Missing,
    /// A file or device may not be read, or is none that can be followed.
    Unreadable,
    /// Reading failed.
    ReadErrors,
    /// A file began to hold bytes that are no text.
    Binary,
    /// What was missing, unreadable or failing can be read again.
    Recoveries,
    /// Files of a tree that are not followed because there are too many.
    SkippedFiles,
    /// journalctl ended and was started again.
    JournalRestarts,
    /// Fields of journal entries that were too long, or entries that made no sense.
    JournalErrors,
    /// The kernel overwrote records before they were read.
    KmsgOverruns,
}

impl LogCounter {
    /// Every counter, with its name in metrics.
    pub const ALL: [(Self, &str); 16] = [
        (Self::Bytes, "bytes"),
        (Self::Lines, "decoded"),
        (Self::CutLines, "cut"),
        (Self::RateDrops, "rate_limited"),
        (Self::ChannelDrops, "channel_full"),
        (Self::Rotations, "rotation"),
        (Self::Truncations, "truncation"),
        (Self::Missing, "missing"),
        (Self::Unreadable, "unreadable"),
        (Self::ReadErrors, "read_error"),
        (Self::Binary, "binary"),
        (Self::Recoveries, "recovery"),
        (Self::SkippedFiles, "skipped_file"),
        (Self::JournalRestarts, "journal_restart"),
        (Self::JournalErrors, "journal_error"),
        (Self::KmsgOverruns, "kmsg_overrun"),
    ];
}

/// Counters of all sources together. They only go up.
#[derive(Debug, Default)]
pub struct LogCounters([AtomicU64; LogCounter::ALL.len()]);

impl LogCounters {
    /// Its value.
    pub fn get(&self, counter: LogCounter) -> u64 {
        self.0[counter as usize].load(Ordering::Relaxed)
    }

    /// Names and values of all.
    pub fn rows(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        LogCounter::ALL.iter().map(|(counter, name)| (*name, self.get(*counter)))
    }

    pub(super) fn add(&self, counter: LogCounter, count: u64) {
        self.0[counter as usize].fetch_add(count, Ordering::Relaxed);
    }

    pub(super) fn count(&self, counter: LogCounter) {
        self.add(counter, 1);
    }
}
