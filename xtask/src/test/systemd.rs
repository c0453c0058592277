//! The systemd unit, judged by systemd.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};
use roce_ebpf_object::Repository;

use crate::process;

const UNIT: &str = "roce-collector.service";

/// Exposure from 0 (none) to 100 (all) that the unit may have; 2 of it for the probes on queue pairs, which need
/// `perf_event_open`.
const MAX_EXPOSURE: &str = "--threshold=22";

/// The unit is valid, and as confined as it says.
pub(super) fn unit(repository: &Repository) -> Result<()> {
    let source = repository.root().join("deploy/systemd").join(UNIT);
    let text =
        fs::read_to_string(&source).with_context(|| format!("cannot read {}", source.display()))?;
    let folder = tempfile::tempdir().context("no temporary folder")?;
    let copy = folder.path().join(UNIT);
    // The collector is not installed here; systemd wants a program that exists.
    fs::write(&copy, text.replace("/usr/bin/roce-collector", "/bin/true"))
        .context("cannot write the unit")?;
    for arguments in [["verify"].as_slice(), &["security", "--offline=yes", MAX_EXPOSURE]] {
        process::output(Command::new("systemd-analyze").args(arguments).arg(&copy))?;
    }
    Ok(())
}
