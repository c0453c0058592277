//! One guest: boot, command, power-off.

use std::env;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::json;

use super::accelerator::Accelerator;
use super::{Kernel, initramfs};

/// The shared folder, as the guest sees it.
pub(crate) const SHARED: &str = "/run/vm";
/// What the guest shall do: JSON with the folder of its `modules` and the `arguments` of this program.
pub(crate) const ORDER: &str = "order.json";
/// How that ended.
pub(crate) const STATUS: &str = "status";
/// Begins the lines that a guest says to people; everything else is the kernel's.
pub(crate) const SPOKEN: &str = "vm: ";

const MEMORY_MIB: u32 = 3072;

/// A kernel and the folder that guests share with the host.
#[derive(Debug)]
pub(crate) struct Machine {
    kernel: Kernel,
    initramfs: PathBuf,
    shared: PathBuf,
    accelerator: Accelerator,
}

impl Machine {
    /// Prepares a guest. `programs` become visible in it at `/run/vm/bin`, as they are now.
    pub(crate) fn prepare(
        cache: &Path,
        kernel: Kernel,
        shared: PathBuf,
        programs: &[PathBuf],
    ) -> Result<Self> {
        let archive = cache.join(format!("initramfs-{}", kernel.version));
        initramfs::build(&kernel, &archive)?;
        let bin = shared.join("bin");
        fs::create_dir_all(&bin).with_context(|| format!("cannot create {}", bin.display()))?;
        let own = env::current_exe().context("this program has no path")?;
        for program in programs.iter().chain([&own]) {
            let name = program.file_name().context("a program without a name")?;
            // A copy: the original may be built anew while the guest runs.
            fs::copy(program, bin.join(name))
                .with_context(|| format!("cannot copy {}", program.display()))?;
        }
        let boot = Boot { kernel: &kernel, initramfs: &archive, shared: &shared };
        let accelerator = Accelerator::choose(cache, &boot)?;
        Ok(Self { kernel, initramfs: archive, shared, accelerator })
    }

    /// Boots, runs this program with `arguments` in the guest and returns its exit status.
    ///
    /// # Errors
    /// When the guest is not through within `limit`; it is then killed.
    pub(crate) fn run(&self, arguments: &[String], limit: Duration) -> Result<i32> {
        let status = self.shared.join(STATUS);
        let _ = fs::remove_file(&status);
        let order = json!({ "modules": self.kernel.modules(), "arguments": arguments });
        fs::write(self.shared.join(ORDER), order.to_string())
            .context("cannot write what a guest shall do")?;
        let version = &self.kernel.version;
        let mut boots = 0;
        let end = loop {
            boots += 1;
            let (ending, has_begun) = self.boot(limit)?;
            match ending {
                // An emulated CPU now and then stumbles over kernel code that another one rewrites.
                Ending::PoweredOff { spoken } if !has_begun && boots < MAX_BOOTS => {
                    let last = spoken.lines().last().unwrap_or_default();
                    println!("guest {version} ended while it booted ({last}): once more");
                }
                Ending::PoweredOff { spoken } => break spoken,
                Ending::Killed { spoken } => {
                    bail!(
                        "guest {version} was not through after {limit:?} and was killed:\n{spoken}"
                    )
                }
            }
        };
        let text = fs::read_to_string(&status)
            .with_context(|| format!("guest {version} ended without a status:\n{end}"))?;
        let status = text.trim().parse();
        if status != Ok(0) {
            println!("the last lines of the guest's console:\n{end}");
        }
        status.with_context(|| format!("guest {version} left the status {text:?}"))
    }
    /// Boots once. Also whether this program said anything in the guest.
    fn boot(&self, limit: Duration) -> Result<(Ending, bool)> {
        let log = self.shared.join("console.log");
        let mut log =
            fs::File::create(&log).with_context(|| format!("cannot create {}", log.display()))?;
        let start = Instant::now();
        let mut has_begun = false;
        let mut show = |line: &str| {
            let _ = writeln!(log, "{line}"); // a copy for people
            if let Some(spoken) = line.strip_prefix(SPOKEN) {
                has_begun = true;
                println!("[{:6.1} s] {spoken}", start.elapsed().as_secs_f64());
            }
        };
        let boot = Boot { kernel: &self.kernel, initramfs: &self.initramfs, shared: &self.shared };
        let ending = boot.run(self.accelerator, &[], limit, &mut show)?;
        Ok((ending, has_begun))
    }
}

