//! The first files that a guest sees: busybox and the modules that reach the host's files.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::Kernel;
use crate::process;

/// What mounting the host's files takes.
const MODULES: [&str; 4] = ["virtio_pci", "9pnet_virtio", "9p", "overlay"];

/// Mounts the host's root under a layer of memory, and the shared folder for writing; then the
/// program that the kernel's command line names takes over.
const INIT: &str = include_str!("init.sh");

/// Builds the archive for `kernel` at `path`.
pub(super) fn build(kernel: &Kernel, path: &Path) -> Result<()> {
    let folder = tempfile::tempdir().context("cannot create a folder for an initramfs")?;
    let root = folder.path();
    for name in ["bin", "dev", "lower", "modules", "new", "proc", "rw", "sys"] {
        fs::create_dir(root.join(name))?;
    }
    let busybox = process::find("busybox").context("there is no busybox")?;
    fs::copy(&busybox, root.join("bin/busybox")).context("cannot copy busybox")?;
    let init = root.join("init");
    fs::write(&init, INIT)?;
    fs::set_permissions(&init, fs::Permissions::from_mode(0o755))?;
    let mut order = String::new();
    for module in modules(kernel)? {
        let name = put(&module, &root.join("modules"))?;
        order.push_str(&name);
        order.push('\n');
    }
    fs::write(root.join("modules/order"), order)?;
    pack(root, path)
}

/// Files of the modules, each after those that it needs.
fn modules(kernel: &Kernel) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for module in MODULES {
        let text =
            process::output(Command::new("modprobe").arg("-d").arg(kernel.folder()).args([
                "-S",
                &kernel.version,
                "--show-depends",
                module,
            ]))?;
        for line in text.lines().filter_map(|line| line.strip_prefix("insmod ")) {
            let path = PathBuf::from(line.trim());
            if !found.contains(&path) {
                found.push(path);
            }
        }
    }
    Ok(found)
}

/// Puts a module into `folder`, uncompressed, and returns its name there.
fn put(module: &Path, folder: &Path) -> Result<String> {
    let name =
        module.file_name().context("a module without a name")?.to_string_lossy().into_owned();
    if let Some(plain) = name.strip_suffix(".xz") {
        let output = Command::new("xz").arg("-dc").arg(module).output().context("cannot run xz")?;
        if !output.status.success() {
            bail!("cannot uncompress {}", module.display());
        }
        fs::write(folder.join(plain), output.stdout)?;
        return Ok(plain.to_owned());
    }
    fs::copy(module, folder.join(&name))
        .with_context(|| format!("cannot copy {}", module.display()))?;
    Ok(name)
}

fn pack(root: &Path, path: &Path) -> Result<()> {
    let mut names = String::new();
    for line in process::output(Command::new("find").arg(".").current_dir(root))?.lines() {
        names.push_str(line);
        names.push('\n');
    }
    let list = root.with_extension("list");
    fs::write(&list, names)?;
    // Whole or not at all: another run may have died while it wrote.
    let part = path.with_extension("part");
    let status = Command::new("cpio")
        .args(["--create", "--format=newc", "--quiet"])
        .current_dir(root)
        .stdin(fs::File::open(&list)?)
        .stdout(fs::File::create(&part)?)
        .stderr(Stdio::inherit())
        .status()
        .context("cannot run cpio")?;
    fs::remove_file(&list)?;
    if !status.success() {
        bail!("cpio failed ({status})");
    }
    fs::rename(&part, path).context("cannot put an initramfs in its place")
}
