//! Kernels from Debian packages: unpacked below `target/vm`, never installed.

use std::fmt;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use clap::builder::PossibleValue;

use super::mirror::Suite;
use crate::process;

/// A line of kernels, and the suite of Debian that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Release {
    /// Debian 12.
    V6_1,
    /// Debian 13.
    V6_12,
    /// Debian 13 backports.
    V7,
}

impl Release {
    /// The package that depends on the newest kernel of a suite.
    const PACKAGE: &str = "linux-image-amd64";

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::V6_1 => "6.1",
            Self::V6_12 => "6.12",
            Self::V7 => "7.3",
        }
    }

    fn suite(self) -> &'static str {
        match self {
            Self::V6_1 => "bookworm",
            Self::V6_12 => "trixie",
            Self::V7 => "trixie-backports",
        }
    }
}

impl ValueEnum for Release {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::V6_1, Self::V6_12, Self::V7]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name()))
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An unpacked kernel.
#[derive(Clone, Debug)]
pub(crate) struct Kernel {
    /// As `uname -r` says it.
    pub(crate) version: String,
    folder: PathBuf,
}

impl Kernel {
    /// The kernel of `release`, fetched when it is not yet below `cache`.
    pub(crate) fn ensure(cache: &Path, release: Release) -> Result<Self> {
        let folder = cache.join("kernels").join(release.name());
        if let Ok(kernel) = Self::open(folder.clone()) {
            return Ok(kernel);
        }
        println!("fetching a kernel {release} from {}", release.suite());
        // Whole or not at all.
        let part = folder.with_extension("part");
        let _ = fs::remove_dir_all(&part);
        fs::create_dir_all(&part).with_context(|| format!("cannot create {}", part.display()))?;
        fetch(&cache.join("apt").join(release.suite()), release, &part)
            .with_context(|| format!("cannot fetch a kernel {release}"))?;
        let _ = fs::remove_dir_all(&folder);
        fs::rename(&part, &folder).context("cannot put an unpacked kernel in its place")?;
        Self::open(folder)
    }

    fn open(folder: PathBuf) -> Result<Self> {
        let modules = folder.join("lib/modules");
        let entries = fs::read_dir(&modules).context("no kernel is unpacked")?;
        let mut names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let version = names.next().context("no modules are unpacked")?;
        let kernel = Self { version, folder };
        kernel.image()?;
        Ok(kernel)
    }

    /// The bootable image; newer packages have it among the modules.
    pub(super) fn image(&self) -> Result<PathBuf> {
        let places = [
            self.modules().join("vmlinuz"),
            self.folder.join(format!("boot/vmlinuz-{}", self.version)),
        ];
        let found = places.into_iter().find(|path| path.is_file());
        found.with_context(|| format!("kernel {} has no image", self.version))
    }

    /// Folder of its modules, `/lib/modules/VERSION` when it runs.
    pub(crate) fn modules(&self) -> PathBuf {
        self.folder.join("lib/modules").join(&self.version)
    }

    /// The folder that stands for `/` in its packages.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }
}

fn fetch(lists: &Path, release: Release, root: &Path) -> Result<()> {
    let suite = Suite::open(lists.to_owned(), release.suite())?;
    let newest = suite.dependencies(Release::PACKAGE)?;
    let Some(image) = newest.into_iter().find(|name| name.starts_with("linux-image-")) else {
        bail!("{} of {} depends on no kernel", Release::PACKAGE, release.suite());
    };
    // From 7.x on, the image package holds nothing and depends on its parts.
    let parts = suite.dependencies(&image)?;
    let parts: Vec<_> = parts
        .into_iter()
        .filter(|name| {
            ["linux-base-", "linux-binary-", "linux-modules-"].iter().any(|it| name.starts_with(it))
        })
        .collect();
    for package in if parts.is_empty() { vec![image.clone()] } else { parts } {
        suite.unpack(&package, root)?;
    }
    let (merged, plain) = (root.join("usr/lib/modules"), root.join("lib/modules"));
    if merged.is_dir() && !plain.exists() {
        fs::create_dir_all(root.join("lib"))?;
        symlink("../usr/lib/modules", &plain).context("cannot link the modules")?;
    }
    let version = image.trim_start_matches("linux-image-");
    process::output(Command::new("depmod").arg("-b").arg(root).arg(version))?;
    Ok(())
}
