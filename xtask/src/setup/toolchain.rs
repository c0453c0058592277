//! A compiler that can build `core` for the BPF target.

use std::process::Command;

use anyhow::{Context, Result, bail};
use roce_ebpf_object::{Candidate, LLVM_MAJOR, candidates};

use super::{Line, apt};
use crate::process;

/// A matching set in Debian 12 and later: compiler, cargo, library source, clippy.
const DEBIAN_PACKAGES: [&str; 4] = ["rustc-web", "cargo-web", "rust-web-src", "rust-web-clippy"];

/// The last nightly known to have the right LLVM, for machines that have none.
const KNOWN_NIGHTLY: &str = "nightly-2026-05-19";

/// A way to get a toolchain, and what it is called.
type Way = (&'static str, fn() -> Result<()>);

/// Finds a toolchain, else installs one. The distribution's matching pair comes first: it changes
/// nothing about the toolchains that the user has.
pub(super) fn ensure(lines: &mut Vec<Line>) {
    let ways: [Way; 3] = [
        ("Debian packages", || apt::install(&DEBIAN_PACKAGES)),
        ("rustup component add rust-src", add_component),
        ("rustup toolchain install", install_nightly),
    ];
    let mut attempts = Vec::new();
    let mut ways = ways.into_iter();
    loop {
        let found = candidates();
        if found.iter().any(|candidate| candidate.found.is_ok()) {
            lines.extend(attempts);
            lines.extend(found.into_iter().map(describe));
            return;
        }
        let Some((name, install)) = ways.next() else {
            lines.extend(attempts);
            lines.extend(found.into_iter().map(describe));
            let error =
                anyhow::anyhow!("install a nightly Rust with LLVM {LLVM_MAJOR} and rust-src");
            lines.push(Line::missing("eBPF toolchain", &error));
            return;
        };
        if let Err(error) = install() {
            attempts.push(Line::unused(name, &error));
        }
    }
}

fn describe(candidate: Candidate) -> Line {
    match candidate.found {
        Ok(toolchain) => Line::ok(candidate.name, format!("rustc {}", toolchain.version)),
        Err(error) => Line::unused(candidate.name, &error),
    }
}

fn add_component() -> Result<()> {
    let toolchains = process::output(rustup().args(["toolchain", "list"]))?;
    let nightly = toolchains
        .split_whitespace()
        .find(|name| name.starts_with("nightly"))
        .context("rustup has no nightly")?;
    rustup_without_retry(&["component", "add", "rust-src", "--toolchain", nightly])
}

fn install_nightly() -> Result<()> {
    let arguments =
        ["toolchain", "install", KNOWN_NIGHTLY, "--profile", "minimal", "--component", "rust-src"];
    rustup_without_retry(&arguments)
}

/// One try: a machine that cannot reach rustup's server should go on to the next way.
fn rustup_without_retry(arguments: &[&str]) -> Result<()> {
    let output = rustup()
        .args(arguments)
        .env("RUSTUP_MAX_RETRIES", "0")
        .output()
        .context("cannot run rustup")?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        let line = text.lines().find(|line| line.starts_with("error")).unwrap_or("rustup failed");
        bail!("{}", without_addresses(line));
    }
    Ok(())
}

/// rustup's messages name a long download address that says nothing more.
fn without_addresses(line: &str) -> String {
    line.split(' ').filter(|word| !word.contains("://")).collect::<Vec<_>>().join(" ")
}

fn rustup() -> Command {
    let mut command = Command::new("rustup");
    command.env_remove("RUSTUP_TOOLCHAIN");
    command
}
