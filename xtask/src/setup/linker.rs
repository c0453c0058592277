//! bpf-linker, from source.

use std::path::PathBuf;

use anyhow::{Context, Result};
use roce_ebpf_object::{LINKER_VERSION, Linker, Repository};

use crate::process;

/// Finds bpf-linker, else builds it into the repository's own tools.
pub(super) fn ensure(repository: &Repository) -> Result<PathBuf> {
    if let Ok(linker) = Linker::find(repository) {
        return Ok(linker.path);
    }
    println!("building bpf-linker {LINKER_VERSION}: about a minute");
    process::output(
        process::cargo()
            .args(["install", "bpf-linker", "--version", LINKER_VERSION, "--locked", "--root"])
            .arg(repository.tools())
            .arg("--target-dir")
            .arg(repository.tools().join("build"))
            .env_remove("CARGO_TARGET_DIR"),
    )
    .context("cannot build bpf-linker")?;
    Ok(Linker::find(repository)?.path)
}
