//! bpf-linker: turns the compiler's bitcode into a BPF object.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::repository::Repository;

/// The version in use. Later ones need LLVM development packages.
pub const LINKER_VERSION: &str = "0.10.3";

/// An installed bpf-linker of the right version.
#[derive(Clone, Debug)]
pub struct Linker {
    /// Path of the program.
    pub path: PathBuf,
}

impl Linker {
    /// The linker in the repository's own tools, else the first in `PATH`.
    ///
    /// # Errors
    /// When there is none, or only one of another version.
    pub fn find(repository: &Repository) -> Result<Self> {
        let path = env::var_os("PATH").unwrap_or_default();
        let folders = [repository.tools().join("bin")].into_iter().chain(env::split_paths(&path));
        let mut rejected = String::new();
        for path in folders.map(|folder| folder.join("bpf-linker")).filter(|path| path.is_file()) {
            match Self::inspect(&path) {
                Ok(linker) => return Ok(linker),
                Err(error) => rejected = format!(" ({error:#})"),
            }
        }
        bail!("bpf-linker {LINKER_VERSION} is not installed{rejected}; run `cargo xtask setup`")
    }

    fn inspect(path: &Path) -> Result<Self> {
        let output = Command::new(path)
            .arg("--version")
            .output()
            .with_context(|| format!("cannot run {}", path.display()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let version = text.split_whitespace().nth(1).unwrap_or("unknown");
        ensure!(version == LINKER_VERSION, "{} is version {version}", path.display());
        Ok(Self { path: path.to_owned() })
    }
}
