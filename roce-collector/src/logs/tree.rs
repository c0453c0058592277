//! Which files of a folder with logs of pods are worth following.
//!
//! `/var/log/pods/NAMESPACE_POD_UID/CONTAINER/0.log`, also where these are links to the container runtime's
//! own files. What was rotated away, `0.log.20261129-120000` and `.gz`, has another ending.

use std::collections::HashSet;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Folders below the top.
const MAX_DEPTH: usize = 4;
/// Entries looked at in one scan.
const MAX_ENTRIES: usize = 20_000;
const ENDING: &str = "log";

/// The files of a tree.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// Those written to last come first.
    pub(super) files: Vec<(PathBuf, Position)>,
    /// Entries that were not looked at, because there are too many.
    pub(super) skipped: usize,
}

/// A file, and how much of it is of no interest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    /// Device and inode.
    pub(super) id: (u64, u64),
    /// Bytes.
    pub(super) offset: u64,
}

/// Looks for files below `top`, with their present ends. What cannot be looked into is as if it were not
/// there.
pub(super) fn scan(top: &Path) -> Scan {
    let mut found: Vec<(Metadata, PathBuf)> = Vec::new();
    let mut folders = vec![(top.to_owned(), 0)];
    let mut entries = 0;
    while let Some((folder, depth)) = folders.pop() {
        let Ok(listing) = fs::read_dir(&folder) else { continue };
        for entry in listing.flatten() {
            entries += 1;
            if entries > MAX_ENTRIES {
                break;
            }
            let path = entry.path();
            // Links to files are followed, links to folders are not: they could lead in circles.
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder && depth < MAX_DEPTH {
                folders.push((path, depth + 1));
            } else if !is_folder && path.extension().is_some_and(|ending| ending == ENDING) {
                let metadata = fs::metadata(&path).ok().filter(Metadata::is_file);
                found.extend(metadata.map(|metadata| (metadata, path)));
            }
        }
    }
    found.sort_by(|(one, path), (other, other_path)| {
        let written = |metadata: &Metadata| (metadata.mtime(), metadata.mtime_nsec());
        written(other).cmp(&written(one)).then_with(|| path.cmp(other_path))
    });
    let mut seen = HashSet::new();
    found.retain(|(metadata, _)| seen.insert((metadata.dev(), metadata.ino())));
    let with_position = |(metadata, path): (Metadata, PathBuf)| {
        let id = (metadata.dev(), metadata.ino());
        (path, Position { id, offset: metadata.len() })
    };
    let files = found.into_iter().map(with_position).collect();
    Scan { files, skipped: entries.saturating_sub(MAX_ENTRIES) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn files_of_pods_and_no_others() {
        let top = tempfile::tempdir().unwrap();
        let container = top.path().join("ns_pod_uid/trainer");
        fs::create_dir_all(&container).unwrap();
        let runtime = tempfile::tempdir().unwrap();
        let target = runtime.path().join("abc-json.log");
        fs::write(&target, "x").unwrap();
        symlink(&target, container.join("1.log")).unwrap();
        symlink(&target, container.join("2.log")).unwrap();
        symlink(top.path(), container.join("circle")).unwrap();
        symlink("nowhere", container.join("3.log")).unwrap();
        for name in ["0.log", "0.log.20261129-120000", "0.log.gz", "notes.txt"] {
            fs::write(container.join(name), "x").unwrap();
        }
        let Scan { files, skipped } = scan(top.path());
        let mut paths: Vec<_> = files.iter().map(|(path, _)| path.clone()).collect();
        paths.sort();
        assert_eq!(paths, [container.join("0.log"), container.join("1.log")]);
        assert!(files.iter().all(|(_, position)| position.offset == 1));
        assert_eq!(skipped, 0);
        assert!(scan(Path::new("/no/such/folder")).files.is_empty());
    }
}
