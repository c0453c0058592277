//! The programs that the demo shows.

use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use roce_ebpf_object::Repository;
use serde_json::Value;

use crate::process;

pub(crate) struct Programs {
    pub(crate) collector: PathBuf,
    pub(crate) trace: PathBuf,
}

/// Builds them with the profile of the tests, so that nothing is compiled twice.
pub(crate) fn programs(repository: &Repository) -> Result<Programs> {
    println!("building roce-collector and roce-trace; in a new checkout this takes a few minutes");
    let output = process::cargo()
        .current_dir(repository.root())
        .args(["build", "--locked", "--bin", "roce-collector", "--bin", "roce-trace"])
        .arg("--message-format=json-render-diagnostics")
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .context("cannot run cargo build")?;
    ensure!(output.status.success(), "cargo build failed ({})", output.status);
    let messages = String::from_utf8_lossy(&output.stdout);
    let path = |name: &str| {
        executable(&messages, name).with_context(|| format!("cargo build made no {name}"))
    };
    Ok(Programs { collector: path("roce-collector")?, trace: path("roce-trace")? })
}

fn executable(messages: &str, name: &str) -> Option<PathBuf> {
    messages.lines().find_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        let is_it = message["target"]["name"] == name && message["target"]["kind"][0] == "bin";
        is_it.then(|| message["executable"].as_str().map(PathBuf::from))?
    })
}
