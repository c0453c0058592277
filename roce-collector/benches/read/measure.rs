//! What a child process used.

use std::io;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// One run of a program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) wall: Duration,
    /// In user and kernel mode, of all its threads.
    pub(crate) cpu: Duration,
    /// Largest resident set.
    pub(crate) peak_kib: u64,
}

/// Runs `command` to its end and throws away what it prints.
pub(crate) fn measure(mut command: Command) -> io::Result<Run> {
    let start = Instant::now();
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let pid = libc::pid_t::try_from(child.id()).map_err(io::Error::other)?;
    let mut status = 0;
    // SAFETY: rusage is plain numbers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are of live locals, and `child` was not waited for, so that the number is its.
    let waited = unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) };
    if waited != pid {
        return Err(io::Error::last_os_error());
    }
    if status != 0 {
        return Err(io::Error::other(format!("{command:?} failed with status {status:#x}")));
    }
    let time = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec as u64) + Duration::from_micros(time.tv_usec as u64)
    };
    let peak_kib = usage.ru_maxrss as u64;
    Ok(Run { wall: start.elapsed(), cpu: time(usage.ru_utime) + time(usage.ru_stime), peak_kib })
}
