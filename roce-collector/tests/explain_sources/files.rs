//! One file.

use std::fs::{self, File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::symlink;

use roce_collector::logs::LogCounter;
use tempfile::tempdir;

use super::{append, error, limits, next, next_text, reached, settle, start};

#[tokio::test]
async fn only_what_is_new_and_only_what_matters() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("job.log");
    append(&path, &error(1));
    let mut sources = start(&path, limits());
    settle().await;
    append(&path, "NCCL INFO nothing");
    append(&path, &error(2));
    let line = next(&mut sources).await;
    assert_eq!(line.line, error(2).as_bytes().into());
    assert_eq!((&*line.source, line.number), (path.to_str().unwrap(), 2));
    assert!(sources.lines.try_recv().is_err());
}

#[tokio::test]
async fn a_file_that_appears_later_is_read_from_its_beginning() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("job.log");
    let mut sources = start(&path, limits());
    reached(&sources, LogCounter::Missing, 1).await;
    append(&path, &error(1));
    assert_eq!(next_text(&mut sources).await, error(1));
    reached(&sources, LogCounter::Recoveries, 1).await;
}

#[tokio::test]
async fn rotation_by_rename_loses_nothing_of_either_file() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("job.log");
    append(&path, "begin");
    let mut sources = start(&path, limits());
    settle().await;
    let mut writer = OpenOptions::new().append(true).open(&path).unwrap();
    writeln!(writer, "{}", error(1)).unwrap();
    fs::rename(&path, folder.path().join("job.log.1")).unwrap();
    append(&path, &error(2));
    reached(&sources, LogCounter::Rotations, 1).await;
    // The writer has not noticed yet.
    writeln!(writer, "{}", error(3)).unwrap();
    append(&path, &error(4));
    let mut found = Vec::new();
    for _ in 0..4 {
        found.push(next_text(&mut sources).await);
    }
    found.sort();
    assert_eq!(found, [error(1), error(2), error(3), error(4)]);
}

#[tokio::test]
async fn copy_and_truncate() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("job.log");
    append(&path, &"filler ".repeat(100));
    let mut sources = start(&path, limits());
    settle().await;
    append(&path, &error(1));
    assert_eq!(next_text(&mut sources).await, error(1));
    File::create(&path).unwrap();
    reached(&sources, LogCounter::Truncations, 1).await;
    append(&path, &error(2));
    assert_eq!(next_text(&mut sources).await, error(2));
}

#[tokio::test]
async fn a_writer_that_goes_on_behind_a_hole() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("job.log");
    let mut writer = File::create(&path).unwrap();
    writeln!(writer, "{}", "filler ".repeat(1000)).unwrap();
    let mut sources = start(&path, limits());
    settle().await;
    let position = writer.stream_position().unwrap();
    File::create(&path).unwrap();
    reached(&sources, LogCounter::Truncations, 1).await;
    writer.seek(SeekFrom::Start(position)).unwrap();
    writeln!(writer, "{}", error(1)).unwrap();
    let line = next(&mut sources).await;
    assert!(line.line.ends_with(error(1).as_bytes()));
    assert!(!line.line.contains(&0));
    assert_eq!(sources.counters.get(LogCounter::Binary), 1);
}

#[tokio::test]
async fn deleted_and_made_again() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("job.log");
    append(&path, "begin");
    let mut sources = start(&path, limits());
    settle().await;
    let mut writer = OpenOptions::new().append(true).open(&path).unwrap();
    fs::remove_file(&path).unwrap();
    reached(&sources, LogCounter::Missing, 1).await;
    writeln!(writer, "{}", error(1)).unwrap();
    assert_eq!(next_text(&mut sources).await, error(1), "who has it open goes on writing");
    append(&path, &error(2));
    assert_eq!(next_text(&mut sources).await, error(2));
    reached(&sources, LogCounter::Recoveries, 1).await;
    assert_eq!(sources.counters.get(LogCounter::Missing), 1, "one row of failures");
}

#[tokio::test]
async fn unreadable_for_a_while() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("job.log");
    append(&path, "begin");
    let mut sources = start(&path, limits());
    settle().await;
    // A link to itself cannot be opened by anybody, not by root either.
    fs::remove_file(&path).unwrap();
    symlink(&path, &path).unwrap();
    reached(&sources, LogCounter::Unreadable, 1).await;
    fs::remove_file(&path).unwrap();
    append(&path, &error(1));
    assert_eq!(next_text(&mut sources).await, error(1));
    reached(&sources, LogCounter::Recoveries, 1).await;
}

#[tokio::test]
async fn a_pipe_in_its_place_does_not_block() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("job.log");
    let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    let mut sources = start(&path, limits());
    reached(&sources, LogCounter::Unreadable, 1).await;
    fs::remove_file(&path).unwrap();
    append(&path, &error(1));
    assert_eq!(next_text(&mut sources).await, error(1));
}

#[tokio::test]
async fn filled_with_binary() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("job.log");
    append(&path, "begin");
    let mut sources = start(&path, limits());
    settle().await;
    let mut writer = OpenOptions::new().append(true).open(&path).unwrap();
    let garbage: Vec<u8> =
        (0..3_000_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    writer.write_all(&garbage).unwrap();
    reached(&sources, LogCounter::Binary, 1).await;
    writeln!(writer, "\n{}", error(1)).unwrap();
    assert_eq!(next_text(&mut sources).await, error(1));
    assert!(sources.counters.get(LogCounter::Bytes) > 3_000_000);
}
