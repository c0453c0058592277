//! Plays the frames of a capture into an interface.
//!
//! Reading the capture is somebody else's work: anything that yields frames will do.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::netns::Namespace;
use crate::send::{Pace, Sender, Sent};

/// Plays `frames` into `interface` of `namespace`, ignoring their times.
///
/// # Errors
/// Those of [`Sender::open`] and [`Sender::send`].
pub fn replay<I>(namespace: &Namespace, interface: &str, frames: I, pace: Pace) -> Result<Sent>
where
    I: IntoIterator + Send,
    I::Item: AsRef<[u8]>,
{
    namespace.run(|| Sender::open(interface)?.send(frames, pace))?
}

/// Plays `frames` into `interface` of `namespace`, each as long after the first as its time says,
/// `speed` times as fast. A time that goes back is due at once.
///
/// # Errors
/// Those of [`Sender::open`] and [`Sender::send`], and a `speed` that is not above 0.
pub fn replay_timed<I, F>(
    namespace: &Namespace,
    interface: &str,
    frames: I,
    speed: f64,
) -> Result<Sent>
where
    I: IntoIterator<Item = (Duration, F)> + Send,
    F: AsRef<[u8]>,
{
    ensure!(speed > 0.0, "a replay at {speed} times the speed would never end");
    namespace.run(|| {
        let mut sender = Sender::open(interface)?;
        let start = Instant::now();
        let mut first = None;
        sender.send_each(frames.into_iter().map(|(time, frame)| {
            let first = *first.get_or_insert(time);
            let due = time.saturating_sub(first).div_f64(speed);
            thread::sleep(due.saturating_sub(start.elapsed()));
            frame
        }))
    })?
}
