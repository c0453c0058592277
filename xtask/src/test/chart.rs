//! The Helm chart, judged by helm and by the schemas of Kubernetes.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use roce_ebpf_object::Repository;

use crate::process;
use crate::setup::peers;

const CHART: &str = "deploy/helm/roce-collector";

/// The values that only use what plain Kubernetes knows: no resources of the Prometheus operator.
const PLAIN_VALUES: &str = "minimal-values.yaml";

/// Oldest and newest Kubernetes that the chart is for.
const KUBERNETES: [&str; 2] = ["1.25.16", "1.35.0"];

pub(super) fn renders(repository: &Repository) -> Result<()> {
    let values = values(repository)?;
    ensure!(!values.is_empty(), "{CHART}/ci holds no values");
    for file in values {
        process::output(helm(repository)?.args(["lint", "--strict", CHART, "-f"]).arg(&file))?;
        render(repository, &file)?;
    }
    Ok(())
}

pub(super) fn accepted(repository: &Repository) -> Result<()> {
    let manifests =
        render(repository, &repository.root().join(CHART).join("ci").join(PLAIN_VALUES))?;
    let file = tempfile::Builder::new().suffix(".yaml").tempfile().context("no temporary file")?;
    fs::write(file.path(), manifests).context("cannot write the manifests")?;
    let validate = peers::validate(repository)?;
    for version in KUBERNETES {
        let arguments = ["--strict", "--kubernetes-version", version];
        process::output(Command::new(&validate).args(arguments).arg(file.path()))?;
    }
    Ok(())
}

pub(super) fn refuses_no_interface(repository: &Repository) -> Result<()> {
    let output =
        helm(repository)?.args(["template", "roce", CHART]).output().context("cannot run helm")?;
    let message = String::from_utf8_lossy(&output.stderr);
    ensure!(
        !output.status.success() && message.contains("ifaces is empty"),
        "helm rendered a chart without interfaces, or gave another reason: {message}"
    );
    Ok(())
}

fn values(repository: &Repository) -> Result<Vec<PathBuf>> {
    let folder = repository.root().join(CHART).join("ci");
    let entries =
        fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    files.sort();
    Ok(files)
}

fn render(repository: &Repository, values: &PathBuf) -> Result<String> {
    process::output(helm(repository)?.args(["template", "roce", CHART, "-f"]).arg(values))
}

fn helm(repository: &Repository) -> Result<Command> {
    let mut command = Command::new(peers::helm(repository)?);
    command.current_dir(repository.root());
    Ok(command)
}
