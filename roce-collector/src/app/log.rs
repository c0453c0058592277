//! The log on standard error.

use std::io::{self, IsTerminal};

use tracing::level_filters::LevelFilter;

use crate::cli::collector::LogFormat;

/// Starts the log. A second start, in tests, changes nothing.
pub(super) fn start(format: LogFormat) {
    let builder = tracing_subscriber::fmt()
        .with_writer(io::stderr)
        .with_max_level(LevelFilter::INFO)
        .with_target(false);
    let _ = match format {
        LogFormat::Text => builder.with_ansi(io::stderr().is_terminal()).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
}
