//! Builds the object from source.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::linker::{LINKER_VERSION, Linker};
use crate::repository::Repository;
use crate::strip::strip;
use crate::toolchain::Toolchain;
use crate::{Inputs, Object, Stamp, sha256};

/// Target of the object: little-endian BPF.
pub const TARGET: &str = "bpfel-unknown-none";

/// Compiler flags. BTF comes from debug info. `v3` has 32-bit and jump-if-less instructions and is
/// known to every kernel from 5.1.
pub(crate) const RUSTFLAGS: [&str; 4] = [
    "-Cdebuginfo=2",
    "-Clink-arg=--btf",
    "-Ctarget-cpu=v3",
    "-Ctarget-feature=+alu32,+allows-misaligned-mem-access",
];

/// How every package is built; the same for every cargo command.
const PROFILE_ARGUMENTS: [&str; 7] =
    ["--locked", "--profile", "ebpf", "--target", TARGET, "-Z", "build-std=core"];

/// What the product's cost is measured against.
const BENCH: Package = Package { name: "roce-ebpf-bench", binary: "roce-bench" };

/// A package of programs for the BPF target.
struct Package {
    name: &'static str,
    binary: &'static str,
}

impl From<Object> for Package {
    fn from(object: Object) -> Self {
        Self { name: object.package(), binary: object.binary() }
    }
}

/// An object built from source.
#[derive(Clone, Debug)]
pub struct Built {
    /// The object, without DWARF.
    pub object: Vec<u8>,
    /// What it was built from, and by what.
    pub stamp: Stamp,
}

/// Compiles and strips the object. Output of the compiler goes to standard error.
///
/// # Errors
/// When no toolchain or linker is found, or the build fails.
pub fn build(repository: &Repository, inputs: &Inputs) -> Result<Built> {
    let toolchain = Toolchain::find()?;
    let object = build_package(repository, &toolchain, &inputs.object().into())?;
    let stamp = Stamp {
        sources: inputs.hash().to_owned(),
        object: sha256(&object),
        rustc: toolchain.version,
        bpf_linker: LINKER_VERSION.to_owned(),
    };
    Ok(Built { object, stamp })
}

/// Compiles and strips the programs that the product's are measured against.
///
/// # Errors
/// When no toolchain or linker is found, or the build fails.
pub fn build_bench(repository: &Repository) -> Result<Vec<u8>> {
    build_package(repository, &Toolchain::find()?, &BENCH)
}

fn build_package(
    repository: &Repository,
    toolchain: &Toolchain,
    package: &Package,
) -> Result<Vec<u8>> {
    let linker = Linker::find(repository)?;
    let status = cargo(repository, toolchain, "cargo")
        .args(["build", "--quiet", "--package", package.name])
        .args(PROFILE_ARGUMENTS)
        .env("CARGO_TARGET_BPFEL_UNKNOWN_NONE_LINKER", &linker.path)
        .status()
        .with_context(|| format!("cannot run {}", toolchain.bin.join("cargo").display()))?;
    ensure!(status.success(), "the eBPF build failed ({status}); see the compiler's messages");

    let path = repository.ebpf_target().join(TARGET).join("ebpf").join(package.binary);
    let full = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    strip(&full)
}

/// Runs clippy over the eBPF crates, warnings being errors; `false` when `toolchain` has no clippy.
///
/// # Errors
/// When clippy cannot run or has something to say.
pub fn clippy(repository: &Repository, toolchain: &Toolchain) -> Result<bool> {
    let clippy = toolchain.bin.join("cargo-clippy");
    if !clippy.is_file() {
        return Ok(false);
    }
    // Started directly: cargo prefers a cargo-clippy in its own home, which is another toolchain's.
    let packages = Object::ALL.map(Object::package).into_iter().chain([BENCH.name]);
    let status = cargo(repository, toolchain, "cargo-clippy")
        .args(["clippy", "--quiet"])
        .args(packages.flat_map(|name| ["--package", name]))
        .args(PROFILE_ARGUMENTS)
        .args(["--", "-D", "warnings"])
        .env("CARGO", toolchain.bin.join("cargo"))
        .status()
        .with_context(|| format!("cannot run {}", clippy.display()))?;
    ensure!(status.success(), "clippy for the eBPF programs failed ({status})");
    Ok(true)
}

fn cargo(repository: &Repository, toolchain: &Toolchain, program: &str) -> Command {
    let mut command = toolchain.command(program);
    command
        .current_dir(repository.root())
        .env("CARGO_TARGET_DIR", repository.ebpf_target())
        .env("CARGO_ENCODED_RUSTFLAGS", rustflags(repository, toolchain));
    command
}

/// The flags, and shorter names for the folders of this machine, which BTF line information would
/// otherwise carry: the same sources give the same object wherever they are built.
fn rustflags(repository: &Repository, toolchain: &Toolchain) -> String {
    let mut folders: Vec<_> = registry_sources().into_iter().map(|it| (it, "cargo")).collect();
    folders.push((toolchain.library_source(), "rust"));
    folders.push((repository.root().to_owned(), "roce"));
    let remapped = folders
        .iter()
        .map(|(folder, name)| format!("--remap-path-prefix={}={name}", folder.display()));
    let flags: Vec<_> = RUSTFLAGS.iter().map(ToString::to_string).chain(remapped).collect();
    flags.join("\x1f")
}

/// Where cargo unpacks packages: one folder for each registry.
fn registry_sources() -> Vec<PathBuf> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| {
        let home = env::var_os("HOME")?;
        Some(Path::new(&home).join(".cargo"))
    });
    let entries = home.and_then(|home| fs::read_dir(home.join("registry/src")).ok());
    let mut folders: Vec<_> = entries.into_iter().flatten().flatten().map(|it| it.path()).collect();
    folders.sort();
    folders
}
