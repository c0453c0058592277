//! The collector under test.

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use roce_testkit::http;
use serde_json::Value;

use super::Host;
use super::application::signal;
use crate::vm::SHARED;

const ADDRESS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 9977);
/// The verifier takes a minute and more under emulation on a busy machine.
const PATIENCE: Duration = Duration::from_mins(4);
const POLL: Duration = Duration::from_millis(100);

/// A running collector that looks at both hosts.
#[derive(Debug)]
pub(crate) struct Collector {
    child: Child,
    log: PathBuf,
}

impl Collector {
    /// Starts it with these logs to read, and waits until it is ready. Its own log is
    /// `FOLDER/collector.log`.
    pub(crate) fn start(folder: &Path, log_source: &Path) -> Result<Self> {
        let log = folder.join("collector.log");
        let interfaces = Host::BOTH.map(Host::interface).join(",");
        let child = Command::new(Path::new(SHARED).join("bin/roce-collector"))
            .args(["--iface", &interfaces, "--listen", &ADDRESS.to_string()])
            .args(["--max-flows", "4096", "--log-format", "json"])
            .arg("--log-source")
            .arg(log_source)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log)?)
            .spawn()
            .context("cannot run roce-collector")?;
        let mut collector = Self { child, log };
        collector.wait_until_ready()?;
        Ok(collector)
    }

    fn wait_until_ready(&mut self) -> Result<()> {
        let start = Instant::now();
        loop {
            if http::get(ADDRESS, "/readyz", &[]).is_ok_and(|it| it.status == 200) {
                return Ok(());
            }
            if let Some(status) = self.child.try_wait()? {
                bail!("the collector ended at once ({status}):\n{}", self.text());
            }
            if start.elapsed() > PATIENCE {
                bail!("the collector is not ready after {PATIENCE:?}:\n{}", self.text());
            }
            thread::sleep(POLL);
        }
    }

    /// The answer to `path`.
    pub(crate) fn get(path: &str) -> Result<Value> {
        let text = http::get(ADDRESS, path, &[])?.ok()?;
        serde_json::from_str(&text).with_context(|| format!("{path} is no JSON"))
    }

    /// Its own log, JSON lines.
    pub(crate) fn log(&self) -> &Path {
        &self.log
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Ends it by SIGTERM.
    pub(crate) fn stop(mut self) -> Result<()> {
        signal(&self.child, libc::SIGTERM);
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if let Some(status) = self.child.try_wait()? {
                if !status.success() {
                    bail!("the collector ended with {status}:\n{}", self.text());
                }
                return Ok(());
            }
            thread::sleep(POLL);
        }
        bail!("the collector did not end within {PATIENCE:?} after SIGTERM")
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
