//! tcpdump on a host's interface.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::Host;
use super::application::signal;

const PATIENCE: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(20);

/// A running capture of RoCE packets, cut to their headers.
#[derive(Debug)]
pub(crate) struct Capture {
    child: Child,
}

impl Capture {
    /// Captures what `host` sends and receives into `FOLDER/INTERFACE.pcap`.
    pub(crate) fn start(host: Host, folder: &Path) -> Result<Self> {
        let interface = host.interface();
        let said = folder.join(format!("{interface}.tcpdump"));
        let child = Command::new("tcpdump")
            .args(["-Z", "root", "-q", "-n", "-i", interface, "-s", "128", "-B", "16384"])
            // Without it the last second is missing at the end.
            .args(["--immediate-mode", "-w"])
            .arg(folder.join(format!("{interface}.pcap")))
            .arg("udp port 4791")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&said)?)
            .spawn()
            .context("cannot run tcpdump")?;
        let mut capture = Self { child };
        capture.wait_until_listening(&said)?;
        Ok(capture)
    }

    fn wait_until_listening(&mut self, said: &PathBuf) -> Result<()> {
        let start = Instant::now();
        loop {
            let text = fs::read_to_string(said).unwrap_or_default();
            if text.contains("listening on") {
                return Ok(());
            }
            if let Some(status) = self.child.try_wait()? {
                bail!("tcpdump ended at once ({status}): {}", text.trim());
            }
            if start.elapsed() > PATIENCE {
                bail!("tcpdump does not listen after {PATIENCE:?}: {}", text.trim());
            }
            thread::sleep(POLL);
        }
    }

    /// Ends it; what was captured is then in its file.
    pub(crate) fn stop(mut self) -> Result<()> {
        signal(&self.child, libc::SIGINT);
        self.child.wait().context("cannot wait for tcpdump").map(drop)
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        // Already gone after `stop`.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
