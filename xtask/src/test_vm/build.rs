//! The programs that guests run.

use std::path::PathBuf;

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
    Ok(target.join("debug/roce-verbs"))
}

/// For the bindings of libibverbs, and what loads at run time: the library and its soft-RoCE driver.
const VERBS_PACKAGES: [&str; 3] = ["cmake", "libclang-dev", "ibverbs-providers"];
