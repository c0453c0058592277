//! The systemd journal, by the export format of `journalctl --follow`.
//!
//! The journal daemon has sockets to write to, but none to read from: reading means its files. journalctl
//! reads those of every version, rotated, compressed or not, and its export format is a stable interface.
//! libsystemd would do the same in this process, at the price of a C library that static builds lack.

use std::io;
use std::process::{ExitStatus, Stdio};

use tokio::io::AsyncReadExt;
use tokio::process::Command;
use tokio::time::sleep;

use super::export_format::ExportReader;
use super::sink::{Sink, now};
use super::{LogCounter, Shared};

const PROGRAM: &str = "journalctl";
/// What of an entry is asked for.
const FIELDS: &str = "--output-fields=MESSAGE,_HOSTNAME,SYSLOG_IDENTIFIER,_PID,_TRANSPORT";

/// Whether the journal's copies of the kernel's records are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KernelRecords {
    /// There is no other source for them.
    Wanted,
    /// `/dev/kmsg` is read, too.
    LeftOut,
}

/// Follows the journal from its present end, for ever.
pub(super) async fn follow(kernel: KernelRecords, shared: Shared) {
    follow_program(PROGRAM, kernel, shared).await;
}

async fn follow_program(program: &str, kernel: KernelRecords, shared: Shared) {
    let mut sink = Sink::new("journal", shared);
    let mut cursor = None;
    let mut has_failed = false;
    loop {
        let before = cursor.clone();
        let outcome = run(program, kernel, &mut cursor, &mut sink).await;
        let counters = sink.counters();
        counters.count(LogCounter::JournalRestarts);
        match outcome {
            Ok(status) if cursor != before => {
                tracing::warn!("{program} ended ({status}); starting it again");
                has_failed = false;
            }
            // Only the first of a row: without systemd it fails for ever.
            Ok(status) if !has_failed => {
                counters.count(LogCounter::Unreadable);
                tracing::warn!(
                    "the journal cannot be followed: {program} ended ({status}); trying again"
                );
                has_failed = true;
            }
            Err(error) if !has_failed => {
                counters.count(LogCounter::Unreadable);
                tracing::warn!("the journal cannot be followed: {program}: {error}; trying again");
                has_failed = true;
            }
            _ => {}
        }
        if cursor == before {
            // Perhaps it is the cursor that cannot be found.
            cursor = None;
        }
        sleep(sink.shared().limits.retry).await;
    }
}

/// Reads from one run of the program; `cursor` is where the next one goes on.
async fn run(
    program: &str,
    kernel: KernelRecords,
    cursor: &mut Option<String>,
    sink: &mut Sink,
) -> io::Result<ExitStatus> {
    let mut command = Command::new(program);
    command.args(["--output=export", "--follow", "--no-pager", "--quiet", FIELDS]);
    match cursor {
        Some(cursor) => command.args(["--lines=all", &format!("--after-cursor={cursor}")]),
        None => command.arg("--lines=0"),
    };
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    let mut output = child.stdout.take().ok_or_else(|| io::Error::other("it has no output"))?;
    let mut reader = ExportReader::default();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let len = output.read(&mut buffer).await?;
        if len == 0 {
            break;
        }
        let read = now();
        reader.feed(&buffer[..len], &mut |entry| {
            if !entry.is_kernel || kernel == KernelRecords::Wanted {
                sink.feed_written(&entry.to_lines(), entry.time.unwrap_or(read), read);
            }
            *cursor = entry.cursor.or(cursor.take());
        });
        sink.counters().add(LogCounter::JournalErrors, reader.take_errors());
    }
    child.wait().await
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::time::Duration;

    use tokio::time::timeout;

    use super::super::testing::shared;
    use super::*;

    /// A program in the place of journalctl: one entry, then the end. It says how it was called.
    const SCRIPT: &str = r#"#!/bin/sh
printf '__CURSOR=c1\n__REALTIME_TIMESTAMP=1795953600500000\n_HOSTNAME=node7\nSYSLOG_IDENTIFIER=trainer\n_PID=77\n'
printf 'MESSAGE=remote access error: %s\n\n' "$*"
printf '_TRANSPORT=kernel\nMESSAGE=remote access error, which /dev/kmsg has, too\n\n'
"#;

    #[tokio::test]
    async fn it_is_started_again_where_it_ended() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("journalctl");
        fs::write(&program, SCRIPT).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let (shared, mut lines) = shared(10);
        let counters = std::sync::Arc::clone(&shared.counters);
        let program = program.to_string_lossy().into_owned();
        let task =
            tokio::spawn(
                async move { follow_program(&program, KernelRecords::LeftOut, shared).await },
            );
        let mut next =
            async || timeout(Duration::from_secs(20), lines.recv()).await.unwrap().unwrap();
        let first = next().await;
        assert_eq!(
            (&*first.source, first.time.to_string().as_str()),
            ("journal", "2026-11-29T12:00:00.500000000Z")
        );
        let text = String::from_utf8(first.line.to_vec()).unwrap();
        assert!(
            text.starts_with(
                "2026-11-29T12:00:00.500000000Z node7 trainer[77]: remote access error"
            ),
            "{text}"
        );
        assert!(text.ends_with("--lines=0"), "{text}");
        let second = String::from_utf8(next().await.line.to_vec()).unwrap();
        assert!(second.ends_with("--lines=all --after-cursor=c1"), "{second}");
        assert!(counters.get(LogCounter::JournalRestarts) >= 1);
        task.abort();
    }

    #[tokio::test]
    async fn without_the_program_it_says_so_once() {
        let (shared, _lines) = shared(10);
        let counters = std::sync::Arc::clone(&shared.counters);
        let task =
            tokio::spawn(follow_program("/no/such/journalctl", KernelRecords::Wanted, shared));
        while counters.get(LogCounter::JournalRestarts) < 3 {
            sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(counters.get(LogCounter::Unreadable), 1);
        task.abort();
    }
}
