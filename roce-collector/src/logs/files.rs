//! The task that follows a file, or the files of a tree.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::follower::{Follower, Progress, Start};
use super::tree::{Position, Scan, scan};
use super::{LogCounter, Shared};

/// Bytes read at a time.
const BUFFER: usize = 64 * 1024;
/// A file of a tree that has been gone for so long belonged to a pod that is gone.
const GIVE_UP: Duration = Duration::from_mins(1);

/// Follows what is at `path`, for ever.
pub(super) async fn follow(path: PathBuf, shared: Shared) {
    let poll = shared.limits.poll;
    let mut files = Files::new(path, shared);
    loop {
        // Disks may take their time, and network file systems even more.
        let looked = spawn_blocking(move || {
            let has_more = files.look(Instant::now());
            (files, has_more)
        });
        let has_more;
        (files, has_more) = match looked.await {
            Ok(looked) => looked,
            Err(error) => {
                // It ends when the collector does.
                tracing::debug!("a log is not followed any more: {error}");
                return;
            }
        };
        if !has_more {
            sleep(poll).await;
        }
    }
}

#[derive(Debug)]
struct Files {
    top: PathBuf,
    followers: BTreeMap<PathBuf, Follower>,
    /// Files that are not followed now, and how far they are of no interest.
    parked: HashMap<PathBuf, Position>,
    /// When to look for new files; never for a single one.
    due: Instant,
    is_first_scan: bool,
    skipped: usize,
    buffer: Vec<u8>,
    shared: Shared,
}

impl Files {
    fn new(top: PathBuf, shared: Shared) -> Self {
        Self {
            top,
            followers: BTreeMap::new(),
            parked: HashMap::new(),
            due: Instant::now(),
            is_first_scan: true,
            skipped: 0,
            buffer: vec![0; BUFFER],
            shared,
        }
    }

    /// Reads what is new. Says whether there is more.
    fn look(&mut self, at: Instant) -> bool {
        if at >= self.due {
            self.due = at + self.shared.limits.rescan;
            self.rescan();
        }
        let Self { followers, buffer, top, .. } = self;
        let mut has_more = false;
        followers.retain(|path, follower| match follower.poll(buffer, at) {
            Progress::UpToDate => true,
            Progress::More => {
                has_more = true;
                true
            }
            Progress::Gone(time) => path == top || time < GIVE_UP,
        });
        has_more
    }

    /// What is new since the first scan is read from its beginning.
    fn rescan(&mut self) {
        let start = if self.is_first_scan { Start::End } else { Start::Beginning };
        self.is_first_scan = false;
        if !self.top.is_dir() {
            // A name that leads nowhere yet is a file's.
            if self.followers.is_empty() {
                let follower = Follower::new(&self.top, start, self.shared.clone());
                self.followers.insert(self.top.clone(), follower);
            }
            return;
        }
        self.followers.remove(&self.top);
        let Scan { files, skipped } = scan(&self.top);
        let names: HashSet<_> = files.iter().map(|(path, _)| path).collect();
        self.parked.retain(|path, _| names.contains(path));
        let max_files = self.shared.limits.max_files;
        self.count_skipped(skipped + files.len().saturating_sub(max_files));
        let (wanted, others) = files.split_at(files.len().min(max_files));
        if !others.is_empty() {
            // A quiet file makes room for one that is written to.
            self.park(others, start);
        }
        for (path, _) in wanted {
            if self.followers.len() < max_files && !self.followers.contains_key(path) {
                let start = self.parked.remove(path).map_or(start, Start::At);
                let follower = Follower::new(path, start, self.shared.clone());
                self.followers.insert(path.clone(), follower);
            }
        }
    }

    /// Stops following these files, and remembers how far they were read. What a file holds that was there
    /// before the collector is of no interest.
    fn park(&mut self, files: &[(PathBuf, Position)], start: Start) {
        for (path, present) in files {
            if let Some(follower) = self.followers.remove(path) {
                self.parked.extend(follower.position().map(|position| (path.clone(), position)));
            } else if start == Start::End {
                self.parked.insert(path.clone(), *present);
            }
        }
    }

    fn count_skipped(&mut self, skipped: usize) {
        if skipped > self.skipped {
            self.shared.counters.add(LogCounter::SkippedFiles, (skipped - self.skipped) as u64);
            tracing::warn!("logs below {}: {skipped} files are too many", self.top.display());
        }
        self.skipped = skipped;
    }
}