/// Boots of one guest until it says something.
const MAX_BOOTS: u32 = 3;

/// What a boot takes.
pub(super) struct Boot<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) initramfs: &'a Path,
    pub(super) shared: &'a Path,
}

/// How a guest ended, with the last lines of its console.
pub(super) enum Ending {
    PoweredOff { spoken: String },
    Killed { spoken: String },
}

impl Boot<'_> {
    /// Runs QEMU until the guest powers off, for `limit` at most.
    pub(super) fn run(
        &self,
        accelerator: Accelerator,
        settings: &[&str],
        limit: Duration,
        show: &mut dyn FnMut(&str),
    ) -> Result<Ending> {
        let mut command = self.command(accelerator, settings)?;
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A guest must not outlive this program, whatever ends it.
        // SAFETY: the closure runs between fork and exec and makes one system call, which is
        // async-signal-safe and touches no memory.
        unsafe { command.pre_exec(end_with_parent) };
        let mut child = command.spawn().context("cannot run qemu-system-x86_64")?;
        let (sender, lines) = mpsc::channel();
        let console = child.stdout.take().context("QEMU has no output")?;
        let errors = child.stderr.take().context("QEMU has no errors")?;
        let readers = [follow(console, sender.clone()), follow(errors, sender)];
        let deadline = Instant::now() + limit;
        let mut last = Vec::new();
        let in_time = loop {
            match lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    show(&line);
                    last.push(line);
                    if last.len() > 2 * LAST_LINES {
                        last.drain(..LAST_LINES);
                    }
                }
                // Both outputs are closed: QEMU ends.
                Err(RecvTimeoutError::Disconnected) => break true,
                Err(RecvTimeoutError::Timeout) => break false,
            }
        };
        if !in_time {
            child.kill().context("cannot kill QEMU")?;
        }
        child.wait().context("cannot wait for QEMU")?;
        for reader in readers {
            // It has nothing more to read, and returns nothing.
            let _ = reader.join();
        }
        let spoken = last[last.len().saturating_sub(LAST_LINES)..].join("\n");
        Ok(if in_time { Ending::PoweredOff { spoken } } else { Ending::Killed { spoken } })
    }

    fn command(&self, accelerator: Accelerator, settings: &[&str]) -> Result<Command> {
        let cpus = thread::available_parallelism().map_or(1, usize::from).min(2);
        let line = "console=ttyS0 panic=-1 loglevel=4 mitigations=off nokaslr no_timer_check";
        let line = [&[line], settings].concat().join(" ");
        let shared = self.shared.display();
        let mut command = Command::new("qemu-system-x86_64");
        command
            .args(accelerator.arguments())
            .args(["-M", "q35", "-smp", &cpus.to_string(), "-m", &MEMORY_MIB.to_string()])
            .arg("-kernel")
            .arg(self.kernel.image()?)
            .arg("-initrd")
            .arg(self.initramfs)
            .args(["-append", &line])
            .args(["-display", "none", "-monitor", "none", "-serial", "stdio"])
            .args(["-no-reboot", "-nic", "none"])
            .args([
                "-virtfs",
                "local,path=/,mount_tag=root,security_model=none,readonly=on,multidevs=remap",
            ])
            .arg("-virtfs")
            .arg(format!("local,path={shared},mount_tag=shared,security_model=none"));
        Ok(command)
    }
}

/// Asks the kernel to kill the calling process when the thread that forked it ends.
fn end_with_parent() -> io::Result<()> {
    // SAFETY: prctl with these arguments takes plain integers.
    let outcome = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Lines of the console that an error shows.
const LAST_LINES: usize = 30;

/// Sends each line of `output`.
fn follow(
    output: impl io::Read + Send + 'static,
    sender: mpsc::Sender<String>,
) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line).trim_end().to_owned();
            if sender.send(line).is_err() {
                break;
            }
        }
    })
}
