//! The first process of a guest.

use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{self, Command};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::process::run as must;
use crate::vm::{ORDER, SHARED, SPOKEN, STATUS};

/// File systems that a program expects: type, place, options.
const MOUNTS: [[&str; 3]; 6] = [
    ["devpts", "/dev/pts", "rw"],
    ["tmpfs", "/dev/shm", "rw"],
    ["tracefs", "/sys/kernel/tracing", "rw"],
    ["bpf", "/sys/fs/bpf", "rw"],
    ["cgroup2", "/sys/fs/cgroup", "rw"],
    ["debugfs", "/sys/kernel/debug", "rw"],
];

/// Carries out the order and powers off, whatever happens.
pub(super) fn run() -> Result<()> {
    ensure!(process::id() == 1, "vm-guest boot is for the first process of a guest");
    let status = carry_out().unwrap_or_else(|error| {
        println!("{SPOKEN}error: {error:#}");
        255
    });
    let written = fs::write(Path::new(SHARED).join(STATUS), format!("{status}\n"));
    if let Err(error) = written {
        println!("{SPOKEN}cannot write the status: {error}");
    }
    power_off()
}

fn carry_out() -> Result<i32> {
    let text = fs::read(Path::new(SHARED).join(ORDER)).context("there is no order")?;
    let order: Value = serde_json::from_slice(&text).context("the order is no JSON")?;
    let modules = PathBuf::from(order["modules"].as_str().context("the order names no modules")?);
    let arguments: Vec<_> =
        order["arguments"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    mount_all(&modules)?;
    let own = env::current_exe().context("this program has no path")?;
    let status = Command::new(own)
        .args(arguments)
        .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
        .env("HOME", "/root")
        .current_dir("/")
        .status()
        .context("cannot run what was ordered")?;
    Ok(status.code().unwrap_or(254))
}

fn mount_all(modules: &Path) -> Result<()> {
    for [kind, place, options] in MOUNTS {
        if fs::create_dir_all(place).is_ok() {
            // Not every kernel has every one; what misses it says so.
            let _ = Command::new("mount").args(["-t", kind, "-o", options, kind, place]).status();
        }
    }
    let version = modules.file_name().context("the folder of modules has no version")?;
    let place = Path::new("/lib/modules").join(version);
    fs::create_dir_all(&place).with_context(|| format!("cannot create {}", place.display()))?;
    must(Command::new("mount").arg("--bind").args([modules, &place]))?;
    fs::create_dir_all("/run/netns")?;
    let _ = symlink("/proc/self/fd", "/dev/fd"); // it may be there
    must(Command::new("ip").args(["link", "set", "lo", "up"]))
}

fn power_off() -> Result<()> {
    // SAFETY: sync takes no argument and touches no memory of ours.
    unsafe { libc::sync() };
    // SAFETY: reboot takes a plain integer; power-off does not return when it succeeds.
    unsafe { libc::reboot(libc::RB_POWER_OFF) };
    bail!("cannot power off")
}
