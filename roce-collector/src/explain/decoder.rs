//! Lines in, records out.

use std::vec::Drain;

use super::cqe::Row;
use super::envelope::{Envelope, unwrap};
use super::needles;
use super::pending::{Pending, raw};
use super::producers;
use super::record::{ErrorRecord, Producer};
use crate::capture::Timestamp;

/// How much is kept, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecoderLimits {
    /// Bytes of a line that are looked at.
    pub max_line: usize,
    /// Bytes of [`ErrorRecord::raw`].
    pub max_raw: usize,
    /// Lines that a record waits for more of its kind.
    pub hold_lines: u64,
    /// Records that wait. When there are more, the oldest comes out early.
    pub max_pending: usize,
}

impl Default for DecoderLimits {
    fn default() -> Self {
        Self { max_line: 16 * 1024, max_raw: 4096, hold_lines: 4096, max_pending: 256 }
    }
}

/// A state machine over the lines of one log.
///
/// ```
/// use roce_collector::explain::{Decoder, Severity};
///
/// let mut decoder = Decoder::default();
/// let line = b"h:1:2 [0] NCCL WARN NET/IB : Got completion with error 12, opcode 1, len 7, vendor err 129";
/// assert_eq!(decoder.line(line, 1).count(), 0, "more lines may belong to it");
/// let records: Vec<_> = decoder.finish().collect();
/// assert_eq!(records[0].vendor_err, Some(0x81));
/// assert_eq!((records[0].severity(), records[0].cause()), (Severity::Error, None));
/// ```
#[derive(Debug)]
pub struct Decoder {
    pending: Pending,
    done: Vec<ErrorRecord>,
    limits: DecoderLimits,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new(DecoderLimits::default())
    }
}

impl Decoder {
    /// A decoder that has seen nothing.
    pub fn new(limits: DecoderLimits) -> Self {
        Self { pending: Pending::new(limits), done: Vec::new(), limits }
    }

    /// Looks at a line, without its end, and gives the records that are complete now, in the order of
    /// their first lines. `number` counts the lines of the log, also those that were not handed over.
    #[must_use = "records that are not taken are lost"]
    pub fn line(&mut self, line: &[u8], number: u64) -> Drain<'_, ErrorRecord> {
        self.line_written(line, number, None)
    }

    /// The same, for a line of which the source says when it was written. What the line itself says
    /// comes first.
    #[must_use = "records that are not taken are lost"]
    pub fn line_written(
        &mut self,
        line: &[u8],
        number: u64,
        written: Option<Timestamp>,
    ) -> Drain<'_, ErrorRecord> {
        self.pending.expire(number, &mut self.done);
        let awaits_rows = self.pending.awaits_rows();
        if (awaits_rows || needles::is_candidate(line)) && !needles::is_own(line) {
            self.look(line, number, awaits_rows, written);
        }
        self.done.drain(..)
    }

    /// Gives what still waits for more lines: at the end of a log, or when it has been silent for a while.
    #[must_use = "records that are not taken are lost"]
    pub fn finish(&mut self) -> Drain<'_, ErrorRecord> {
        self.pending.finish(&mut self.done);
        self.done.drain(..)
    }

    /// Records that wait for more lines.
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Whether the next lines matter even without a word that marks them: rows of a dump are due.
    pub(super) fn awaits_rows(&self) -> bool {
        self.pending.awaits_rows()
    }

    fn look(&mut self, line: &[u8], number: u64, awaits_rows: bool, written: Option<Timestamp>) {
        // Who splits a log into lines cuts them there.
        let is_cut = line.len() >= self.limits.max_line;
        let text = String::from_utf8_lossy(&line[..line.len().min(self.limits.max_line)]);
        let text = unwrap(text.trim_end());
        let envelope = Envelope::open(&text);
        let address = |record: &mut ErrorRecord| {
            record.line = number;
            record.raw = raw(&text, self.limits.max_raw);
            record.is_truncated |= is_cut || text.len() > self.limits.max_raw;
            envelope.address(record);
            record.time = record.time.or(written);
            record.fill_addresses();
        };
        if awaits_rows && let Some(row) = Row::parse(envelope.message) {
            let mut record = ErrorRecord::new(Producer::Other);
            address(&mut record);
            if self.pending.add_row(&row, record) {
                return;
            }
        }
        if let Some(mut found) = producers::parse(envelope.message) {
            address(&mut found.record);
            self.pending.add(found, &mut self.done);
        }
    }
}
