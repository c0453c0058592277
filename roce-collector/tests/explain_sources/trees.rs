//! Folders with the logs of pods.

use std::fs;
use std::time::Duration;

use roce_collector::logs::{LogCounter, LogLimits};
use tempfile::tempdir;

use super::{append, error, limits, next, next_text, reached, settle, start};

#[tokio::test]
async fn pods_come_rotate_and_go() {
    let pods = tempdir().unwrap();
    let old = pods.path().join("ns_old_uid/trainer");
    fs::create_dir_all(&old).unwrap();
    append(&old.join("0.log"), &error(1));
    let mut sources = start(pods.path(), limits());
    settle().await;
    append(&old.join("0.log"), &error(2));
    assert_eq!(next_text(&mut sources).await, error(2), "what was there before is not read");
    let new = pods.path().join("ns_new_uid/trainer");
    fs::create_dir_all(&new).unwrap();
    append(&new.join("0.log"), &error(3));
    let line = next(&mut sources).await;
    assert_eq!(line.line, error(3).as_bytes().into(), "a new pod from its beginning");
    assert!(line.source.ends_with("ns_new_uid/trainer/0.log"), "{}", line.source);
    fs::rename(new.join("0.log"), new.join("0.log.20261129-120000")).unwrap();
    append(&new.join("0.log"), &error(4));
    assert_eq!(next_text(&mut sources).await, error(4));
    fs::remove_dir_all(pods.path().join("ns_old_uid")).unwrap();
    reached(&sources, LogCounter::Missing, 1).await;
    append(&new.join("0.log"), &error(5));
    assert_eq!(next_text(&mut sources).await, error(5));
}

#[tokio::test]
async fn files_are_bounded_and_the_ones_in_use_win() {
    let pods = tempdir().unwrap();
    let log = |n: u32| pods.path().join(format!("{n}.log"));
    for n in 0..10 {
        append(&log(n), &error(100));
    }
    let mut sources = start(pods.path(), LogLimits { max_files: 4, ..limits() });
    reached(&sources, LogCounter::SkippedFiles, 6).await;
    // Each in its turn is written to: more files than are followed at a time, so some are left and taken up
    // again. Times of files have to differ by a tick of the kernel to be told apart.
    for n in (0..10).chain(0..10) {
        tokio::time::sleep(Duration::from_millis(30)).await;
        append(&log(n), &error(n));
        let line = next(&mut sources).await;
        assert_eq!(line.line, error(n).as_bytes().into(), "nothing old, nothing twice");
        assert_eq!(line.source.as_ref(), log(n).to_str().unwrap());
    }
    assert!(sources.lines.try_recv().is_err());
}
