//! Which files are in the repository, and what must not be among them.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use roce_ebpf_object::Repository;

use crate::{process, workspace};

/// Larger files are generated, or belong elsewhere.
const MAX_BYTES: u64 = 1 << 20;

/// Leftovers of tools.
const FORBIDDEN_ENDINGS: [&str; 8] =
    [".orig", ".rej", ".swp", ".profraw", ".pem", ".key", ".env.local", ".DS_Store"];

/// Tracked files and new ones that are not ignored, relative to the top folder.
pub(super) fn list(repository: &Repository) -> Result<Vec<PathBuf>> {
    let arguments = ["ls-files", "--cached", "--others", "--exclude-standard", "-z"];
    let text = process::output(Command::new("git").current_dir(repository.root()).args(arguments))?;
    let paths = text.split('\0').filter(|path| !path.is_empty()).map(PathBuf::from);
    Ok(paths.filter(|path| repository.root().join(path).is_file()).collect())
}

/// Rust sources below the top folder.
pub(super) fn rust_sources(repository: &Repository) -> Result<Vec<(PathBuf, String)>> {
    let paths = list(repository)?;
    let sources = paths.into_iter().filter(|path| path.extension().is_some_and(|it| it == "rs"));
    sources
        .map(|path| {
            let text = fs::read_to_string(repository.root().join(&path))
                .with_context(|| format!("cannot read {}", path.display()))?;
            Ok((path, text))
        })
        .collect()
}

pub(super) fn check(repository: &Repository) -> Result<()> {
    let mut found = Vec::new();
    let machine_paths = machine_paths(repository);
    for path in list(repository)? {
        let name = path.to_string_lossy();
        if FORBIDDEN_ENDINGS.iter().any(|ending| name.ends_with(ending)) {
            found.push(format!("{name}: leftover of a tool, or a secret"));
        }
        let full = repository.root().join(&path);
        let content = fs::read(&full).with_context(|| format!("cannot read {name}"))?;
        if content.len() as u64 > MAX_BYTES {
            found.push(format!("{name}: {} bytes, the limit is {MAX_BYTES}", content.len()));
        }
        let here = machine_paths.iter().find(|it| contains(&content, it.as_bytes()));
        found.extend(here.map(|it| format!("{name}: names a folder of this machine, {it}")));
    }
    found.extend(misnamed_tests(repository)?);
    if !found.is_empty() {
        bail!("\n  {}", found.join("\n  "));
    }
    Ok(())
}

/// The checkout and the home folder, unless they are so short that they match by chance.
fn machine_paths(repository: &Repository) -> Vec<String> {
    let home = env::var_os("HOME").map(PathBuf::from);
    [Some(repository.root().to_owned()), home]
        .into_iter()
        .flatten()
        .map(|path| format!("{}/", path.display()))
        .filter(|path| path.len() > 4)
        .collect()
}

fn contains(content: &[u8], wanted: &[u8]) -> bool {
    content.windows(wanted.len()).any(|window| window == wanted)
}

/// Tests that need root or another program are named so, and `cargo test` does not start them.
fn misnamed_tests(repository: &Repository) -> Result<Vec<String>> {
    let targets = workspace::test_targets(repository)?;
    let wrong = targets.iter().filter(|target| {
        let needs_more = target.name.starts_with("root_") || target.name.starts_with("peer_");
        needs_more == target.by_default
    });
    Ok(wrong
        .map(|target| {
            format!(
                "{}: `test = false` in the manifest of {} goes with a name that starts with root_ or peer_",
                relative(repository, &target.path),
                target.package
            )
        })
        .collect())
}

fn relative(repository: &Repository, path: &Path) -> String {
    path.strip_prefix(repository.root()).unwrap_or(path).display().to_string()
}
