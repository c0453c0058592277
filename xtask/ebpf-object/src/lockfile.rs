//! The part of `Cargo.lock` that one package needs.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use toml::{Table, Value};

/// Build-time helpers of a dependency: their own dependencies do not end up in the object, and are
/// shared with user-space crates that change often.
const HOST_HELPERS: [&str; 1] = ["aya-build"];

/// One entry of `Cargo.lock`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Locked {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) checksum: String,
}

#[derive(Debug)]
struct Entry {
    locked: Locked,
    dependencies: Vec<String>,
    is_local: bool,
}

/// A parsed `Cargo.lock`.
#[derive(Debug)]
pub(crate) struct Lockfile {
    entries: Vec<Entry>,
}

/// Packages reachable from one package.
#[derive(Debug, Default)]
pub(crate) struct Closure {
    /// Packages of this workspace, by name.
    pub(crate) local: BTreeSet<String>,
    /// Packages of a registry.
    pub(crate) external: BTreeSet<Locked>,
}

impl Lockfile {
    /// Reads the text of a `Cargo.lock`.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let table: Table = text.parse().context("Cargo.lock is not valid TOML")?;
        let packages = table
            .get("package")
            .and_then(Value::as_array)
            .context("Cargo.lock has no package list")?;
        let entries = packages.iter().map(Entry::read).collect::<Result<_>>()?;
        Ok(Self { entries })
    }

    /// Everything reachable from the workspace package `start`.
    ///
    /// The lock file lists the optional and development dependencies of workspace packages too, so
    /// `wanted` names, for a workspace package, those that really count.
    pub(crate) fn closure(
        &self,
        start: &str,
        mut wanted: impl FnMut(&str) -> Result<BTreeSet<String>>,
    ) -> Result<Closure> {
        let mut closure = Closure::default();
        let mut seen = BTreeSet::new();
        let mut queue = vec![start.to_owned()];
        while let Some(reference) = queue.pop() {
            if !seen.insert(reference.clone()) {
                continue;
            }
            let entry = self.find(&reference)?;
            let name = &entry.locked.name;
            if entry.is_local {
                let wanted = wanted(name)?;
                let named = |reference: &&String| wanted.contains(package_name(reference));
                queue.extend(entry.dependencies.iter().filter(named).cloned());
                closure.local.insert(name.clone());
            } else {
                if !HOST_HELPERS.contains(&name.as_str()) {
                    queue.extend(entry.dependencies.iter().cloned());
                }
                closure.external.insert(entry.locked.clone());
            }
        }
        Ok(closure)
    }

    /// `reference` is a name, followed by a version where the name alone is ambiguous.
    fn find(&self, reference: &str) -> Result<&Entry> {
        let mut words = reference.split(' ');
        let name = words.next().unwrap_or_default();
        let version = words.next();
        self.entries
            .iter()
            .find(|entry| {
                entry.locked.name == name && version.is_none_or(|it| it == entry.locked.version)
            })
            .with_context(|| format!("Cargo.lock does not list {reference}: run `cargo update -w`"))
    }
}

impl Entry {
    fn read(package: &Value) -> Result<Self> {
        let text = |key: &str| package.get(key).and_then(Value::as_str);
        let name = text("name").context("Cargo.lock: a package has no name")?.to_owned();
        let version =
            text("version").with_context(|| format!("Cargo.lock: {name} has no version"))?;
        let dependencies = package
            .get("dependencies")
            .and_then(Value::as_array)
            .map(|list| list.iter().filter_map(Value::as_str).map(str::to_owned).collect())
            .unwrap_or_default();
        Ok(Self {
            is_local: text("source").is_none(),
            dependencies,
            locked: Locked {
                version: version.to_owned(),
                checksum: text("checksum").unwrap_or_default().to_owned(),
                name,
            },
        })
    }
}

fn package_name(reference: &str) -> &str {
    reference.split(' ').next().unwrap_or(reference)
}
