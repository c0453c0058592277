//! `cargo xtask lint`: format, clippy, and rules of this repository that no tool knows.

mod code;
mod files;
mod length;

use anyhow::{Result, bail};
use roce_ebpf_object::{Repository, Toolchain, clippy};

use crate::{process, workspace};

/// A check and its name.
type Check = (&'static str, fn(&Repository) -> Result<()>);

const CHECKS: [Check; 6] = [
    ("length of files", length::check),
    ("unsafe, allow, ignore", code::check),
    ("what is committed", files::check),
    ("format", format),
    ("clippy", clippy_workspace),
    ("clippy of the eBPF programs", clippy_ebpf),
];

pub(crate) fn run(repository: &Repository) -> Result<()> {
    let mut failed = Vec::new();
    for (name, check) in CHECKS {
        match check(repository) {
            Ok(()) => println!("ok      {name}"),
            Err(error) => {
                println!("FAILED  {name}: {error:#}");
                failed.push(name);
            }
        }
    }
    if !failed.is_empty() {
        bail!("lint: {}", failed.join(", "));
    }
    Ok(())
}

fn format(repository: &Repository) -> Result<()> {
    process::run(
        process::cargo().current_dir(repository.root()).args(["fmt", "--all", "--check"]),
    )?;
    // Workspaces of their own.
    for manifest in ["fuzz/Cargo.toml", "testkit/verbs/Cargo.toml"] {
        let arguments = ["fmt", "--check", "--manifest-path"];
        let path = repository.root().join(manifest);
        process::run(process::cargo().args(arguments).arg(path))?;
    }
    Ok(())
}

/// `--all-targets` leaves out the tests that plain `cargo test` does not run, so they are named.
fn clippy_workspace(repository: &Repository) -> Result<()> {
    let by_hand: Vec<_> = workspace::test_targets(repository)?
        .into_iter()
        .filter(|target| !target.by_default)
        .flat_map(|target| ["--test".to_owned(), target.name])
        .collect();
    run_clippy(repository, &["--all-targets".to_owned()])?;
    if by_hand.is_empty() { Ok(()) } else { run_clippy(repository, &by_hand) }
}

fn run_clippy(repository: &Repository, targets: &[String]) -> Result<()> {
    process::run(
        process::cargo()
            .current_dir(repository.root())
            .args(["clippy", "--quiet", "--locked"])
            .args(targets)
            .args(["--", "-D", "warnings"]),
    )
}

fn clippy_ebpf(repository: &Repository) -> Result<()> {
    let checked = match Toolchain::find() {
        Ok(toolchain) => clippy(repository, &toolchain)?,
        Err(_) => false,
    };
    if !checked {
        println!("        the eBPF programs are not checked: no clippy for their toolchain");
    }
    Ok(())
}
