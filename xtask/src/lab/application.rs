//! The RDMA application of the lab: `roce-verbs`.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::Host;
use crate::vm::SHARED;

/// One side of a connection.
#[derive(Debug)]
pub(crate) struct Application {
    child: Child,
    events: Receiver<Value>,
    name: String,
}

/// A failed work completion, as the application saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// Nanoseconds since 1970.
    pub(crate) time: u64,
    /// `enum ibv_wc_status`.
    pub(crate) status: u64,
}

impl Application {
    /// Starts a side on `host`: `words` are the role and its options, its events are also written
    /// to `FOLDER/NAME.jsonl`.
    pub(crate) fn start(host: Host, name: &str, folder: &Path, words: &[String]) -> Result<Self> {
        let (role, options) = words.split_first().context("an application without a role")?;
        let mut child = Command::new(Path::new(SHARED).join("bin/roce-verbs"))
            .arg(role)
            .args(["--device", host.device(), "--address", &host.address().to_string()])
            .args(options)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(folder.join(format!("{name}.stderr")))?)
            .spawn()
            .context("cannot run roce-verbs")?;
        let output = child.stdout.take().context("roce-verbs has no output")?;
        let mut copy = File::create(folder.join(format!("{name}.jsonl")))?;
        let (sender, events) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let _ = writeln!(copy, "{line}"); // for people
                let event = serde_json::from_str(&line).unwrap_or(Value::Null);
                if sender.send(event).is_err() {
                    break;
                }
            }
        });
        Ok(Self { child, events, name: name.to_owned() })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for an event of this name; others before it are passed over.
    pub(crate) fn wait_for(&mut self, event: &str, limit: Duration) -> Result<Value> {
        self.find(event, limit)?
            .with_context(|| format!("{} did not say {event:?} within {limit:?}", self.name))
    }

    /// Its failure, if it comes in time.
    pub(crate) fn failure(&mut self, limit: Duration) -> Result<Option<Failure>> {
        let found = self.find("failed", limit)?;
        Ok(found.and_then(|event| {
            Some(Failure { time: event["t"].as_u64()?, status: event["status"].as_u64()? })
        }))
    }

    fn find(&mut self, name: &str, limit: Duration) -> Result<Option<Value>> {
        let deadline = Instant::now() + limit;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.events.recv_timeout(left) {
                Ok(event) if event["event"] == name => return Ok(Some(event)),
                Ok(_) => {}
                Err(mpsc::RecvTimeoutError::Timeout) => return Ok(None),
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    let status = self.child.wait()?;
                    bail!("{} ended ({status}) without saying {name:?}", self.name);
                }
            }
        }
    }

    /// Waits until it ends by itself.
    pub(crate) fn finish(mut self) -> Result<()> {
        let status = self.child.wait().context("cannot wait for roce-verbs")?;
        ensure!(status.success(), "{} ended with {status}", self.name);
        Ok(())
    }

    /// Kills it, as the kernel or a person would.
    pub(crate) fn kill(mut self) -> Result<()> {
        self.child.kill().and_then(|()| self.child.wait()).context("cannot kill roce-verbs")?;
        Ok(())
    }
}

impl Drop for Application {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a signal to a child that has not been waited for.
pub(super) fn signal(child: &Child, number: i32) {
    // SAFETY: kill takes plain integers. The child has not been waited for, so the id is its.
    unsafe { libc::kill(child.id().cast_signed(), number) };
}
