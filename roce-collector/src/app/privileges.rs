//! Gives up what is not needed any more once the programs are attached.

use std::io;

use anyhow::{Context, Result};
use caps::{CapSet, Capability, CapsHashSet};

/// For attaching again to interfaces that come back, and to modules that are loaded later.
const KEPT: [Capability; 3] =
    [Capability::CAP_BPF, Capability::CAP_NET_ADMIN, Capability::CAP_PERFMON];

/// Drops every capability but those of [`KEPT`] that the process has, and the means to gain new ones.
///
/// Call it before other threads start: they inherit the result.
pub(super) fn drop_most() -> Result<()> {
    let permitted = caps::read(None, CapSet::Permitted)?;
    let kept: CapsHashSet = KEPT.into_iter().filter(|cap| permitted.contains(cap)).collect();
    if caps::has_cap(None, CapSet::Effective, Capability::CAP_SETPCAP)? {
        for capability in caps::all().difference(&kept) {
            // What this kernel does not know cannot be gained either.
            let _ = caps::drop(None, CapSet::Bounding, *capability);
        }
    }
    caps::clear(None, CapSet::Ambient)?;
    caps::clear(None, CapSet::Inheritable)?;
    caps::set(None, CapSet::Effective, &kept)?;
    caps::set(None, CapSet::Permitted, &kept)?;
    no_new_privileges().context("cannot rule out new ones")
}

fn no_new_privileges() -> io::Result<()> {
    // SAFETY: this call takes plain numbers and touches no memory.
    let result = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
