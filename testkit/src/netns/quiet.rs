//! Keeps the kernel from sending frames of its own, so that a test sees only what it sent.

use std::fs;
use std::io;

use anyhow::{Context, Result};

const SETTINGS: [(&str, &str); 5] = [
    ("accept_dad", "0"),
    ("accept_ra", "0"),
    ("router_solicitations", "0"),
    // 1: no link-local address by itself, so no multicast listener reports from it.
    ("addr_gen_mode", "1"),
    ("dad_transmits", "0"),
];

/// Silences IPv6 on every interface that the calling thread's namespace will get.
///
/// A kernel without IPv6 is silent already.
pub(super) fn silence_ipv6() -> Result<()> {
    for scope in ["all", "default"] {
        for (name, value) in SETTINGS {
            write(&format!("/proc/sys/net/ipv6/conf/{scope}/{name}"), value)?;
        }
    }
    Ok(())
}

/// Turns IPv6 off on `interface`: the only way to stop its multicast listener reports.
pub(super) fn disable_ipv6(interface: &str) -> Result<()> {
    write(&format!("/proc/sys/net/ipv6/conf/{interface}/disable_ipv6"), "1")
}

fn write(path: &str, value: &str) -> Result<()> {
    match fs::write(path, value) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        outcome => outcome.with_context(|| format!("writing {value} to {path}")),
    }
}
