//! Times of logs beside those of a capture: other clocks, missing years, missing zones.

use std::time::{Duration, UNIX_EPOCH};

use crate::capture::Timestamp;
use crate::explain::ErrorRecord;

/// How far the clocks of the log's host and of the capturing one may be apart, and how much later than the
/// packets a program may say what happened.
const TOLERANCE: Duration = Duration::from_mins(5);
/// Zones are at most so far from Greenwich.
const ZONES: Duration = Duration::from_hours(14);

/// From the first frame to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) first: Timestamp,
    pub(super) last: Timestamp,
}

impl Span {
    /// Whether something may have happened in this time. What has no time may.
    pub(super) fn may_have(&self, time: Option<Timestamp>) -> bool {
        time.is_none_or(|time| self.distance(time) <= TOLERANCE)
    }

    /// A record's time as it is to be compared with packets. One without a zone has none, and may belong
    /// to any packet, unless no zone at all brings it near: then it is taken as that of Greenwich. A year that is
    /// missing is the one that fits best.
    pub(super) fn place(&self, record: &mut ErrorRecord) {
        if record.time.is_some() {
            return;
        }
        let printed = record.time_text.as_deref().and_then(|text| self.read(text));
        record.time = printed.filter(|time| self.distance(*time) > TOLERANCE + ZONES);
    }

    /// A time without zone, taken as that of Greenwich.
    fn read(&self, text: &str) -> Option<Timestamp> {
        if text.as_bytes().first()?.is_ascii_digit() {
            return parse(text);
        }
        // `Nov 29 17:00:00`, or `Sun Nov 29 17:00:00 2026`.
        let words: Vec<_> = text.split_ascii_whitespace().collect();
        match words[..] {
            [_, month, day, clock, year] => compose(year.parse().ok()?, month, day, clock),
            [month, day, clock] => {
                let year: u64 = self.first.to_string().get(..4)?.parse().ok()?;
                let years = [year - 1, year, year + 1].into_iter();
                let times = years.filter_map(|year| compose(year, month, day, clock));
                times.min_by_key(|time| self.distance(*time))
            }
            _ => None,
        }
    }

    fn distance(&self, time: Timestamp) -> Duration {
        self.first.since(time).max(time.since(self.last))
    }
}

fn compose(year: u64, month: &str, day: &str, clock: &str) -> Option<Timestamp> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    parse(&format!("{year:04}-{month:02}-{day:0>2} {clock}"))
}

fn parse(text: &str) -> Option<Timestamp> {
    let time = humantime::parse_rfc3339_weak(text).ok()?;
    let nanos = time.duration_since(UNIX_EPOCH).ok()?.as_nanos();
    Some(Timestamp::from_nanos(u64::try_from(nanos).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::{DecoderLimits, Scanner};

    fn time(text: &str) -> Timestamp {
        parse(text).unwrap_or_else(|| panic!("{text}"))
    }

    fn span() -> Span {
        Span { first: time("2026-01-01 00:10:00"), last: time("2026-01-01 00:20:00") }
    }

    /// The time of an error line that begins with `start`, beside the capture.
    fn placed(start: &str) -> Option<String> {
        let line = format!(
            "{start} host-a:1:1 [0] NCCL WARN NET/IB : Got completion with error 12, opcode 1, len 0, vendor err 129\n"
        );
        let mut scanner = Scanner::new(DecoderLimits::default());
        let mut found = Vec::new();
        scanner.feed(line.as_bytes(), &mut |record| found.push(record));
        scanner.finish(&mut |record| found.push(record));
        let record = found.first_mut().expect("a record");
        span().place(record);
        record.time.map(|time| time.to_string())
    }

    #[test]
    fn times_with_a_zone_stay() {
        assert_eq!(
            placed("2026-01-01T00:15:00Z").as_deref(),
            Some("2026-01-01T00:15:00.000000000Z")
        );
    }

    #[test]
    fn times_without_one_may_be_those_of_any_zone() {
        assert_eq!(placed("2026-01-01 08:15:00"), None);
        assert_eq!(placed("Dec 31 19:15:00"), None, "the year before");
        let other_day = Some("2026-01-02T08:15:00.000000000Z".to_owned());
        assert_eq!(placed("2026-01-02 08:15:00"), other_day);
        assert_eq!(placed("Jan  2 08:15:00"), other_day);
    }

    #[test]
    fn clocks_may_differ_by_minutes() {
        let span = span();
        assert!(span.may_have(None));
        assert!(span.may_have(Some(time("2026-01-01 00:05:00"))));
        assert!(span.may_have(Some(time("2026-01-01 00:25:00"))));
        assert!(!span.may_have(Some(time("2026-01-01 00:25:01"))));
    }
}
