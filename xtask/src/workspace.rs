//! The checkout, and what cargo says about its packages.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use roce_ebpf_object::Repository;
use serde_json::Value;

use crate::process;

/// The checkout that this program was built in.
pub(crate) fn repository() -> Result<Repository> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    Repository::at(manifest.parent().context("xtask has no parent folder")?)
}

/// An integration test of a workspace crate.
#[derive(Clone, Debug)]
pub(crate) struct TestTarget {
    pub(crate) package: String,
    pub(crate) name: String,
    /// Whether plain `cargo test` runs it.
    pub(crate) by_default: bool,
    pub(crate) path: PathBuf,
}

/// The integration tests of the workspace.
pub(crate) fn test_targets(repository: &Repository) -> Result<Vec<TestTarget>> {
    let text = process::output(process::cargo().current_dir(repository.root()).args([
        "metadata",
        "--locked",
        "--no-deps",
        "--format-version",
        "1",
    ]))?;
    let metadata: Value = serde_json::from_str(&text).context("cargo metadata is not JSON")?;
    let list = |value: &Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
    let mut found = Vec::new();
    for package in list(&metadata, "packages") {
        for target in list(&package, "targets") {
            if list(&target, "kind").iter().any(|kind| kind == "test") {
                let text =
                    |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
                found.push(TestTarget {
                    package: text(&package, "name"),
                    name: text(&target, "name"),
                    by_default: target["test"] == true,
                    path: text(&target, "src_path").into(),
                });
            }
        }
    }
    Ok(found)
}
