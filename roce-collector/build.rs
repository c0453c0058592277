//! Puts the eBPF object where `src/bpf` includes it, and the revision where the version is shown.
//!
//! `ROCE_EBPF` unset: the committed object, refused when its sources have changed since.
//! `ROCE_EBPF=source`: built from source, with the toolchain that `cargo xtask setup` provides.
//! `ROCE_EBPF=PATH`: the object in that file.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use roce_ebpf_object::{Inputs, Repository, build, check};

fn main() -> ExitCode {
    match embed_object().and_then(|()| set_revision()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("cargo::error={}", format!("{error:#}").replace('\n', " "));
            ExitCode::FAILURE
        }
    }
}

fn embed_object() -> Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=ROCE_EBPF");
    let embedded =
        PathBuf::from(env::var_os("OUT_DIR").context("cargo sets no OUT_DIR")?).join("roce.bpf.o");
    let (object, sources) = match env::var_os("ROCE_EBPF").filter(|value| !value.is_empty()) {
        Some(path) if path != "source" => (read_object(Path::new(&path))?, "external".to_owned()),
        way => from_checkout(way.is_some())?,
    };
    fs::write(&embedded, object).with_context(|| format!("cannot write {}", embedded.display()))?;
    println!("cargo::rustc-env=ROCE_EBPF_SOURCE_HASH={sources}");
    Ok(())
}

/// The object of this checkout and the hash of its sources.
fn from_checkout(compile: bool) -> Result<(Vec<u8>, String)> {
    let repository = checkout()?;
    let inputs = Inputs::read(&repository)?;
    for path in inputs.watched() {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    let object = if compile {
        build(&repository, &inputs)?.object
    } else {
        println!("cargo::rerun-if-changed={}", repository.prebuilt_stamp().display());
        check(&repository, &inputs)?;
        read_object(&repository.prebuilt_object())?
    };
    Ok((object, inputs.hash().to_owned()))
}

fn read_object(path: &Path) -> Result<Vec<u8>> {
    // cargo starts a build script in the folder of its package, people write paths from theirs.
    if !path.is_absolute() {
        bail!("ROCE_EBPF is `{}`: give an absolute path, or `source`", path.display());
    }
    println!("cargo::rerun-if-changed={}", path.display());
    fs::read(path).with_context(|| format!("cannot read the eBPF object {}", path.display()))
}

fn checkout() -> Result<Repository> {
    let package = env::var_os("CARGO_MANIFEST_DIR").context("cargo sets no CARGO_MANIFEST_DIR")?;
    let parent = Path::new(&package).parent().context("the package has no parent folder")?;
    Repository::at(parent)
}

/// Development builds do not follow every commit: that would compile the crate anew each time.
fn set_revision() -> Result<()> {
    println!("cargo::rerun-if-env-changed=ROCE_REVISION");
    let given = env::var("ROCE_REVISION").ok().filter(|revision| !revision.is_empty());
    let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let revision = match given {
        Some(revision) => revision,
        None if is_release => git_revision().unwrap_or_else(|| "unknown".to_owned()),
        None => "development".to_owned(),
    };
    if revision.contains(char::is_whitespace) {
        bail!("ROCE_REVISION is `{revision}`: it must be one word");
    }
    println!("cargo::rustc-env=ROCE_REVISION={revision}");
    Ok(())
}

fn git_revision() -> Option<String> {
    let revision = git(&["rev-parse", "--short=12", "HEAD"])?;
    for name in ["HEAD", "packed-refs", &git(&["rev-parse", "--symbolic-full-name", "HEAD"])?] {
        if let Some(path) =
            git(&["rev-parse", "--git-path", name]).filter(|path| Path::new(path).exists())
        {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    Some(revision)
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let text = text.trim();
    (output.status.success() && !text.is_empty()).then(|| text.to_owned())
}
