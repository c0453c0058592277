//! A folder of recordings that stays below a size.

use std::ffi::OsStr;
use std::fs::{self, DirEntry, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Names of recordings: nothing else is ever counted or removed.
const PREFIX: &str = "roce-incident-";
const SUFFIX: &str = ".pcapng";
/// While it is written, a recording has another end.
const UNFINISHED: &str = ".part";
/// Of an incident's name, as much goes into that of the file.
const MAX_NAME: usize = 100;

/// Where recordings are put.
#[derive(Clone, Debug)]
pub(super) struct Folder {
    path: PathBuf,
    limit: u64,
}

/// What became of a recording.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stored {
    pub(super) path: PathBuf,
    /// Older ones that made room for it.
    pub(super) removed: u64,
}

#[derive(Debug)]
struct Recorded {
    modified: SystemTime,
    path: PathBuf,
    len: u64,
}

impl Folder {
    pub(super) const fn new(path: PathBuf, limit: u64) -> Self {
        Self { path, limit }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the folder if need be, and says whether files can be put there; takes away what was not finished.
    pub(super) fn prepare(&self) -> io::Result<()> {
        fs::create_dir_all(&self.path)?;
        for entry in fs::read_dir(&self.path)?.flatten() {
            if is_own(&entry, UNFINISHED) {
                fs::remove_file(entry.path())?;
            }
        }
        let probe = self.path.join(format!("{PREFIX}probe{UNFINISHED}"));
        File::create(&probe)?;
        fs::remove_file(&probe)
    }

    /// Puts a recording there, under the name of its incident, in the place of an earlier one of the same. Older
    /// ones go until all have room.
    pub(super) fn store(&self, incident: &str, bytes: &[u8]) -> io::Result<Stored> {
        let len = bytes.len() as u64;
        if len > self.limit {
            let limit = self.limit;
            let message = format!("a recording of {len} bytes is above the limit of {limit} bytes");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        }
        fs::create_dir_all(&self.path)?;
        let name = name_of(incident);
        let path = self.path.join(format!("{PREFIX}{name}{SUFFIX}"));
        let removed = self.make_room(len, &path)?;
        let unfinished = self.path.join(format!("{PREFIX}{name}{UNFINISHED}"));
        let written = File::create(&unfinished)
            .and_then(|mut file| file.write_all(bytes))
            .and_then(|()| fs::rename(&unfinished, &path));
        if let Err(error) = written {
            // Half of it is worth nothing.
            let _ = fs::remove_file(&unfinished);
            return Err(error);
        }
        Ok(Stored { path, removed })
    }

    /// Removes the oldest recordings until `len` bytes more are within the limit; how many went. That at
    /// `replaced` is replaced anyway.
    fn make_room(&self, len: u64, replaced: &Path) -> io::Result<u64> {
        let mut recordings = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            if !is_own(&entry, SUFFIX) || entry.path() == replaced {
                continue;
            }
            // One that is gone in the meantime takes no room.
            let Ok(facts) = entry.metadata() else { continue };
            let modified = facts.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            recordings.push(Recorded { modified, path: entry.path(), len: facts.len() });
        }
        let mut total = recordings.iter().map(|it| it.len).sum::<u64>().saturating_add(len);
        recordings.sort_by(|a, b| (a.modified, &a.path).cmp(&(b.modified, &b.path)));
        let mut removed = 0;
        for recording in recordings {
            if total <= self.limit {
                break;
            }
            fs::remove_file(&recording.path)?;
            total -= recording.len;
            removed += 1;
        }
        Ok(removed)
    }
}

/// Whether an entry is a recording with this end of its name: a file, no link.
fn is_own(entry: &DirEntry, end: &str) -> bool {
    let name = entry.file_name();
    let is_named = |name: &OsStr| {
        name.to_str().is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(end))
    };
    is_named(&name) && entry.file_type().is_ok_and(|kind| kind.is_file())
}

/// The name of an incident without what is not fit for that of a file.
fn name_of(incident: &str) -> String {
    let fit = |it: char| {
        if it.is_ascii_alphanumeric() || matches!(it, '-' | '_' | '.') { it } else { '_' }
    };
    incident.chars().take(MAX_NAME).map(fit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn names(path: &Path) -> Vec<String> {
        let entries = fs::read_dir(path).expect("the folder").flatten();
        let mut names: Vec<_> =
            entries.map(|entry| entry.file_name().into_string().expect("a name")).collect();
        names.sort();
        names
    }

    /// Makes a file `age` seconds older than it is.
    fn make_older(path: &Path, age: u64) {
        let then = SystemTime::now() - Duration::from_secs(age);
        File::options().write(true).open(path).expect("a file").set_modified(then).expect("times");
    }

    #[test]
    fn the_oldest_go_and_nothing_else() {
        let parent = tempfile::tempdir().expect("a folder");
        let path = parent.path().join("new/records");
        let folder = Folder::new(path.clone(), 1000);
        folder.prepare().expect("it is made");
        fs::write(path.join("theirs.pcapng"), [0; 5000]).expect("a file");
        std::os::unix::fs::symlink("/etc/hostname", path.join("roce-incident-link.pcapng"))
            .expect("a link");
        for (age, name) in [(30, "a"), (20, "b"), (10, "c")] {
            let stored = folder.store(name, &[1; 300]).expect("room");
            assert_eq!(stored.removed, 0);
            make_older(&stored.path, age);
        }
        // An incident that is told again has one recording.
        assert_eq!(folder.store("c", &[2; 400]).expect("room").removed, 0);
        let stored = folder.store("../d e", &[3; 500]).expect("room");
        assert_eq!(stored.removed, 2);
        assert_eq!(stored.path, path.join("roce-incident-.._d_e.pcapng"));
        let left = [
            "roce-incident-.._d_e.pcapng",
            "roce-incident-c.pcapng",
            "roce-incident-link.pcapng",
            "theirs.pcapng",
        ];
        assert_eq!(names(&path), left);
        let error = folder.store("f", &[4; 1001]).expect_err("too large");
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(names(&path), left);
        fs::remove_dir_all(&path).expect("it goes");
        assert!(folder.store("g", &[1]).is_ok(), "a folder that is gone is made again");
    }

    #[test]
    fn a_folder_that_is_none_is_an_error() {
        let parent = tempfile::tempdir().expect("a folder");
        let path = parent.path().join("file");
        fs::write(&path, "x").expect("a file");
        let folder = Folder::new(path, 1000);
        assert!(folder.prepare().is_err());
        assert!(folder.store("a", &[1]).is_err());
    }

    #[test]
    fn what_was_not_finished_is_taken_away() {
        let parent = tempfile::tempdir().expect("a folder");
        let half = parent.path().join("roce-incident-x.part");
        fs::write(&half, "x").expect("a file");
        Folder::new(parent.path().to_owned(), 1000).prepare().expect("a folder");
        assert!(!half.exists());
    }
}
