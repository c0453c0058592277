//! Bytes of a log, in pieces of any size, into the lines that may matter.

use memchr::{memchr, memchr_iter, memrchr};

use super::needles;

/// What was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanTotals {
    /// Bytes.
    pub bytes: u64,
    /// Lines, the last one without an end, too.
    pub lines: u64,
    /// Lines that were too long to be looked at as a whole.
    pub cut_lines: u64,
}

/// Takes the lines that may matter.
pub(crate) trait TakeLine {
    /// The next line matters, whatever it says: it may be a row of a dump.
    fn wants_next(&self) -> bool;

    /// A line without its end, and its number from 1.
    fn take(&mut self, line: &[u8], number: u64);
}

/// Most of a log is of no interest: it is searched as one piece of memory, and its lines are only counted.
#[derive(Debug)]
pub(crate) struct Splitter {
    max_line: usize,
    /// The start of a line whose end has not come yet.
    tail: Vec<u8>,
    /// That line is longer than `tail` may get.
    is_tail_cut: bool,
    totals: ScanTotals,
}

impl Splitter {
    /// Looks at `max_line` bytes of a line.
    pub(crate) fn new(max_line: usize) -> Self {
        Self { max_line, tail: Vec::new(), is_tail_cut: false, totals: ScanTotals::default() }
    }

    /// What was read so far.
    pub(crate) const fn totals(&self) -> ScanTotals {
        self.totals
    }

    /// Reads on.
    pub(crate) fn feed(&mut self, piece: &[u8], taker: &mut impl TakeLine) {
        self.totals.bytes += piece.len() as u64;
        let Some(first_end) = memchr(b'\n', piece) else { return self.keep(piece) };
        let mut lines = piece;
        if !self.tail.is_empty() {
            self.keep(&piece[..first_end]);
            self.end_tail(taker);
            lines = &piece[first_end + 1..];
        }
        let whole = memrchr(b'\n', lines).map_or(0, |end| end + 1);
        self.whole_lines(&lines[..whole], taker);
        self.keep(&lines[whole..]);
    }

    /// The log ends here, also in the middle of a line.
    pub(crate) fn finish(&mut self, taker: &mut impl TakeLine) {
        if !self.tail.is_empty() {
            self.end_tail(taker);
        }
    }

    /// Forgets the start of a line whose end will not come.
    pub(crate) fn forget_tail(&mut self) {
        self.tail.clear();
        self.is_tail_cut = false;
    }

    /// Memory taken.
    #[cfg(test)]
    pub(super) const fn capacity(&self) -> usize {
        self.tail.capacity()
    }

    /// Keeps the start of a line.
    fn keep(&mut self, start: &[u8]) {
        let room = self.max_line.saturating_sub(self.tail.len());
        self.is_tail_cut |= start.len() > room;
        self.tail.extend_from_slice(&start[..start.len().min(room)]);
    }

    fn end_tail(&mut self, taker: &mut impl TakeLine) {
        self.totals.lines += 1;
        self.totals.cut_lines += u64::from(std::mem::take(&mut self.is_tail_cut));
        if taker.wants_next() || needles::is_candidate(&self.tail) {
            taker.take(&self.tail, self.totals.lines);
        }
        self.tail.clear();
    }

    /// Lines that all have their ends.
    fn whole_lines(&mut self, mut lines: &[u8], taker: &mut impl TakeLine) {
        while !lines.is_empty() {
            let hit = if taker.wants_next() {
                0
            } else if let Some(end) = needles::find(lines) {
                end - 1
            } else {
                self.totals.lines += memchr_iter(b'\n', lines).count() as u64;
                return;
            };
            let begin = memrchr(b'\n', &lines[..hit]).map_or(0, |end| end + 1);
            let end = memchr(b'\n', &lines[hit..]).map_or(lines.len(), |end| hit + end);
            let line = &lines[begin..end];
            self.totals.lines += memchr_iter(b'\n', &lines[..begin]).count() as u64 + 1;
            self.totals.cut_lines += u64::from(line.len() > self.max_line);
            taker.take(&line[..line.len().min(self.max_line)], self.totals.lines);
            lines = lines.get(end + 1..).unwrap_or_default();
        }
    }
}
