//! How QEMU runs the guest's instructions.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use super::machine::{Boot, Ending};

/// KVM, or emulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Accelerator {
    Kvm,
    Tcg,
}

impl Accelerator {
    /// Arguments of QEMU.
    pub(super) fn arguments(self) -> [&'static str; 4] {
        match self {
            Self::Kvm => ["-accel", "kvm", "-cpu", "host"],
            Self::Tcg => ["-accel", "tcg,thread=multi", "-cpu", "max"],
        }
    }

    /// KVM when a guest really comes up with it.
    ///
    /// A `/dev/kvm` that opens proves nothing: nested ones stop at instructions that they cannot
    /// emulate. The answer is kept below `cache` for as long as this host runs.
    pub(super) fn choose(cache: &Path, boot: &Boot<'_>) -> Result<Self> {
        if fs::File::options().read(true).write(true).open("/dev/kvm").is_err() {
            return Ok(Self::Tcg);
        }
        let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let note = cache.join("kvm");
        let noted = fs::read_to_string(&note).unwrap_or_default();
        if let Some(answer) = noted.strip_prefix(id.trim()) {
            return Ok(if answer.trim() == "works" { Self::Kvm } else { Self::Tcg });
        }
        println!("trying KVM");
        let ending = boot.run(Self::Kvm, &["vm.probe"], PROBE_LIMIT, &mut |_| {})?;
        let works = matches!(ending, Ending::PoweredOff { spoken } if spoken.contains("vm: alive"));
        println!("KVM {}", if works { "works" } else { "does not run a guest here: emulation" });
        let answer = if works { "works" } else { "does not" };
        fs::write(&note, format!("{} {answer}\n", id.trim()))?;
        Ok(if works { Self::Kvm } else { Self::Tcg })
    }
}

/// Emulation takes 3 seconds to the same point.
const PROBE_LIMIT: Duration = Duration::from_secs(20);
