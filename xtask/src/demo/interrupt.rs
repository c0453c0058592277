//! Ctrl-C and its relatives end the demo in an orderly way.

use std::io;
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// How late an interruption may be noticed.
const POLL: Duration = Duration::from_millis(50);

/// Notes SIGINT, SIGTERM and SIGHUP instead of dying of them; the second one kills as usual.
pub(super) fn catch() -> Result<()> {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: sigaction is plain old data, for which all-zero bytes are a valid value.
        let mut action: libc::sigaction = unsafe { mem::zeroed() };
        action.sa_sigaction = note as *const () as usize;
        action.sa_flags = libc::SA_RESTART | libc::SA_RESETHAND;
        // SAFETY: `action` outlives the call, and its handler only stores to an atomic, which is
        // async-signal-safe.
        let outcome = unsafe { libc::sigaction(signal, &raw const action, ptr::null_mut()) };
        if outcome != 0 {
            return Err(io::Error::last_os_error()).context("catching signals");
        }
    }
    Ok(())
}

extern "C" fn note(_signal: libc::c_int) {
    INTERRUPTED.store(true, Ordering::Relaxed);
}

pub(super) fn is_interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// An error after a signal.
pub(super) fn check() -> Result<()> {
    ensure!(!is_interrupted(), "interrupted");
    Ok(())
}

/// Sleeps, not longer than until a signal.
pub(super) fn sleep(time: Duration) {
    let start = Instant::now();
    while !is_interrupted() && start.elapsed() < time {
        thread::sleep(POLL.min(time.saturating_sub(start.elapsed())));
    }
}
