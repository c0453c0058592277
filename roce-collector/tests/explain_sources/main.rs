//! Log sources while files are replaced, cut, deleted, locked and damaged under them.

mod files;
mod flood;
mod trees;

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use roce_collector::logs::{LogCounter, LogLimits, LogLine, LogSource, LogSources};
use tokio::time::timeout;

/// Long enough for a busy machine; no test waits for it unless it fails.
const PATIENCE: Duration = Duration::from_secs(30);

fn limits() -> LogLimits {
    LogLimits {
        poll: Duration::from_millis(10),
        rescan: Duration::from_millis(50),
        drain: Duration::from_mins(1),
        ..LogLimits::default()
    }
}

fn start(path: &Path, limits: LogLimits) -> LogSources {
    LogSources::start(&[LogSource::Path(path.to_owned())], limits)
}

/// A line that matters, and can be told from others.
fn error(number: u32) -> String {
    format!("remote access error, number {number}")
}

fn append(path: &Path, text: &str) {
    let file = OpenOptions::new().append(true).create(true).open(path);
    writeln!(file.expect("a file"), "{text}").expect("a file that can be written");
}

async fn next(sources: &mut LogSources) -> LogLine {
    let line = timeout(PATIENCE, sources.lines.recv()).await;
    line.unwrap_or_else(|_| panic!("no line: {:?}", rows(sources))).expect("the source runs")
}

async fn next_text(sources: &mut LogSources) -> String {
    String::from_utf8(next(sources).await.line.to_vec()).expect("text")
}

/// Waits until a counter has reached `count`.
async fn reached(sources: &LogSources, counter: LogCounter, count: u64) {
    let waited = timeout(PATIENCE, async {
        while sources.counters.get(counter) < count {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    waited.await.unwrap_or_else(|_| panic!("{counter:?}: {:?}", rows(sources)));
}

/// Gives the source time to look once more.
async fn settle() {
    tokio::time::sleep(Duration::from_millis(100)).await;
}

fn rows(sources: &LogSources) -> Vec<(&'static str, u64)> {
    sources.counters.rows().filter(|(_, value)| *value > 0).collect()
}
