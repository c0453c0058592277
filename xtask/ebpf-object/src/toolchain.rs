//! Compilers that can build `core` for the BPF target.
//!
//! Needed: the compiler's library source, unstable options (a nightly, or `RUSTC_BOOTSTRAP`), and
//! LLVM of exactly the major version that bpf-linker reads. LLVM 22 is also the first that loads
//! unaligned header fields in one instruction (`allows-misaligned-mem-access`).

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

/// The major LLVM version that the object is built with.
pub const LLVM_MAJOR: &str = "22";

/// Below the sysroot.
const LIBRARY_SOURCE: &str = "lib/rustlib/src/rust";

/// Set by an outer cargo or rustup for the outer compiler, and wrong for this one.
const OUTER_VARIABLES: [&str; 14] = [
    "CARGO",
    "CARGO_BUILD_TARGET",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_MAKEFLAGS",
    "CARGO_TARGET_DIR",
    "LD_LIBRARY_PATH",
    "MAKEFLAGS",
    "MFLAGS",
    "RUSTC",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTC_WRAPPER",
    "RUSTDOC",
    "RUSTFLAGS",
    "RUSTUP_TOOLCHAIN",
];

/// A compiler, its cargo and its library source.
#[derive(Clone, Debug)]
pub struct Toolchain {
    /// Folder of `cargo`, `rustc` and, where installed, `cargo-clippy`.
    pub bin: PathBuf,
    sysroot: PathBuf,
    /// Folder of the LLVM library that bpf-linker loads.
    pub llvm_folder: PathBuf,
    /// `rustc --version` without its first word.
    pub version: String,
}

/// A place where a toolchain may be, and what was found there.
#[derive(Debug)]
pub struct Candidate {
    /// For people.
    pub name: String,
    /// The toolchain, or what is missing.
    pub found: Result<Toolchain>,
}

/// Every place that is looked at, best first.
pub fn candidates() -> Vec<Candidate> {
    let mut found: Vec<_> = nightly_sysroots()
        .into_iter()
        .map(|sysroot| {
            let name = sysroot.file_name().unwrap_or_default().to_string_lossy();
            Candidate {
                name: format!("rustup {name}"),
                found: Toolchain::inspect(&sysroot.join("bin"), &sysroot),
            }
        })
        .collect();
    found.push(Candidate {
        name: "distribution packages in /usr".to_owned(),
        found: Toolchain::inspect(Path::new("/usr/bin"), Path::new("/usr")),
    });
    found
}

impl Toolchain {
    /// The first usable toolchain.
    ///
    /// # Errors
    /// When there is none: says why for each place.
    pub fn find() -> Result<Self> {
        let mut reasons = Vec::new();
        for Candidate { name, found } in candidates() {
            match found {
                Ok(toolchain) => return Ok(toolchain),
                Err(error) => reasons.push(format!("\n  {name}: {error:#}")),
            }
        }
        bail!("no toolchain can build the eBPF object; run `cargo xtask setup`{}", reasons.concat())
    }

    fn inspect(bin: &Path, sysroot: &Path) -> Result<Self> {
        for tool in ["rustc", "cargo"] {
            ensure!(bin.join(tool).is_file(), "no {}", bin.join(tool).display());
        }
        let report = version_report(&bin.join("rustc"))?;
        let llvm = report
            .lines()
            .find_map(|line| line.strip_prefix("LLVM version: "))
            .context("rustc does not say its LLVM version")?;
        let version = report.lines().next().unwrap_or_default().trim_start_matches("rustc ");
        ensure!(
            llvm.split('.').next() == Some(LLVM_MAJOR),
            "rustc {version} has LLVM {llvm}, needed is LLVM {LLVM_MAJOR}"
        );
        let core = sysroot.join(LIBRARY_SOURCE).join("library/core/src/lib.rs");
        ensure!(core.is_file(), "rustc {version} has no library source ({})", core.display());
        Ok(Self {
            bin: bin.to_owned(),
            sysroot: sysroot.to_owned(),
            llvm_folder: llvm_folder(sysroot)?,
            version: version.to_owned(),
        })
    }

    /// Where the compiler's library source is.
    pub(crate) fn library_source(&self) -> PathBuf {
        self.sysroot.join(LIBRARY_SOURCE)
    }

    /// A command of this toolchain (`cargo`), free of an outer cargo's variables.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.bin.join(program));
        for variable in OUTER_VARIABLES {
            command.env_remove(variable);
        }
        for (variable, _) in env::vars_os() {
            let name = variable.to_string_lossy();
            if ["CARGO_PROFILE_", "CARGO_CFG_", "CARGO_FEATURE_"]
                .iter()
                .any(|it| name.starts_with(it))
            {
                command.env_remove(&variable);
            }
        }
        let mut path = OsString::from(&self.bin);
        if let Some(outer) = env::var_os("PATH") {
            path.push(":");
            path.push(outer);
        }
        command
            .env("PATH", path)
            .env("RUSTC", self.bin.join("rustc"))
            .env("RUSTC_BOOTSTRAP", "1")
            .env("LD_LIBRARY_PATH", &self.llvm_folder);
        command
    }
}

fn version_report(rustc: &Path) -> Result<String> {
    let output = Command::new(rustc)
        .arg("-vV")
        .env_remove("LD_LIBRARY_PATH")
        .output()
        .with_context(|| format!("cannot run {}", rustc.display()))?;
    ensure!(output.status.success(), "{} -vV failed: {}", rustc.display(), output.status);
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn llvm_folder(sysroot: &Path) -> Result<PathBuf> {
    let library = sysroot.join("lib");
    let multiarch = library.join(format!("{}-linux-gnu", env::consts::ARCH));
    let folders = [library, multiarch, sysroot.join("lib64")];
    folders.into_iter().find(|folder| has_llvm(folder)).with_context(|| {
        format!("no libLLVM {LLVM_MAJOR} below {} for bpf-linker to load", sysroot.display())
    })
}

fn has_llvm(folder: &Path) -> bool {
    let Ok(entries) = fs::read_dir(folder) else { return false };
    entries.flatten().any(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        name.starts_with("libLLVM") && name.contains(".so") && name.contains(LLVM_MAJOR)
    })
}

fn nightly_sysroots() -> Vec<PathBuf> {
    let home = env::var_os("RUSTUP_HOME")
        .map(PathBuf::from)
        .or_else(|| env::var_os("HOME").map(|home| Path::new(&home).join(".rustup")));
    let Some(entries) = home.and_then(|home| fs::read_dir(home.join("toolchains")).ok()) else {
        return Vec::new();
    };
    let mut sysroots: Vec<_> = entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("nightly"))
        .map(|entry| entry.path())
        .collect();
    sysroots.sort();
    sysroots
}
