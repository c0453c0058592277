//! A log as it is read, in pieces of any size.

use memchr::{memchr, memchr_iter, memrchr};

use super::decoder::{Decoder, DecoderLimits};
use super::needles;
use super::record::ErrorRecord;

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

/// Finds the lines that matter and hands them to a [`Decoder`].
///
/// Most of a log is of no interest: it is searched as one piece of memory, and its lines are only counted.
#[derive(Debug)]
pub struct Scanner {
    decoder: Decoder,
    max_line: usize,
    /// The start of a line whose end has not come yet.
    tail: Vec<u8>,
    /// That line is longer than `tail` may get.
    is_tail_cut: bool,
    totals: ScanTotals,
}

impl Scanner {
    /// A scanner at the start of a log.
    pub fn new(limits: DecoderLimits) -> Self {
        Self {
            decoder: Decoder::new(limits),
            max_line: limits.max_line,
            tail: Vec::new(),
            is_tail_cut: false,
            totals: ScanTotals::default(),
        }
    }

    /// What was read so far.
    pub const fn totals(&self) -> ScanTotals {
        self.totals
    }

    /// Reads on; `found` gets the records that are complete.
    pub fn feed(&mut self, piece: &[u8], found: &mut impl FnMut(ErrorRecord)) {
        self.totals.bytes += piece.len() as u64;
        let Some(first_end) = memchr(b'\n', piece) else { return self.keep(piece) };
        let mut lines = piece;
        if !self.tail.is_empty() {
            self.keep(&piece[..first_end]);
            self.end_tail(found);
            lines = &piece[first_end + 1..];
        }
        let whole = memrchr(b'\n', lines).map_or(0, |end| end + 1);
        self.whole_lines(&lines[..whole], found);
        self.keep(&lines[whole..]);
    }

    /// The log has been silent: what waits for more lines need not wait longer.
    pub fn idle(&mut self, found: &mut impl FnMut(ErrorRecord)) {
        self.decoder.finish().for_each(found);
    }

    /// The log ends here.
    pub fn finish(&mut self, found: &mut impl FnMut(ErrorRecord)) {
        if !self.tail.is_empty() {
            self.end_tail(found);
        }
        self.idle(found);
    }

    /// Keeps the start of a line.
    fn keep(&mut self, start: &[u8]) {
        let room = self.max_line.saturating_sub(self.tail.len());
        self.is_tail_cut |= start.len() > room;
        self.tail.extend_from_slice(&start[..start.len().min(room)]);
    }

    fn end_tail(&mut self, found: &mut impl FnMut(ErrorRecord)) {
        let line = std::mem::take(&mut self.tail);
        self.totals.lines += 1;
        self.totals.cut_lines += u64::from(std::mem::take(&mut self.is_tail_cut));
        self.decoder.line(&line, self.totals.lines).for_each(found);
        // Its memory serves the next line.
        self.tail = line;
        self.tail.clear();
    }

    /// Lines that all have their ends.
    fn whole_lines(&mut self, mut lines: &[u8], found: &mut impl FnMut(ErrorRecord)) {
        while !lines.is_empty() {
            let hit = if self.decoder.awaits_rows() {
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
            self.decoder.line(line, self.totals.lines).for_each(&mut *found);
            lines = lines.get(end + 1..).unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ERROR: &str =
        "NCCL WARN NET/IB : Got completion with error 12, opcode 1, len 7, vendor err 129";

    /// Line numbers of the records, and the totals.
    fn scan_in_pieces(log: &[u8], piece: usize) -> (Vec<u64>, ScanTotals) {
        let mut scanner = Scanner::new(DecoderLimits { max_line: 200, ..DecoderLimits::default() });
        let mut found = Vec::new();
        for piece in log.chunks(piece) {
            scanner.feed(piece, &mut |record| found.push(record.line));
        }
        scanner.finish(&mut |record| found.push(record.line));
        (found, scanner.totals())
    }

    #[test]
    fn the_size_of_pieces_changes_nothing() {
        let log = format!("\none\n{ERROR}\ntwo\r\n\n{ERROR}\nthree\n{ERROR}");
        let expected = ScanTotals { bytes: log.len() as u64, lines: 8, cut_lines: 0 };
        for piece in [1, 2, 7, 50, 90, 1000] {
            assert_eq!(scan_in_pieces(log.as_bytes(), piece), (vec![3, 6, 8], expected), "{piece}");
        }
    }

    #[test]
    fn long_lines_are_cut_and_counted() {
        let prefixed = format!("{}{}", "x".repeat(300), ERROR);
        let log = format!("{prefixed}\n{ERROR}{}\n{ERROR}\n", "y".repeat(300));
        let (records, read) = scan_in_pieces(log.as_bytes(), 64);
        assert_eq!(records, [2, 3], "what is behind the limit is not seen");
        assert_eq!((read.lines, read.cut_lines), (3, 2));
    }

    #[test]
    fn bytes_without_a_line_end_take_no_memory() {
        let mut scanner = Scanner::new(DecoderLimits::default());
        let zeros = vec![0; 65_536];
        for _ in 0..100 {
            scanner.feed(&zeros, &mut |record| panic!("{record:?}"));
        }
        assert!(scanner.tail.capacity() <= 64 * 1024);
        scanner.finish(&mut |record| panic!("{record:?}"));
        assert_eq!(scanner.totals().lines, 1);
    }
}
