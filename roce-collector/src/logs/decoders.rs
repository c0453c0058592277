//! One decoder for each source, and when its records are complete.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::LogLine;
use crate::capture::Timestamp;
use crate::explain::{Decoder, DecoderLimits, ErrorRecord};

/// Sources that have a decoder at a time. The one that was silent longest loses its own.
const MAX_SOURCES: usize = 512;
/// A source that says nothing for so long has said all about a failure.
const SILENCE: Duration = Duration::from_secs(1);

/// A record, and the source it comes from.
pub type SourcedRecord = (Arc<str>, ErrorRecord);

/// See the module.
#[derive(Debug, Default)]
pub struct LogDecoders {
    sources: HashMap<Arc<str>, Source>,
}

#[derive(Debug)]
struct Source {
    decoder: Decoder,
    /// When its latest line was taken.
    last: Timestamp,
}

impl LogDecoders {
    /// Looks at a line that was taken out of the channel at `now`, and gives what is complete.
    pub fn line(&mut self, line: &LogLine, now: Timestamp) -> Vec<SourcedRecord> {
        let mut records = Vec::new();
        if !self.sources.contains_key(&line.source) && self.sources.len() >= MAX_SOURCES {
            let oldest = self.sources.iter().min_by_key(|(_, source)| source.last);
            let oldest = oldest.map(|(name, _)| Arc::clone(name));
            if let Some((name, mut source)) =
                oldest.and_then(|name| self.sources.remove_entry(&name))
            {
                records.extend(source.decoder.finish().map(|record| (Arc::clone(&name), record)));
            }
        }
        let source = self.sources.entry(Arc::clone(&line.source)).or_insert_with(|| Source {
            decoder: Decoder::new(DecoderLimits { max_pending: 64, ..DecoderLimits::default() }),
            last: now,
        });
        source.last = now;
        let found = source.decoder.line_written(&line.line, line.number, Some(line.time));
        records.extend(found.map(|record| (Arc::clone(&line.source), record)));
        records
    }

    /// Gives the records of sources that have been silent for a while at `now`.
    pub fn idle(&mut self, now: Timestamp) -> Vec<SourcedRecord> {
        let mut records = Vec::new();
        for (name, source) in &mut self.sources {
            let is_silent = now.since(source.last) >= SILENCE || now < source.last;
            if is_silent && source.decoder.pending() > 0 {
                records.extend(source.decoder.finish().map(|record| (Arc::clone(name), record)));
            }
        }
        records
    }

    /// Gives everything: no more lines will come.
    pub fn finish(&mut self) -> Vec<SourcedRecord> {
        let mut records = Vec::new();
        for (name, mut source) in self.sources.drain() {
            records.extend(source.decoder.finish().map(|record| (Arc::clone(&name), record)));
        }
        records
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(source: &str, number: u64, second: u64, text: &str) -> LogLine {
        LogLine { source: source.into(), number, time: at(second), line: text.as_bytes().into() }
    }

    fn at(second: u64) -> Timestamp {
        Timestamp::from_nanos(second * 1_000_000_000)
    }

    #[test]
    fn sources_do_not_mix_and_silence_completes() {
        let mut decoders = LogDecoders::default();
        let announced = "Completion with error at client";
        let status = " Failed status 12: wr_id 0 syndrom 0x81";
        for (source, number, text) in [("a", 1, announced), ("b", 1, status), ("a", 2, status)] {
            assert_eq!(decoders.line(&line(source, number, 10, text), at(10)), []);
        }
        assert_eq!(decoders.idle(at(10)), []);
        let mut records = decoders.idle(at(11));
        records.sort_by(|(one, _), (other, _)| one.cmp(other));
        let found: Vec<_> = records.iter().map(|(name, record)| (&**name, record.lines)).collect();
        assert_eq!(found, [("a", 2), ("b", 1)]);
        assert_eq!(records[0].1.time, Some(at(10)), "the source knows when");
        assert_eq!(decoders.idle(at(12)), []);
    }

    #[test]
    fn many_sources_take_bounded_memory() {
        let mut decoders = LogDecoders::default();
        let records: usize = (0..2000)
            .map(|n| {
                let line = line(&n.to_string(), 1, n, "remote access error");
                decoders.line(&line, at(n)).len()
            })
            .sum();
        assert_eq!((records, decoders.sources.len()), (2000 - MAX_SOURCES, MAX_SOURCES));
    }
}
