//! Where things are in a checkout.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use crate::Object;

/// A checkout of the repository.
#[derive(Clone, Debug)]
pub struct Repository {
    root: PathBuf,
}

impl Repository {
    /// The checkout whose top folder is `root`.
    ///
    /// # Errors
    /// When `root` does not hold the eBPF sources, as in a package that was published alone.
    pub fn at(root: &Path) -> Result<Self> {
        ensure!(
            root.join("roce-ebpf/Cargo.toml").is_file() && root.join("Cargo.lock").is_file(),
            "{} is not a checkout of the repository (no roce-ebpf/Cargo.toml or Cargo.lock): \
             build inside a git clone, or set ROCE_EBPF to a compiled object",
            root.display()
        );
        Ok(Self { root: root.to_owned() })
    }

    /// Top folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The committed object.
    pub fn prebuilt_object(&self, object: Object) -> PathBuf {
        self.root.join("roce-ebpf/prebuilt").join(object.file_name())
    }

    /// The stamp of the committed object.
    pub fn prebuilt_stamp(&self, object: Object) -> PathBuf {
        self.prebuilt_object(object).with_extension("o.stamp")
    }

    /// Tools that `cargo xtask setup` installs: `bin/` below it.
    pub fn tools(&self) -> PathBuf {
        self.root.join("target/tools")
    }

    /// Target folder of the eBPF build. Not the workspace's own: cargo holds a lock on that one
    /// while a build script runs.
    pub fn ebpf_target(&self) -> PathBuf {
        self.root.join("target/ebpf")
    }
}
