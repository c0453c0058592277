//! Recordings of incidents.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::folder::{Folder, Stored};
use super::{Connection, RecordedFrame, write_pcapng};
use crate::sweep::{Moment, Tables};

/// Writes what was recorded of a connection when it fails.
#[derive(Debug)]
pub struct FlightRecorder {
    folder: Folder,
    interfaces: Arc<[String]>,
    counts: RecorderCounts,
}

/// What a flight recorder did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecorderCounts {
    /// Files written; one that replaces an earlier one of the same incident counts, too.
    pub written: u64,
    /// Files that could not be.
    pub failed: u64,
    /// Older files that made room.
    pub removed: u64,
    /// Incidents of which nothing was recorded.
    pub empty: u64,
    /// Packets that were overwritten while they were read.
    pub overwritten: u64,
}

impl FlightRecorder {
    /// A recorder that keeps the files of `folder` below `limit` bytes. `interfaces` are names in the order of
    /// their taps, two each.
    pub fn new(folder: PathBuf, limit: u64, interfaces: Arc<[String]>) -> Self {
        Self { folder: Folder::new(folder, limit), interfaces, counts: RecorderCounts::default() }
    }

    /// Makes the folder if need be, and tries whether files can be put there. Where not, recordings fail, and
    /// are counted, until it is.
    ///
    /// # Errors
    /// Why not.
    pub fn prepare(&self) -> io::Result<()> {
        self.folder.prepare()
    }

    /// Where files are put.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// What it did.
    pub const fn counts(&self) -> RecorderCounts {
        self.counts
    }

    /// Writes what `tables` have recorded of a connection; `None` when there is nothing. `comment` goes into
    /// the file. An incident that is told again replaces its file.
    ///
    /// # Errors
    /// Those of writing.
    pub fn record(
        &mut self,
        tables: &dyn Tables,
        now: Moment,
        connection: &Connection,
        incident_id: &str,
        comment: &str,
    ) -> io::Result<Option<PathBuf>> {
        let recording = tables.recorded(connection, now);
        self.counts.overwritten += recording.lost;
        if recording.frames.is_empty() {
            self.counts.empty += 1;
            return Ok(None);
        }
        self.write(incident_id, comment, &recording.frames).map(Some)
    }

    /// [`Self::record`] for the daemon: the file's name, for [`crate::incident::Incident::recording`]. A failure
    /// is logged.
    pub fn record_incident(
        &mut self,
        tables: &dyn Tables,
        now: Moment,
        connection: &Connection,
        incident_id: &str,
        comment: &str,
    ) -> Option<String> {
        match self.record(tables, now, connection, incident_id, comment) {
            Ok(path) => path.map(|path| path.display().to_string()),
            Err(error) => {
                let folder = self.folder.path().display();
                tracing::warn!(
                    "cannot write the packets of incident {incident_id} to {folder}: {error}"
                );
                None
            }
        }
    }

    /// Writes these packets.
    ///
    /// # Errors
    /// Those of writing.
    pub fn write(
        &mut self,
        incident_id: &str,
        comment: &str,
        frames: &[RecordedFrame],
    ) -> io::Result<PathBuf> {
        let mut bytes = Vec::new();
        let stored = write_pcapng(&mut bytes, &self.interfaces, comment, frames)
            .and_then(|()| self.folder.store(incident_id, &bytes));
        match stored {
            Ok(Stored { path, removed }) => {
                self.counts.written += 1;
                self.counts.removed += removed;
                Ok(path)
            }
            Err(error) => {
                self.counts.failed += 1;
                Err(error)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Timestamp;

    #[test]
    fn what_it_does_is_counted() {
        let parent = tempfile::tempdir().expect("a folder");
        let path = parent.path().join("records");
        std::fs::write(&path, "in the way").expect("a file");
        let interfaces = Arc::from(["eth0".to_owned()]);
        let mut recorder = FlightRecorder::new(path.clone(), 500, interfaces);
        let frame = RecordedFrame {
            tap: 1,
            time: Timestamp::from_nanos(1),
            wire_len: 60,
            bytes: vec![0; 60],
            left_out: 0,
        };
        assert!(recorder.prepare().is_err());
        assert!(recorder.write("1", "why", std::slice::from_ref(&frame)).is_err());
        std::fs::remove_file(&path).expect("it goes");
        for id in ["1", "2", "3"] {
            let file = recorder.write(id, "why", std::slice::from_ref(&frame)).expect("a folder");
            assert_eq!(file, path.join(format!("roce-incident-{id}.pcapng")));
        }
        let counts = recorder.counts();
        assert_eq!((counts.written, counts.failed), (3, 1));
        assert!(counts.removed > 0, "{counts:?}");
    }
}
