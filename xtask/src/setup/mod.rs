//! `cargo xtask setup`: finds or installs the tools that are not in the repository.

pub(crate) mod apt;
mod linker;
pub(crate) mod peers;
mod toolchain;

use anyhow::{Result, bail};
use roce_ebpf_object::{LINKER_VERSION, Repository};

use crate::table;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Also install what the tests need
    #[arg(long)]
    test_tools: bool,
}

/// One line of the closing table.
pub(crate) struct Line {
    tool: String,
    state: &'static str,
    detail: String,
}

impl Line {
    fn ok(tool: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { tool: tool.into(), state: "ok", detail: detail.into() }
    }

    /// Not usable, and nothing depends on it.
    fn unused(tool: impl Into<String>, error: &anyhow::Error) -> Self {
        Self { tool: tool.into(), state: "not usable", detail: format!("{error:#}") }
    }

    fn missing(tool: impl Into<String>, error: &anyhow::Error) -> Self {
        Self { tool: tool.into(), state: "MISSING", detail: format!("{error:#}") }
    }
}

pub(crate) fn run(repository: &Repository, arguments: &Arguments) -> Result<()> {
    let mut lines = Vec::new();
    toolchain::ensure(&mut lines);
    lines.push(match linker::ensure(repository) {
        Ok(path) => Line::ok("bpf-linker", format!("{LINKER_VERSION}, {}", path.display())),
        Err(error) => Line::missing("bpf-linker", &error),
    });
    if arguments.test_tools {
        peers::ensure_all(repository, &mut lines);
    }
    let rows: Vec<_> = lines
        .iter()
        .map(|line| [line.tool.clone(), line.state.to_owned(), line.detail.replace('\n', " ")])
        .collect();
    table::print(["tool", "state", "detail"], &rows);
    let missing: Vec<_> = lines
        .iter()
        .filter(|line| line.state == "MISSING")
        .map(|line| line.tool.as_str())
        .collect();
    if !missing.is_empty() {
        bail!("missing: {}", missing.join(", "));
    }
    Ok(())
}
