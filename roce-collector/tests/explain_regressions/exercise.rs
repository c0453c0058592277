//! Reads bytes as a log, checking what must hold for any bytes.
//!
//! The property tests, the regression inputs and the fuzz target run this same function.

use roce_collector::explain::{Decoder, DecoderLimits, ErrorRecord, Scanner, write_record};
use roce_collector::read::Colours;

/// Small enough that small inputs reach every limit.
const LIMITS: DecoderLimits =
    DecoderLimits { max_line: 512, max_raw: 256, hold_lines: 64, max_pending: 8 };

/// Reads `log` in one piece, in small ones, and line by line.
///
/// # Panics
/// When something that holds for all bytes does not hold for these.
pub(crate) fn exercise(log: &[u8]) {
    let at_once = scan(log, usize::MAX);
    assert_eq!(at_once, scan(log, 7), "the size of pieces changes nothing");
    assert_eq!(at_once, by_line(log), "nor does what is skipped");
    let mut lines = 0;
    for record in &at_once {
        check(record);
        lines += record.lines;
    }
    assert!(at_once.is_sorted_by_key(|record| record.line), "in the order of the log");
    assert!(
        lines <= log.split(|byte| *byte == b'\n').count() as u64,
        "a line belongs to one failure"
    );
}

fn scan(log: &[u8], piece: usize) -> Vec<ErrorRecord> {
    let mut scanner = Scanner::new(LIMITS);
    let mut records = Vec::new();
    for piece in log.chunks(piece) {
        scanner.feed(piece, &mut |record| records.push(record));
    }
    scanner.finish(&mut |record| records.push(record));
    assert_eq!(scanner.totals().bytes, log.len() as u64);
    let lines = log.split_inclusive(|byte| *byte == b'\n').count() as u64;
    assert_eq!(scanner.totals().lines, lines);
    records
}

fn by_line(log: &[u8]) -> Vec<ErrorRecord> {
    let mut decoder = Decoder::new(LIMITS);
    let mut records = Vec::new();
    for (number, line) in (1..).zip(log.split(|byte| *byte == b'\n')) {
        let line = &line[..line.len().min(LIMITS.max_line)];
        records.extend(decoder.line(line, number));
        assert!(decoder.pending() <= LIMITS.max_pending);
    }
    records.extend(decoder.finish());
    records
}

fn check(record: &ErrorRecord) {
    assert!(record.raw.len() <= LIMITS.max_raw);
    assert!(record.secondaries <= record.lines);
    assert!(!record.meaning().is_empty());
    let json = serde_json::to_string(record).expect("a record has a JSON form");
    assert!(!json.contains('\n'), "one line");
    let mut text = Vec::new();
    write_record(&mut text, record, Colours::Off).expect("memory can be written");
    let text = String::from_utf8(text).expect("text");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
}
