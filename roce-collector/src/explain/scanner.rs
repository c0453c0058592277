//! A log as it is read, in pieces of any size.

use super::decoder::{Decoder, DecoderLimits};
use super::record::ErrorRecord;
use super::splitter::{ScanTotals, Splitter, TakeLine};

/// Finds the lines that matter and hands them to a [`Decoder`].
#[derive(Debug)]
pub struct Scanner {
    splitter: Splitter,
    decoder: Decoder,
}

/// The decoder, and where its records go.
struct Decoding<'a, F> {
    decoder: &'a mut Decoder,
    found: &'a mut F,
}

impl Scanner {
    /// A scanner at the start of a log.
    pub fn new(limits: DecoderLimits) -> Self {
        Self { splitter: Splitter::new(limits.max_line), decoder: Decoder::new(limits) }
    }

    /// What was read so far.
    pub const fn totals(&self) -> ScanTotals {
        self.splitter.totals()
    }

    /// Reads on; `found` gets the records that are complete.
    pub fn feed(&mut self, piece: &[u8], found: &mut impl FnMut(ErrorRecord)) {
        self.splitter.feed(piece, &mut Decoding { decoder: &mut self.decoder, found });
    }

    /// The log has been silent: what waits for more lines need not wait longer.
    pub fn idle(&mut self, found: &mut impl FnMut(ErrorRecord)) {
        self.decoder.finish().for_each(found);
    }

    /// The log ends here.
    pub fn finish(&mut self, found: &mut impl FnMut(ErrorRecord)) {
        self.splitter.finish(&mut Decoding { decoder: &mut self.decoder, found });
        self.idle(found);
    }
}

impl<F: FnMut(ErrorRecord)> TakeLine for Decoding<'_, F> {
    fn wants_next(&self) -> bool {
        self.decoder.awaits_rows()
    }

    fn take(&mut self, line: &[u8], number: u64) {
        self.decoder.line(line, number).for_each(&mut *self.found);
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
        assert!(scanner.splitter.capacity() <= 64 * 1024);
        scanner.finish(&mut |record| panic!("{record:?}"));
        assert_eq!(scanner.totals().lines, 1);
    }
}
