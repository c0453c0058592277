//! The kernel's log, `/dev/kmsg`: one record a read.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use memchr::memchr;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::sink::{Sink, now};
use super::{LogCounter, LogCounters, Shared};
use crate::capture::Timestamp;

/// The device.
pub(super) const DEVICE: &str = "/dev/kmsg";
/// Longer than any record; the kernel refuses to cut one.
const MAX_RECORD: usize = 16 * 1024;

/// Opens the device behind its last record. Needs `CAP_SYSLOG` where `kernel.dmesg_restrict` is set.
pub(super) fn open(path: &Path, counters: &LogCounters) -> Option<File> {
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path)
        .and_then(|mut device| device.seek(SeekFrom::End(0)).map(|_| device));
    opened
        .inspect_err(|error| {
            counters.count(LogCounter::Unreadable);
            tracing::warn!("the kernel's log is not read: {}: {error}", path.display());
        })
        .ok()
}

/// Reads records for ever, or until reading fails.
pub(super) async fn follow(device: Option<File>, shared: Shared) {
    let Some(device) = device else { return };
    let mut sink = Sink::new("kmsg", shared);
    if let Err(error) = read(device, &mut sink).await {
        sink.counters().count(LogCounter::ReadErrors);
        tracing::warn!("the kernel's log is not read any more: {error}");
    }
}

async fn read(device: File, sink: &mut Sink) -> io::Result<()> {
    // SAFETY: the file owns its descriptor, and the AsyncFd owns the file: the descriptor stays open and
    // stays the same until the AsyncFd is dropped.
    let device = unsafe { AsyncFd::register_with_interest(device, Interest::READABLE) }?;
    let mut buffer = vec![0; MAX_RECORD];
    loop {
        let mut ready = device.readable().await?;
        match ready.try_io(|device| device.get_ref().read(&mut buffer)) {
            Ok(Ok(0)) => return Ok(()),
            Ok(Ok(len)) => take(&buffer[..len], monotonic(), sink),
            // The kernel overwrote what was not read yet, and goes on with the oldest it has.
            Ok(Err(error)) if error.kind() == ErrorKind::BrokenPipe => {
                sink.counters().count(LogCounter::KmsgOverruns);
            }
            Ok(Err(error)) if error.kind() == ErrorKind::Interrupted => {}
            Ok(Err(error)) => return Err(error),
            Err(_would_block) => {}
        }
    }
}

/// Hands on a record: `priority,sequence,microseconds,flags;message`, then lines with a dictionary.
fn take(record: &[u8], uptime_nanos: u64, sink: &mut Sink) {
    let end = memchr(b'\n', record).map_or(record.len(), |end| end + 1);
    let read = now();
    let written = age(record, uptime_nanos).and_then(|age| read.as_nanos().checked_sub(age));
    let written = written.map_or(read, Timestamp::from_nanos);
    sink.feed_written(&record[..end], written, read);
    if record[..end].last() != Some(&b'\n') {
        sink.feed_written(b"\n", written, read);
    }
}

/// How long ago a record was written, in nanoseconds.
fn age(record: &[u8], uptime_nanos: u64) -> Option<u64> {
    let head = &record[..memchr(b';', record)?];
    let micros = std::str::from_utf8(head).ok()?.split(',').nth(2)?;
    uptime_nanos.checked_sub(micros.parse::<u64>().ok()?.checked_mul(1000)?)
}

/// The clock of the kernel's log: since boot, without the time asleep.
fn monotonic() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec that the call may write to, and nothing else has it.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    // It fails only for clocks that do not exist.
    if result == 0 { time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64 } else { 0 }
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixDatagram;

    use super::super::testing::shared;
    use super::*;

    #[tokio::test]
    async fn one_record_a_read() {
        // A datagram is what a record is: it comes as a whole, or not at all.
        let (kernel, ours) = UnixDatagram::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        let (shared, mut lines) = shared(10);
        let task = tokio::spawn(follow(Some(File::from(OwnedFd::from(ours))), shared));
        let uptime = monotonic() / 1000 - 5_000_000;
        kernel.send(b"6,1,5,-;mlx5_core 0000:01:00.0: firmware version").unwrap();
        let record = format!(
            "3,2,{uptime},-;rdma_rxe: qp#17 moved to error state\n SUBSYSTEM=pci\n DEVICE=+x\n"
        );
        kernel.send(record.as_bytes()).unwrap();
        let line = lines.recv().await.unwrap();
        assert_eq!((&*line.source, line.number), ("kmsg", 2));
        assert_eq!(line.line, record.lines().next().unwrap().as_bytes().into());
        let age = now().since(line.time).as_secs_f64();
        assert!((4.9..20.0).contains(&age), "{age}");
        task.abort();
    }

    #[test]
    fn ages_of_records() {
        assert_eq!(age(b"6,1,5,-;x", 7000), Some(2000));
        for record in [
            &b""[..],
            b"6,1,5",
            b"6,1;x",
            b"6,1,x,-;x",
            b"6,1,99999999999999999999,-;x",
            b"6,1,8,-;x",
        ] {
            assert_eq!(age(record, 7000), None);
        }
    }

    #[test]
    fn a_device_that_is_not_there_is_counted() {
        let counters = LogCounters::default();
        assert!(open(Path::new("/no/such/device"), &counters).is_none());
        assert_eq!(counters.get(LogCounter::Unreadable), 1);
    }
}
