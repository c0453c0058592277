//! The log beside a capture file.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{anyhow, ensure};

use super::log_file::{self, LogFile};
use crate::explain::{DecoderLimits, Scanner};
use crate::read::IncidentFinder;

/// Bytes read at a time.
const PIECE: usize = 256 * 1024;

/// A log that was opened.
pub(super) struct BesideLog {
    name: PathBuf,
    file: LogFile,
}

impl BesideLog {
    /// Opens `log` for a capture that is read from `capture`.
    pub(super) fn open(log: &Path, capture: &Path) -> anyhow::Result<Self> {
        let is_stdin = |path: &Path| path == Path::new("-");
        ensure!(
            !is_stdin(log) || !is_stdin(capture),
            "capture and log cannot both be standard input"
        );
        let file = log_file::open(log).map_err(|error| anyhow!("{}: {error}", log.display()))?;
        Ok(Self { name: log.to_owned(), file })
    }

    /// Reads to the end; what went wrong before it.
    pub(super) fn scan(self, finder: &mut IncidentFinder<'_>) -> Option<String> {
        let source: Arc<str> = self.name.to_string_lossy().into();
        let (mut reader, size) = self.file;
        let progress = log_file::progress_bar(size);
        let mut scanner = Scanner::new(DecoderLimits::default());
        let mut piece = vec![0; PIECE];
        let error = loop {
            match reader.read(&mut piece) {
                Ok(0) => break None,
                Ok(len) => scanner.feed(&piece[..len], &mut |record| finder.take(&source, record)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break Some(error),
            }
            progress.set_position(scanner.totals().bytes);
        };
        scanner.finish(&mut |record| finder.take(&source, record));
        progress.finish_and_clear();
        let lines = scanner.totals().lines;
        error.map(|error| format!("{source}: {error}; the log was read up to line {lines}"))
    }
}
