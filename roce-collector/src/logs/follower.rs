//! One file that is written to, also when it is replaced, cut, deleted, locked or damaged.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use memchr::memchr;

use super::sink::{Sink, now};
use super::tree::Position;
use super::{LogCounter, Shared};

/// Bytes read of one file before others have their turn.
const BUDGET: u64 = 4 << 20;

/// Where to begin in a file that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// What is in it happened before the collector ran.
    End,
    /// It is new.
    Beginning,
    /// Where reading ended, if it is still the same file.
    At(Position),
}

/// What came of a look at a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// All of it is read.
    UpToDate,
    /// There is more.
    More,
    /// It has not been there for this long.
    Gone(Duration),
}

/// Follows the file of one name.
#[derive(Debug)]
pub(super) struct Follower {
    path: PathBuf,
    start: Start,
    current: Option<Open>,
    /// The file that had the name before: its writer may not have noticed yet.
    draining: Option<(Open, Instant)>,
    /// Device and inode of what could not be opened.
    refused: Option<(u64, u64)>,
    trouble: Option<(LogCounter, Instant)>,
    shared: Shared,
}

#[derive(Debug)]
struct Open {
    file: File,
    id: (u64, u64),
    offset: u64,
    sink: Sink,
    is_binary: bool,
}

impl Follower {
    pub(super) fn new(path: &Path, start: Start, shared: Shared) -> Self {
        let path = path.to_owned();
        Self { path, start, current: None, draining: None, refused: None, trouble: None, shared }
    }

    /// How far the file was read, if it is open.
    pub(super) fn position(&self) -> Option<Position> {
        self.current.as_ref().map(|open| Position { id: open.id, offset: open.offset })
    }

    /// Reads what is new.
    pub(super) fn poll(&mut self, buffer: &mut [u8], at: Instant) -> Progress {
        if let Some((old, until)) = &mut self.draining {
            // Whatever goes wrong with a file that has lost its name: it is over.
            let is_over = old.read(buffer).is_err() || at >= *until;
            if is_over {
                old.sink.finish();
                self.draining = None;
            }
        }
        let has_more = match self.current.as_mut().map(|open| open.read(buffer)) {
            Some(Ok(has_more)) => has_more,
            Some(Err(error)) => {
                self.start = self.position().map_or(Start::Beginning, Start::At);
                self.current = None;
                return self.fail(LogCounter::ReadErrors, &error, at);
            }
            None => false,
        };
        if has_more {
            return Progress::More;
        }
        self.look_at_name(at)
    }

    /// Whether the name still leads to the file that is open.
    fn look_at_name(&mut self, at: Instant) -> Progress {
        let id = match std::fs::metadata(&self.path) {
            Ok(metadata) => (metadata.dev(), metadata.ino()),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                // It may still be written to by who has it open.
                self.start = Start::Beginning;
                return self.fail(LogCounter::Missing, &error, at);
            }
            Err(error) => return self.fail(LogCounter::Unreadable, &error, at),
        };
        if self.current.as_ref().is_some_and(|open| open.id == id) {
            // A file that was deleted can come back under its name.
            self.succeed();
            return Progress::UpToDate;
        }
        if self.refused.is_some_and(|refused| refused != id) {
            self.start = Start::Beginning;
        }
        match Open::new(&self.path, self.start, &self.shared) {
            Ok(open) => {
                if let Some(old) = self.current.replace(open) {
                    self.shared.counters.count(LogCounter::Rotations);
                    if let Some((mut older, _)) = self.draining.take() {
                        older.sink.finish();
                    }
                    self.draining = Some((old, at + self.shared.limits.drain));
                }
                // Whatever takes the name from now on is new.
                self.start = Start::Beginning;
                self.refused = None;
                self.succeed();
                Progress::More
            }
            Err(error) => {
                self.refused = Some(id);
                // No file at all: a file that takes its place is new, even with the same inode.
                if error.kind() == ErrorKind::InvalidInput {
                    self.start = Start::Beginning;
                }
                self.fail(LogCounter::Unreadable, &error, at)
            }
        }
    }

    /// Counts and tells the first of a row of failures.
    fn fail(&mut self, counter: LogCounter, error: &io::Error, at: Instant) -> Progress {
        let since = match self.trouble {
            Some((known, since)) if known == counter => since,
            _ => {
                self.shared.counters.count(counter);
                tracing::warn!("log {}: {error}; trying again", self.path.display());
                self.trouble = Some((counter, at));
                at
            }
        };
        match counter {
            LogCounter::Missing => Progress::Gone(at.duration_since(since)),
            _ => Progress::UpToDate,
        }
    }

    fn succeed(&mut self) {
        if self.trouble.take().is_some() {
            self.shared.counters.count(LogCounter::Recoveries);
            tracing::info!("log {}: can be read again", self.path.display());
        }
    }
}

impl Open {
    fn new(path: &Path, start: Start, shared: &Shared) -> io::Result<Self> {
        // A pipe without a writer must not block, nor a terminal become ours.
        let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
        let mut file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::new(ErrorKind::InvalidInput, "not a regular file"));
        }
        let id = (metadata.dev(), metadata.ino());
        let offset = match start {
            Start::End => file.seek(SeekFrom::End(0))?,
            Start::At(position) if position.id == id && position.offset <= metadata.len() => {
                file.seek(SeekFrom::Start(position.offset))?
            }
            Start::Beginning | Start::At(_) => 0,
        };
        let sink = Sink::new(&path.to_string_lossy(), shared.clone());
        Ok(Self { file, id, offset, sink, is_binary: false })
    }

    /// Reads to the end, or as much as is its turn. Says whether there is more.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<bool> {
        let mut left = BUDGET;
        loop {
            let len = match self.file.read(buffer) {
                Ok(len) => len,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if len == 0 {
                return self.rewind_if_cut().map(|()| false);
            }
            self.offset += len as u64;
            self.note_binary(&buffer[..len]);
            self.sink.feed(&buffer[..len], now());
            left = left.saturating_sub(len as u64);
            if left == 0 {
                return Ok(true);
            }
        }
    }

    /// Begins anew in a file that is shorter than what was read of it.
    fn rewind_if_cut(&mut self) -> io::Result<()> {
        if self.file.metadata()?.len() < self.offset {
            self.offset = self.file.seek(SeekFrom::Start(0))?;
            self.sink.forget_tail();
            self.sink.counters().count(LogCounter::Truncations);
        }
        Ok(())
    }

    fn note_binary(&mut self, bytes: &[u8]) {
        let is_binary = memchr(0, bytes).is_some();
        if is_binary && !self.is_binary {
            self.sink.counters().count(LogCounter::Binary);
            tracing::warn!("log {}: holds bytes that are no text", self.sink.name());
        }
        self.is_binary = is_binary;
    }
}
