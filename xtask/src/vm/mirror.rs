//! Packages of any suite of the Debian mirror that this machine's apt is set up for.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::process;

/// One suite, with package lists of its own: nothing in the system's apt changes.
pub(super) struct Suite {
    folder: PathBuf,
}

impl Suite {
    /// Reads the package lists of `suite` into `folder`.
    pub(super) fn open(folder: PathBuf, suite: &str) -> Result<Self> {
        let lists = folder.join("lists/partial");
        fs::create_dir_all(&lists).with_context(|| format!("cannot create {}", lists.display()))?;
        let source = format!("deb {} {suite} main\n", uri()?);
        fs::write(folder.join("sources.list"), source).context("cannot write a list of sources")?;
        let suite = Self { folder };
        process::output(suite.apt("apt-get").args(["--quiet", "update"]))?;
        Ok(suite)
    }

    /// Names of the packages that `package` depends on.
    pub(super) fn dependencies(&self, package: &str) -> Result<Vec<String>> {
        let text = process::output(self.apt("apt-cache").args(["depends", package]))?;
        let names = text.lines().filter_map(|line| line.trim().strip_prefix("Depends: "));
        Ok(names.map(str::to_owned).collect())
    }

    /// Downloads `package` and unpacks it below `root`.
    pub(super) fn unpack(&self, package: &str, root: &Path) -> Result<()> {
        let archives = self.folder.join("archives").join(package);
        // What is left of an earlier try may be cut.
        let _ = fs::remove_dir_all(&archives);
        fs::create_dir_all(&archives)
            .with_context(|| format!("cannot create {}", archives.display()))?;
        process::output(
            self.apt("apt-get").current_dir(&archives).args(["--quiet", "download", package]),
        )?;
        let mut files = fs::read_dir(&archives)?.filter_map(|entry| Some(entry.ok()?.path()));
        let archive = files.find(|path| path.extension().is_some_and(|it| it == "deb"));
        let archive = archive.with_context(|| format!("apt downloaded no file of {package}"))?;
        process::output(Command::new("dpkg-deb").arg("-x").args([&archive, root]))?;
        fs::remove_dir_all(&archives).context("cannot remove a downloaded package")
    }

    fn apt(&self, program: &str) -> Command {
        let setting = |name: &str, value: &Path| format!("{name}={}", value.display());
        let mut command = Command::new(program);
        for setting in [
            setting("Dir::Etc::SourceList", &self.folder.join("sources.list")),
            "Dir::Etc::SourceParts=/dev/null".to_owned(),
            setting("Dir::State::Lists", &self.folder.join("lists")),
            "Dir::Cache::pkgcache=".to_owned(),
            "Dir::Cache::srcpkgcache=".to_owned(),
            // The user that apt downloads as cannot write into a checkout.
            "APT::Sandbox::User=root".to_owned(),
        ] {
            command.args(["-o", &setting]);
        }
        command
    }
}

/// Where the Debian archive is, as the system's apt is set up.
fn uri() -> Result<String> {
    let text = process::output(Command::new("apt-get").args([
        "indextargets",
        "--format",
        "$(REPO_URI)",
        "Created-By: Packages",
    ]))?;
    let uri =
        text.lines().map(|line| line.trim_end_matches('/')).find(|it| it.ends_with("/debian"));
    ensure!(uri.is_some(), "apt has no source that ends with /debian: kernels come from there");
    Ok(uri.unwrap_or_default().to_owned())
}
