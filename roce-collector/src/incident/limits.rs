//! How long is waited, and how much is kept.

use std::time::Duration;

/// How long the correlator waits for more signals of a failure, and how much it keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CorrelatorLimits {
    /// From the first error of a failure until it is told: its other lines come in this time.
    pub gather: Duration,
    /// The same where only packets speak of it: an application's line is decoded a second after it was
    /// written.
    pub gather_wire: Duration,
    /// The same where there is nothing but the consequences of an error: flushed work.
    pub gather_flush: Duration,
    /// So long a queue pair must stay in ERR, and be listed, until that alone is a failure. A process that
    /// ends moves its queue pairs to ERR and destroys them: the inventory needs two sweeps to see that they
    /// are gone, so this is more than two of them.
    pub stays_failed: Duration,
    /// From the last signal of a failure until nothing joins it any more.
    pub join: Duration,
    /// Two signals that have an address in common, but no QP number, are further apart than this: two failures.
    pub join_by_address: Duration,
    /// The same for signals that have no more in common than their process, their source or their time.
    pub join_by_process: Duration,
    /// Lines of one log between two signals of one failure, where they have no time.
    pub join_lines: u64,
    /// The same for a message that comes again without a QP number.
    pub repeat_lines: u64,
    /// How long before a failure an event may have been that explains it.
    pub context: Duration,
    /// Signals that wait to be told, those of netlink not counted.
    pub max_waiting: usize,
    /// Queue pairs in ERR that wait for another signal.
    pub max_failed: usize,
    /// Failures that were told and can still be joined.
    pub max_groups: usize,
    /// Signals of one failure.
    pub max_signals: usize,
    /// Events that may explain a failure.
    pub max_context: usize,
    /// Failures that were told early, and that nobody took yet.
    pub max_ready: usize,
}

impl Default for CorrelatorLimits {
    fn default() -> Self {
        Self {
            gather: Duration::from_millis(1500),
            gather_wire: Duration::from_secs(3),
            gather_flush: Duration::from_secs(5),
            stays_failed: Duration::from_secs(5),
            join: Duration::from_mins(1),
            join_by_address: Duration::from_secs(15),
            join_by_process: Duration::from_secs(10),
            join_lines: 4096,
            repeat_lines: 256,
            context: Duration::from_mins(10),
            max_waiting: 256,
            max_failed: 4096,
            max_groups: 256,
            max_signals: 64,
            max_context: 512,
            max_ready: 4096,
        }
    }
}

/// What became of signals since the correlator began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CorrelatorCounts {
    /// Signals that were taken.
    pub signals: u64,
    /// Of these, events that are kept because they may explain a failure.
    pub context: u64,
    /// Failures that were told.
    pub failures: u64,
    /// Failures that were told again, because more became known.
    pub revisions: u64,
    /// Queue pairs in ERR that were destroyed soon, and of which nothing else was said: no failures.
    pub teardowns: u64,
    /// Failures that were told before their time, because too many signals waited.
    pub early: u64,
    /// Queue pairs in ERR that there was no room for.
    pub failed_left_out: u64,
    /// Failures that could have been joined for longer.
    pub closed_early: u64,
    /// Events that were forgotten before their time.
    pub context_left_out: u64,
    /// Failures that nobody took.
    pub lost: u64,
}
