//! One CPU, and the time a thread spends on it.

use std::io;
use std::mem;
use std::time::Duration;

use anyhow::{Context, Result};

/// Keeps this thread on one CPU.
pub(super) fn pin(cpu: usize) -> Result<()> {
    // SAFETY: a CPU set is a plain bit array, and all zero is an empty one.
    let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
    if cpu < libc::CPU_SETSIZE as usize {
        // SAFETY: the index is below the size of the set.
        unsafe { libc::CPU_SET(cpu, &mut set) };
    }
    // SAFETY: the set is alive during the call and its size is the one given.
    let result =
        unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) };
    if result != 0 {
        return Err(io::Error::last_os_error()).with_context(|| format!("cannot run on CPU {cpu}"));
    }
    Ok(())
}

/// CPU time of this thread so far. Time in which others had the CPU does not count.
pub(super) fn thread_time() -> Result<Duration> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one timespec to the place given.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    if result != 0 {
        return Err(io::Error::last_os_error()).context("cannot read the thread's CPU time");
    }
    Ok(Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

/// CPU time that `work` takes, and what it returns.
pub(super) fn time<T>(work: impl FnOnce() -> Result<T>) -> Result<(Duration, T)> {
    let before = thread_time()?;
    let value = work()?;
    Ok((thread_time()?.saturating_sub(before), value))
}
