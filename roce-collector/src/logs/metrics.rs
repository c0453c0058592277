//! Metrics of the log sources.

use std::fmt;

use prometheus_client::encoding::DescriptorEncoder;

use super::{LogCounter, LogCounters};
use crate::export::family::{counter, label};

/// Fates of lines; the other counters but bytes are events of sources.
const FATES: [LogCounter; 4] =
    [LogCounter::Lines, LogCounter::CutLines, LogCounter::RateDrops, LogCounter::ChannelDrops];

/// Writes all families.
pub(crate) fn encode(counters: &LogCounters, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    counter(
        encoder,
        "log_read_bytes",
        "Bytes read from log sources",
        [([], counters.get(LogCounter::Bytes))],
    )?;
    let rows = |is_wanted: fn(LogCounter) -> bool| {
        let wanted = LogCounter::ALL.iter().filter(move |(counter, _)| is_wanted(*counter));
        wanted.map(|(counter, name)| (*name, counters.get(*counter)))
    };
    counter(
        encoder,
        "log_lines",
        "Lines of log sources that may matter, by what became of them",
        rows(|counter| FATES.contains(&counter))
            .map(|(fate, lines)| ([label("fate", fate)], lines)),
    )?;
    counter(
        encoder,
        "log_source_events",
        "What happened to log sources",
        rows(|counter| counter != LogCounter::Bytes && !FATES.contains(&counter))
            .map(|(event, count)| ([label("event", event)], count)),
    )
}
