//! Sends finished frames through an interface, and says exactly how many went.
//!
//! Frames bypass the queueing discipline (`PACKET_QDISC_BYPASS`) unless asked otherwise, and go out
//! in batches (`sendmmsg`). Needs root, like every `AF_PACKET` socket.

mod counters;
mod cpus;
mod pace;
mod socket;

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};

use counters::DropCounter;
pub use cpus::{allowed_cpus, send_on_cpus};
pub use pace::Pace;
use socket::{PacketSocket, Path};

/// Frames handed over in one system call.
const BATCH: usize = 64;
/// How long the interface may refuse every frame before sending fails.
const PATIENCE: Duration = Duration::from_secs(2);
const BACKOFF: Duration = Duration::from_micros(50);

/// What was sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sent {
    /// Frames the interface took.
    pub frames: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Times a full queue refused a frame; it was sent again.
    pub refused: u64,
    /// Frames that the interface took and then dropped by its own counter, for instance because
    /// the queue of a veth peer was full. Other senders on the same interface count here too.
    pub dropped: u64,
    /// Time taken.
    pub elapsed: Duration,
}

impl Sent {
    /// Frames a second.
    pub fn rate(&self) -> f64 {
        self.frames as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// Frames that went through.
    pub const fn delivered(&self) -> u64 {
        self.frames - self.dropped
    }
}

/// Sends through one interface. Stays in the namespace of the thread that opened it.
#[derive(Debug)]
pub struct Sender {
    interface: String,
    socket: PacketSocket,
    drops: DropCounter,
}

impl Sender {
    /// Opens a sender on `interface` in the calling thread's namespace.
    ///
    /// # Errors
    /// When the interface does not exist or the caller is not root.
    pub fn open(interface: &str) -> Result<Self> {
        Self::open_with(interface, Path::Bypass)
    }

    /// As [`Sender::open`], but frames pass the TC egress programs of the interface.
    ///
    /// Only their Ethernet header is sure to be in the linear part of what those programs see.
    ///
    /// # Errors
    /// Those of [`Sender::open`].
    pub fn open_through_tc(interface: &str) -> Result<Self> {
        Self::open_with(interface, Path::Queue)
    }

    fn open_with(interface: &str, path: Path) -> Result<Self> {
        let socket = PacketSocket::open(interface, path)
            .with_context(|| format!("opening a packet socket on {interface}"))?;
        let drops = DropCounter::open(interface)?;
        Ok(Self { interface: interface.to_owned(), socket, drops })
    }

    /// Sends every frame, in order.
    ///
    /// # Errors
    /// When the interface is down or refuses every frame for two seconds, or a frame is longer
    /// than its MTU allows or shorter than an Ethernet header. The message says which frame.
    pub fn send<I>(&mut self, frames: I, pace: Pace) -> Result<Sent>
    where
        I: IntoIterator,
        I::Item: AsRef<[u8]>,
    {
        self.send_in_batches(frames, pace, BATCH)
    }

    /// Sends every frame as soon as the iterator yields it, so that the iterator sets the pace.
    ///
    /// # Errors
    /// Those of [`Sender::send`].
    pub fn send_each<I>(&mut self, frames: I) -> Result<Sent>
    where
        I: IntoIterator,
        I::Item: AsRef<[u8]>,
    {
        self.send_in_batches(frames, Pace::Unlimited, 1)
    }

    fn send_in_batches<I>(&mut self, frames: I, pace: Pace, batch: usize) -> Result<Sent>
    where
        I: IntoIterator,
        I::Item: AsRef<[u8]>,
    {
        let before = self.drops.read()?;
        let mut sent = self.send_uncounted(frames, pace, batch)?;
        sent.dropped = self.drops.read()?.saturating_sub(before + sent.refused);
        Ok(sent)
    }

    /// As [`Sender::send`] with at most `batch` frames a system call, leaving `dropped` 0.
    fn send_uncounted<I>(&self, frames: I, pace: Pace, batch: usize) -> Result<Sent>
    where
        I: IntoIterator,
        I::Item: AsRef<[u8]>,
    {
        let start = Instant::now();
        let mut sent = Sent::default();
        let mut frames = frames.into_iter();
        let batch_size = pace.batch().min(batch);
        let mut batch = Vec::with_capacity(batch_size);
        loop {
            batch.clear();
            batch.extend(frames.by_ref().take(batch_size));
            if batch.is_empty() {
                break;
            }
            self.send_batch(&batch, &mut sent)?;
            pace.wait(start, sent.frames);
        }
        sent.elapsed = start.elapsed();
        Ok(sent)
    }

    fn send_batch<F: AsRef<[u8]>>(&self, batch: &[F], sent: &mut Sent) -> Result<()> {
        let mut left = batch;
        let mut refused_since: Option<Instant> = None;
        while let Some(first) = left.first() {
            match self.socket.send(left) {
                Ok(count) => {
                    let (gone, rest) = left.split_at(count);
                    sent.frames += count as u64;
                    sent.bytes += gone.iter().map(|frame| frame.as_ref().len() as u64).sum::<u64>();
                    left = rest;
                    refused_since = None;
                }
                Err(error) if is_refusal(&error) => {
                    // Only ENOBUFS is counted by the interface as a drop of its own.
                    sent.refused += u64::from(error.raw_os_error() == Some(libc::ENOBUFS));
                    let since = *refused_since.get_or_insert_with(Instant::now);
                    if since.elapsed() > PATIENCE {
                        return Err(anyhow!(error)).with_context(|| {
                            format!(
                                "{} took no frame for {PATIENCE:?}: its peer is down or its queue stays full",
                                self.interface
                            )
                        });
                    }
                    thread::sleep(BACKOFF);
                }
                Err(error) => {
                    let (number, length) = (sent.frames, first.as_ref().len());
                    return Err(error).with_context(|| {
                        format!("sending frame {number} ({length} bytes) to {}", self.interface)
                    });
                }
            }
        }
        Ok(())
    }
}

/// Whether the kernel may take the same frame a moment later.
fn is_refusal(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOBUFS | libc::EAGAIN | libc::EINTR))
}
