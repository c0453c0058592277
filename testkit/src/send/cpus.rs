//! Sending from several CPUs at once, each thread pinned to its own.

use std::io;
use std::mem;
use std::panic;
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result};

use super::counters::DropCounter;
use super::{BATCH, Pace, Sender, Sent};

/// Sends every part from a thread of its own, pinned to the CPU named with it; all start together.
///
/// On veth without receive packet steering, the CPU that sends is the CPU that receives, so this
/// is how a test makes one flow arrive on two CPUs. Give the veth as many queues as CPUs.
///
/// # Errors
/// Those of [`Sender`], and a CPU that this process may not use.
pub fn send_on_cpus<I>(interface: &str, parts: Vec<(usize, I)>, pace: Pace) -> Result<Sent>
where
    I: IntoIterator + Send,
    I::Item: AsRef<[u8]>,
{
    // Opened here, because a new thread need not be in the caller's namespace.
    let mut drops = DropCounter::open(interface)?;
    let mut senders = Vec::with_capacity(parts.len());
    for (cpu, frames) in parts {
        senders.push((cpu, frames, Sender::open(interface)?));
    }
    let before = drops.read()?;
    let start = Instant::now();
    let barrier = Barrier::new(senders.len());
    let outcomes: Vec<Result<Sent>> = thread::scope(|scope| {
        let threads: Vec<_> = senders
            .into_iter()
            .map(|(cpu, frames, sender)| {
                let barrier = &barrier;
                scope.spawn(move || {
                    let pinned = pin(cpu);
                    barrier.wait(); // also on failure: the others wait for everybody
                    pinned?;
                    sender.send_uncounted(frames, pace, BATCH)
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|payload| panic::resume_unwind(payload)))
            .collect()
    });
    let mut total = Sent::default();
    for outcome in outcomes {
        let part = outcome?;
        total.frames += part.frames;
        total.bytes += part.bytes;
        total.refused += part.refused;
    }
    total.elapsed = start.elapsed();
    total.dropped = drops.read()?.saturating_sub(before + total.refused);
    Ok(total)
}

/// CPUs this process may use, ascending.
///
/// # Errors
/// When the kernel does not say.
pub fn allowed_cpus() -> Result<Vec<usize>> {
    // SAFETY: cpu_set_t is plain old data, for which all-zero bytes are a valid (empty) set.
    let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
    // SAFETY: `set` is a cpu_set_t of the size given; pid 0 means the calling thread.
    let outcome = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) };
    if outcome != 0 {
        return Err(io::Error::last_os_error()).context("reading the allowed CPUs");
    }
    let all = 0..libc::CPU_SETSIZE as usize;
    // SAFETY: every index is below CPU_SETSIZE, the number of bits in the set.
    Ok(all.filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) }).collect())
}

/// Pins the calling thread to `cpu`.
fn pin(cpu: usize) -> Result<()> {
    anyhow::ensure!(cpu < libc::CPU_SETSIZE as usize, "CPU {cpu} is beyond what a mask can hold");
    // SAFETY: cpu_set_t is plain old data, for which all-zero bytes are a valid (empty) set.
    let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
    // SAFETY: `cpu` is below CPU_SETSIZE, checked above.
    unsafe { libc::CPU_SET(cpu, &mut set) };
    // SAFETY: `set` is a cpu_set_t of the size given; pid 0 means the calling thread.
    let outcome =
        unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) };
    if outcome == 0 {
        return Ok(());
    }
    Err(io::Error::last_os_error()).with_context(|| format!("pinning a sender to CPU {cpu}"))
}
