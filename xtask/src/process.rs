//! Running other programs.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Runs `command` with its output shown.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot run {}", name(command)))?;
    if !status.success() {
        bail!("{} failed ({status})", line(command));
    }
    Ok(())
}

/// Runs `command` and returns what it printed; its last lines are in the error when it fails.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot run {}", name(command)))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        let shown = [text.as_str(), &errors].map(|it| last_lines(it, 30)).join("\n");
        bail!("{} failed ({}):\n{}", line(command), output.status, shown.trim());
    }
    Ok(text)
}

/// The cargo that runs this program.
pub(crate) fn cargo() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Where `program` is in `PATH`; the folders of system tools are looked at even if `PATH` lacks them.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .chain(["/usr/sbin", "/sbin"].map(PathBuf::from))
        .map(|folder| folder.join(program))
        .find(|path| fs::metadata(path).is_ok_and(|it| it.is_file()))
}

/// Whether this process has root's rights.
pub(crate) fn is_root() -> bool {
    // SAFETY: geteuid takes no argument, touches no memory of ours and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

fn name(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}

fn line(command: &Command) -> String {
    let arguments = command.get_args().map(|it| it.to_string_lossy().into_owned());
    [name(command)].into_iter().chain(arguments).collect::<Vec<_>>().join(" ")
}

fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}
