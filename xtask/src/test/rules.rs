//! Prometheus rules, judged by promtool.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use roce_ebpf_object::Repository;

use crate::process;

/// Where rules and dashboards are.
pub(super) fn folder(repository: &Repository) -> PathBuf {
    repository.root().join("dashboards")
}

pub(super) fn valid(repository: &Repository) -> Result<()> {
    promtool(repository, &["check", "rules", "alerts.yaml", "recording.yaml"])
}

pub(super) fn fire(repository: &Repository) -> Result<()> {
    let mut tests = Vec::new();
    for entry in
        fs::read_dir(folder(repository).join("tests")).context("cannot list dashboards/tests")?
    {
        tests.push(entry?.path().display().to_string());
    }
    tests.sort();
    ensure!(!tests.is_empty(), "dashboards/tests holds no test");
    let arguments: Vec<_> =
        ["test", "rules"].into_iter().chain(tests.iter().map(String::as_str)).collect();
    promtool(repository, &arguments)
}

pub(super) fn explained(repository: &Repository) -> Result<()> {
    let read = |name: &str| {
        fs::read_to_string(folder(repository).join(name))
            .with_context(|| format!("cannot read dashboards/{name}"))
    };
    let (alerts, runbooks) = (read("alerts.yaml")?, read("runbooks.md")?.to_lowercase());
    let mut alerts = alerts.split("- alert: ").skip(1).peekable();
    ensure!(alerts.peek().is_some(), "dashboards/alerts.yaml has no alert");
    for alert in alerts {
        let name = alert.lines().next().unwrap_or_default();
        let section = alert
            .split_once("runbooks.md#")
            .and_then(|(_, rest)| rest.split_whitespace().next())
            .with_context(|| format!("alert {name} has no link to runbooks.md"))?;
        let exists = runbooks.lines().any(|line| line == format!("## {section}"));
        ensure!(exists, "alert {name}: dashboards/runbooks.md has no section {section}");
    }
    Ok(())
}

/// Runs promtool in the folder of the rules.
pub(super) fn promtool(repository: &Repository, arguments: &[&str]) -> Result<()> {
    process::output(Command::new("promtool").current_dir(folder(repository)).args(arguments))
        .map(drop)
}
