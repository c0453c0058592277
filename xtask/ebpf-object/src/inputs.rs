//! Everything that decides what the object contains, and one hash over it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};
use toml::{Table, Value};

use crate::compile::RUSTFLAGS;
use crate::lockfile::Lockfile;
use crate::repository::Repository;
use crate::{Object, hexadecimal};

/// Parts of the workspace manifest that reach the compiler. Dependencies are looked up one by one.
const WORKSPACE_PARTS: [&[&str]; 4] = [
    &["profile", "ebpf"],
    &["profile", "release"],
    &["workspace", "package", "edition"],
    &["workspace", "resolver"],
];

/// The inputs of one object in one checkout.
#[derive(Debug)]
pub struct Inputs {
    object: Object,
    hash: String,
    watched: Vec<PathBuf>,
}

impl Inputs {
    /// Reads and hashes every input.
    ///
    /// These are the sources and manifests of the object's package and of each workspace crate it uses, the
    /// profile and the shared dependency lines of the workspace manifest, name, version and checksum
    /// of each registry package below it, and the compiler flags. The rest of `Cargo.lock` is left
    /// out, so that a new version of a user-space crate does not make the object stale.
    ///
    /// # Errors
    /// When a file cannot be read or a manifest does not have the form that is expected.
    pub fn read(repository: &Repository, object: Object) -> Result<Self> {
        let root = repository.root();
        let workspace = read_manifest(&root.join("Cargo.toml"))?;
        let members = Members::read(root, &workspace)?;
        let lockfile = Lockfile::parse(&read_text(&root.join("Cargo.lock"))?)?;
        let closure =
            lockfile.closure(object.package(), |name| Ok(members.get(name)?.dependencies()))?;

        let mut hash = InputHash::default();
        let mut watched = vec![root.join("Cargo.toml"), root.join("Cargo.lock")];
        let mut shared = BTreeSet::new();
        for name in &closure.local {
            let member = members.get(name)?;
            let sources = member.folder.join("src");
            let mut files = vec![member.folder.join("Cargo.toml")];
            collect_files(&sources, &mut files)?;
            files.sort();
            for file in &files {
                hash.file(root, file)?;
            }
            shared.extend(member.dependencies());
            watched.push(member.folder.join("Cargo.toml"));
            watched.push(sources);
        }
        for path in WORKSPACE_PARTS {
            hash.manifest_part(&workspace, path);
        }
        for dependency in &shared {
            hash.manifest_part(&workspace, &["workspace", "dependencies", dependency]);
        }
        for locked in &closure.external {
            hash.part(
                "package",
                &[&locked.name, &locked.version, &locked.checksum].map(String::as_str),
            );
        }
        hash.part("rustflags", &RUSTFLAGS);
        Ok(Self { object, hash: hash.finish(), watched })
    }

    /// The object that they are of.
    pub fn object(&self) -> Object {
        self.object
    }

    /// Hexadecimal SHA-256 over all inputs.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Files and folders whose change can change the hash.
    pub fn watched(&self) -> &[PathBuf] {
        &self.watched
    }
}

/// Packages of the workspace by name.
#[derive(Debug)]
struct Members(BTreeMap<String, Member>);

#[derive(Debug)]
struct Member {
    folder: PathBuf,
    manifest: Table,
}

impl Members {
    fn read(root: &Path, workspace: &Table) -> Result<Self> {
        let members = lookup(workspace, &["workspace", "members"])
            .and_then(Value::as_array)
            .context("Cargo.toml has no workspace.members")?;
        let mut by_name = BTreeMap::new();
        for member in members.iter().filter_map(Value::as_str) {
            let folder = root.join(member);
            let manifest = read_manifest(&folder.join("Cargo.toml"))?;
            let name = lookup(&manifest, &["package", "name"])
                .and_then(Value::as_str)
                .with_context(|| format!("{member}/Cargo.toml has no package name"))?;
            by_name.insert(name.to_owned(), Member { folder, manifest });
        }
        Ok(Self(by_name))
    }

    fn get(&self, name: &str) -> Result<&Member> {
        self.0.get(name).with_context(|| format!("{name} is not a member of the workspace"))
    }
}

impl Member {
    /// Names of the packages that are always built with this one: not the optional ones, whose
    /// features the eBPF build does not turn on, and not those for tests.
    fn dependencies(&self) -> BTreeSet<String> {
        ["dependencies", "build-dependencies"]
            .iter()
            .filter_map(|section| self.manifest.get(*section).and_then(Value::as_table))
            .flatten()
            .filter(|(_, value)| value.get("optional").and_then(Value::as_bool) != Some(true))
            .map(|(key, value)| {
                value.get("package").and_then(Value::as_str).unwrap_or(key).to_owned()
            })
            .collect()
    }
}

/// Feeds labelled, length-prefixed parts to one digest, so that no two inputs look alike.
#[derive(Default)]
struct InputHash(Sha256);

impl InputHash {
    fn part(&mut self, label: &str, values: &[&str]) {
        self.bytes(label.as_bytes());
        for value in values {
            self.bytes(value.as_bytes());
        }
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    fn file(&mut self, root: &Path, path: &Path) -> Result<()> {
        let content = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let name = path.strip_prefix(root).unwrap_or(path).to_string_lossy().replace('\\', "/");
        self.part("file", &[&name]);
        self.bytes(&content);
        Ok(())
    }

    /// A part that does not exist counts as empty.
    fn manifest_part(&mut self, manifest: &Table, path: &[&str]) {
        let value = lookup(manifest, path).map(ToString::to_string).unwrap_or_default();
        self.part("manifest", &[&path.join("."), &value]);
    }

    fn finish(self) -> String {
        hexadecimal(&self.0.finalize())
    }
}

fn lookup<'a>(manifest: &'a Table, path: &[&str]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(manifest.get(*first)?, |value, key| value.get(key))
}

fn read_text(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

fn read_manifest(path: &Path) -> Result<Table> {
    read_text(path)?.parse().with_context(|| format!("{} is not valid TOML", path.display()))
}

fn collect_files(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    for entry in entries {
        let path = entry.with_context(|| format!("cannot list {}", folder.display()))?.path();
        if path.is_dir() {
            collect_files(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
