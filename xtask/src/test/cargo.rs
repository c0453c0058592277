//! Tests that cargo runs.
//!
//! Always from the top folder and without `--package`, so that every tier builds the same features
//! and nothing is compiled twice.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use roce_ebpf_object::Repository;

use super::tally::Tally;
use crate::process;

/// Everything that plain `cargo test` runs.
pub(super) fn unit(repository: &Repository) -> Result<Tally> {
    run(repository, &[])
}

/// The property tests of the PSN engine over a million traces, and a log of 2 GiB.
pub(super) fn nightly(repository: &Repository) -> Result<Tally> {
    const TRACES: (&str, &str) = ("ROCE_TRACES", "1000000");
    const LOG: (&str, &str) = ("ROCE_LOG_BYTES", "2147483648");
    let traces = ["--release", "--package", "roce-common", "--test", "sequence"];
    let log = ["--release", "--package", "roce-collector", "--test", "incident_volume"];
    let log = [&log[..], &["--", "--nocapture"]].concat();
    let mut tally = run_with(repository, &traces, Some(TRACES))?;
    tally += run_with(repository, &log, Some(LOG))?;
    Ok(tally)
}

/// The test programs `targets`, one after the other and each with one thread: they share the
/// machine's interfaces and programs.
pub(super) fn alone(repository: &Repository, targets: &[&str]) -> Result<Tally> {
    let mut arguments: Vec<_> = targets.iter().flat_map(|name| ["--test", name]).collect();
    arguments.extend(["--", "--test-threads=1"]);
    run(repository, &arguments)
}

fn run(repository: &Repository, arguments: &[&str]) -> Result<Tally> {
    run_with(repository, arguments, None)
}

fn run_with(
    repository: &Repository,
    arguments: &[&str],
    variable: Option<(&str, &str)>,
) -> Result<Tally> {
    let mut child = process::cargo()
        .envs(variable)
        .current_dir(repository.root())
        .args(["test", "--quiet", "--locked", "--no-fail-fast"])
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot run cargo test")?;
    let output = child.stdout.take().context("cargo test has no output")?;
    let mut tally = Tally::default();
    for line in BufReader::new(output).split(b'\n') {
        let line = line.context("cannot read the output of cargo test")?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        tally += Tally::read(&line).unwrap_or_default();
    }
    let status = child.wait().context("cannot wait for cargo test")?;
    if !status.success() && tally.failed == 0 {
        // A test program that did not build, or died before its closing line.
        tally += Tally::one_failed();
    }
    ensure!(tally != Tally::default(), "cargo test ran no test");
    Ok(tally)
}
