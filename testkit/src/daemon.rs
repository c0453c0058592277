//! A program with an HTTP server in a namespace, which ends with its value.

use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::http::{self, Response};
use crate::netns::Namespace;

/// Time that a daemon has to answer after its start, and to end after SIGTERM.
const PATIENCE: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(50);
/// Bytes of output that are shown.
const MAX_OUTPUT: u64 = 64 << 10;

/// A running daemon. Dropping it stops it; it also dies with the thread that started it.
#[derive(Debug)]
pub struct Daemon<'a> {
    namespace: &'a Namespace,
    name: String,
    address: SocketAddr,
    child: Child,
    output: File,
}

impl<'a> Daemon<'a> {
    /// Starts `command`, which [`Namespace::command`] of `namespace` made, and waits until `ready`
    /// is answered with status 200.
    ///
    /// Its output goes to a file of this value. It gets a process group of its own, so that Ctrl-C
    /// in a terminal is the caller's to deal with.
    ///
    /// # Errors
    /// When it does not start, ends at once, or does not get ready within 30 seconds. The message
    /// holds its output.
    pub fn start(
        namespace: &'a Namespace,
        mut command: Command,
        address: SocketAddr,
        ready: &str,
    ) -> Result<Self> {
        let name = command
            .get_args()
            .nth(3) // ip netns exec NAME PROGRAM
            .map_or_else(String::new, |program| program.to_string_lossy().into_owned());
        let output = tempfile::tempfile().context("creating a file for the output of a daemon")?;
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output.try_clone()?);
        command.process_group(0);
        // SAFETY: the closure runs between fork and exec and makes one system call, which is
        // async-signal-safe and touches no memory.
        unsafe { command.pre_exec(end_with_parent) };
        let child = command.spawn().with_context(|| format!("starting {name}"))?;
        let mut daemon = Self { namespace, name, address, child, output };
        daemon.wait_until_ready(ready)?;
        Ok(daemon)
    }

    /// Process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Asks for `path`.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn get(&self, path: &str) -> Result<Response> {
        self.get_with(path, &[])
    }

    /// Asks for `path` with `headers`.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn get_with(&self, path: &str, headers: &[(&str, &str)]) -> Result<Response> {
        self.namespace.run(|| http::get(self.address, path, headers))?
    }

    /// What it printed; of a long output the end.
    pub fn output(&self) -> String {
        let len = self.output.metadata().map_or(0, |metadata| metadata.len());
        let start = len.saturating_sub(MAX_OUTPUT);
        let mut bytes = vec![0; (len - start) as usize];
        // At an offset of our own: the child writes at the one that it shares with this file.
        match self.output.read_exact_at(&mut bytes, start) {
            Ok(()) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) => format!("(its output cannot be read: {error})"),
        }
    }

    /// Ends it by SIGTERM, or by SIGKILL when that takes too long, and returns how it ended.
    ///
    /// # Errors
    /// When it had to be killed.
    pub fn stop(mut self) -> Result<ExitStatus> {
        self.terminate()
    }

    fn wait_until_ready(&mut self, path: &str) -> Result<()> {
        let start = Instant::now();
        loop {
            let name = &self.name;
            if let Some(status) = self.child.try_wait()? {
                bail!("{name} ended at once ({status}):\n{}", self.output().trim());
            }
            let answer = self.get(path);
            if answer.as_ref().is_ok_and(|response| response.status == 200) {
                return Ok(());
            }
            if start.elapsed() > PATIENCE {
                let output = self.output();
                bail!(
                    "{name} is not ready after {PATIENCE:?}, its answer: {answer:?}\n{}",
                    output.trim()
                );
            }
            thread::sleep(POLL);
        }
    }

    fn terminate(&mut self) -> Result<ExitStatus> {
        if let Some(status) = self.child.try_wait()? {
            return Ok(status);
        }
        // SAFETY: kill takes plain integers. The child has not been waited for, so the id is its.
        unsafe { libc::kill(self.child.id().cast_signed(), libc::SIGTERM) };
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            thread::sleep(POLL);
        }
        self.child.kill().and_then(|()| self.child.wait())?;
        bail!("{} did not end within {PATIENCE:?} after SIGTERM and was killed", self.name)
    }
}

impl Drop for Daemon<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.terminate() {
            eprintln!("{error:#}");
        }
    }
}

/// Asks the kernel to kill the calling process when the thread that forked it ends.
fn end_with_parent() -> io::Result<()> {
    // SAFETY: prctl with these arguments takes plain integers.
    let outcome = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
