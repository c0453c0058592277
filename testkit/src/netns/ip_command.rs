//! Runs the `ip` command of iproute2.

use std::io;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Runs `ip` with `arguments`, separated by white space, and returns its standard output.
pub(super) fn ip(arguments: &str) -> Result<String> {
    let output = Command::new("ip")
        .args(arguments.split_whitespace())
        .stdin(Stdio::null())
        .output()
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                anyhow::anyhow!("the `ip` command is not there: install iproute2")
            }
            _ => error.into(),
        })
        .with_context(|| format!("ip {arguments}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("ip {arguments}: {}{}", said.trim(), root_hint());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// What to do about a refused operation: nothing to say when already root.
pub(super) fn root_hint() -> &'static str {
    // SAFETY: geteuid takes no arguments, touches no memory and cannot fail.
    let user = unsafe { libc::geteuid() };
    if user == 0 { "" } else { " (network namespaces need root: run this with sudo)" }
}
