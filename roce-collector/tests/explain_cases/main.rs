//! Error lines of many producers: what `roce_collector::explain` makes of them, and the program itself.

mod cli;
mod forms;
mod grouping;
mod lines;
mod properties;

use std::path::{Path, PathBuf};

use roce_collector::explain::{Decoder, ErrorRecord};

fn log_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/logs").join(name)
}

/// The records of a log.
fn decode<'a>(lines: impl IntoIterator<Item = &'a str>) -> Vec<ErrorRecord> {
    let mut decoder = Decoder::default();
    let mut records = Vec::new();
    for (number, line) in (1..).zip(lines) {
        records.extend(decoder.line(line.as_bytes(), number));
    }
    records.extend(decoder.finish());
    records
}

/// The only record of a log.
fn decode_one(log: &str) -> ErrorRecord {
    let mut records = decode(log.lines());
    assert_eq!(records.len(), 1, "{log}\n{records:#?}");
    records.remove(0)
}
