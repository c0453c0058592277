//! More lines than anybody wants.

use std::io::Write;

use roce_collector::logs::{LogCounter, LogLimits};
use tempfile::tempdir;

use super::{append, error, limits, next_text, reached, settle, start};

#[tokio::test]
async fn too_many_lines_are_dropped_and_counted() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("job.log");
    append(&path, "begin");
    let limits = LogLimits { lines_per_second: 1, burst: 100, channel: 50, ..limits() };
    let mut sources = start(&path, limits);
    settle().await;
    let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    for n in 0..10_000 {
        writeln!(file, "{}", error(n)).unwrap();
    }
    // Nobody takes a line out: half of what the rate allows does not fit into the channel.
    let get = |sources: &roce_collector::logs::LogSources, counter| sources.counters.get(counter);
    reached(&sources, LogCounter::RateDrops, 9000).await;
    settle().await;
    let counted = [LogCounter::Lines, LogCounter::ChannelDrops, LogCounter::RateDrops];
    let counted = counted.map(|counter| get(&sources, counter));
    assert_eq!(counted.iter().sum::<u64>(), 10_000, "every line is counted once: {counted:?}");
    assert_eq!(counted[0], 50);
    assert!(counted[1] >= 50, "{counted:?}");
    for n in 0..50 {
        assert_eq!(next_text(&mut sources).await, error(n));
    }
}

#[tokio::test]
async fn long_lines_are_cut_and_counted() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("job.log");
    append(&path, "begin");
    let mut sources = start(&path, limits());
    settle().await;
    append(&path, &format!("{}{}", error(1), "x".repeat(1_000_000)));
    assert_eq!(next_text(&mut sources).await.len(), 16 * 1024);
    reached(&sources, LogCounter::CutLines, 1).await;
}
