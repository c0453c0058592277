//! Puts the eBPF objects where `src/bpf` includes them, and the revision where the version is shown.
//!
//! `ROCE_EBPF` unset: the committed objects, refused when their sources have changed since.
//! `ROCE_EBPF=source`: built from source, with the toolchain that `cargo xtask setup` provides.
//! `ROCE_EBPF=PATH`: the datapath in that file, and `qp-watch.bpf.o` beside it.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use roce_ebpf_object::{Inputs, Object, Repository, build, check};

fn main() -> ExitCode {
    match embed_objects().and_then(|()| set_revision()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("cargo::error={}", format!("{error:#}").replace('\n', " "));
            ExitCode::FAILURE
        }
    }
}

fn embed_objects() -> Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=ROCE_EBPF");
    let folder = PathBuf::from(env::var_os("OUT_DIR").context("cargo sets no OUT_DIR")?);
    for object in Object::ALL {
        let (content, sources) = match env::var_os("ROCE_EBPF").filter(|value| !value.is_empty()) {
            Some(path) if path != "source" => external(Path::new(&path), object)?,
            way => from_checkout(object, way.is_some())?,
        };
        let embedded = folder.join(object.file_name());
        fs::write(&embedded, content)
            .with_context(|| format!("cannot write {}", embedded.display()))?;
        if object == Object::Datapath {
            println!("cargo::rustc-env=ROCE_EBPF_SOURCE_HASH={sources}");
        }
    }
    Ok(())
}

fn external(datapath: &Path, object: Object) -> Result<(Vec<u8>, String)> {
    let path = match object {
        Object::Datapath => datapath.to_owned(),
        Object::QpWatch => datapath.with_file_name(object.file_name()),
    };
    Ok((read_object(&path)?, "external".to_owned()))
}

/// The object of this checkout and the hash of its sources.
fn from_checkout(object: Object, compile: bool) -> Result<(Vec<u8>, String)> {
    let repository = checkout()?;
    let inputs = Inputs::read(&repository, object)?;
    for path in inputs.watched() {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    let content = if compile {
        build(&repository, &inputs)?.object
    } else {
        println!("cargo::rerun-if-changed={}", repository.prebuilt_stamp(object).display());
        check(&repository, &inputs)?;
        read_object(&repository.prebuilt_object(object))?
    };
    Ok((content, inputs.hash().to_owned()))
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
