//! Packages of the distribution.

use std::process::Command;

use anyhow::{Result, bail};

use crate::process;

/// Installs `packages` with apt-get, or says which command would.
pub(crate) fn install(packages: &[&str]) -> Result<()> {
    let list = packages.join(" ");
    if process::find("apt-get").is_none() {
        bail!("this system has no apt-get; install what Debian calls: {list}");
    }
    if !process::is_root() {
        bail!("installing packages needs root: run `sudo apt-get install {list}`");
    }
    println!("installing {list}");
    if try_install(packages).is_err() {
        // The package lists may be empty or old.
        process::output(apt().arg("update"))?;
        try_install(packages)?;
    }
    Ok(())
}

fn try_install(packages: &[&str]) -> Result<()> {
    process::output(apt().args(["install", "--yes", "--no-install-recommends"]).args(packages))?;
    Ok(())
}

fn apt() -> Command {
    let mut command = Command::new("apt-get");
    command.arg("--quiet").env("DEBIAN_FRONTEND", "noninteractive");
    command
}
