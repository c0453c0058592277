//! perftest: an application that is not ours.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::Host;

const PROGRAM: &str = "ib_write_bw";
const POLL: Duration = Duration::from_millis(100);

/// A server on B and a client on A.
#[derive(Debug)]
pub(crate) struct Perftest {
    server: Child,
    client: Child,
}

impl Perftest {
    /// Starts both; what they print goes into `folder`.
    pub(crate) fn start(folder: &Path, options: &str) -> Result<Self> {
        let server = side(Host::B, folder, "perftest-server.txt", options)?
            .spawn()
            .context("cannot run perftest")?;
        // From here on an early return ends the server, too.
        let mut client = side(Host::A, folder, "perftest-client.txt", options)?;
        client.arg(Host::B.address().to_string());
        thread::sleep(Duration::from_secs(1));
        let mut perftest = Self { server, client: client.spawn().context("cannot run perftest")? };
        // It does not wait for a server that is late.
        for _ in 0..RETRIES {
            thread::sleep(Duration::from_secs(1));
            if perftest.client.try_wait()?.is_none_or(|status| status.success()) {
                return Ok(perftest);
            }
            perftest.client = client.spawn().context("cannot run perftest")?;
        }
        bail!("the client of perftest ends at once")
    }

    /// Process of the client.
    pub(crate) fn pid(&self) -> u32 {
        self.client.id()
    }

    /// Waits until both ended well.
    pub(crate) fn finish(&mut self, limit: Duration) -> Result<()> {
        let start = Instant::now();
        for child in [&mut self.client, &mut self.server] {
            let status = loop {
                if let Some(status) = child.try_wait()? {
                    break status;
                }
                ensure!(start.elapsed() < limit, "perftest is not through after {limit:?}");
                thread::sleep(POLL);
            };
            ensure!(status.success(), "perftest ended with {status}");
        }
        Ok(())
    }
}

impl Drop for Perftest {
    fn drop(&mut self) {
        for child in [&mut self.client, &mut self.server] {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

const RETRIES: u32 = 10;

fn side(host: Host, folder: &Path, file: &str, options: &str) -> Result<Command> {
    let output = File::create(folder.join(file))?;
    let mut command = Command::new(PROGRAM);
    command
        .args(["-F", "-d", host.device(), "-x", &gid_index(host)?.to_string()])
        .args(options.split_whitespace())
        .stdin(Stdio::null())
        .stderr(output.try_clone()?)
        .stdout(output);
    Ok(command)
}

/// Index of the RoCEv2 GID of a host's address.
fn gid_index(host: Host) -> Result<u32> {
    let port = format!("/sys/class/infiniband/{}/ports/1", host.device());
    let [a, b, c, d] = host.address().octets();
    let gid = format!("0000:0000:0000:0000:0000:ffff:{a:02x}{b:02x}:{c:02x}{d:02x}");
    let read = |name: String| fs::read_to_string(format!("{port}/{name}")).unwrap_or_default();
    let found = (0..16).find(|index| {
        read(format!("gids/{index}")).trim() == gid
            && read(format!("gid_attrs/types/{index}")).trim() == "RoCE v2"
    });
    found.with_context(|| format!("{} has no RoCEv2 GID for {}", host.device(), host.address()))
}
