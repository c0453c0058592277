//! The programs that guests run.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use roce_ebpf_object::Repository;

use crate::demo;
use crate::process;
use crate::setup::apt;

/// Builds them. `roce-verbs` only when there is something to fail.
pub(super) fn programs(repository: &Repository, with_verbs: bool) -> Result<Vec<PathBuf>> {
    let built = demo::build::programs(repository)?;
    let mut programs = vec![built.collector, built.trace];
    if with_verbs {
        programs.push(verbs(repository)?);
    }
    Ok(programs)
}

/// `roce-verbs` is a workspace of its own, so that nothing else needs what it is built with.
fn verbs(repository: &Repository) -> Result<PathBuf> {
    println!("building roce-verbs");
    let target = repository.root().join("target/verbs");
    let build = || {
        process::output(
            process::cargo()
                .current_dir(repository.root().join("testkit/verbs"))
                .args(["build", "--locked", "--target-dir"])
                .arg(&target),
        )
    };
    // It says clearly what it misses; asking for the libraries of a compiler is less sure.
    if build().is_err() {
        apt::install(&VERBS_PACKAGES)?;
        build().context("cannot build roce-verbs")?;
    }
    if !has_driver() {
        apt::install(&["ibverbs-providers"])?;
    }
    Ok(target.join("debug/roce-verbs"))
}

/// Whether libibverbs can drive soft-RoCE; it looks for drivers when it is loaded.
fn has_driver() -> bool {
    let library = Path::new("/usr/lib").join(format!("{}-linux-gnu/libibverbs", env::consts::ARCH));
    let names = fs::read_dir(library).into_iter().flatten().flatten();
    names.into_iter().any(|entry| entry.file_name().to_string_lossy().starts_with("librxe"))
}

/// For the bindings of libibverbs.
const VERBS_PACKAGES: [&str; 5] = ["cmake", "gcc", "libc6-dev", "libclang-dev", "make"];
