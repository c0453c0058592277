//! Who made a queue pair: task, process, container, pod.
//!
//! The kernel gives the number of the thread that made it; everything else is in `/proc`, whose files are
//! readable for everyone unless it is mounted with `hidepid`, which takes CAP_SYS_PTRACE or membership in
//! the group that the option `gid` names.

mod cgroup;
mod process;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use cgroup::Container;
pub use process::Owner;

/// Tasks that are looked up in a sweep; further ones wait for the next. Three files each.
const MAX_LOOKUPS: usize = 1024;

/// Looks up tasks, each once a sweep.
#[derive(Debug)]
pub struct Owners {
    proc: PathBuf,
    found: HashMap<u32, Arc<Owner>>,
    counts: OwnerCounts,
}

/// Figures of the search for owners since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnerCounts {
    /// Times that a queue pair's owner was left to the next sweep.
    pub put_off: u64,
    /// Tasks that `/proc` did not show: ended meanwhile, or hidden.
    pub hidden: u64,
}

impl Owners {
    /// Looks under `proc`, which is `/proc` unless in a test.
    pub fn new(proc: &Path) -> Self {
        Self { proc: proc.to_owned(), found: HashMap::new(), counts: OwnerCounts::default() }
    }

    /// Begins a sweep: numbers of tasks may have been given anew.
    pub fn begin_sweep(&mut self) {
        self.found.clear();
    }

    /// The owner with this number; `None` when that has to wait for the next sweep.
    pub fn find(&mut self, task: u32) -> Option<Arc<Owner>> {
        if let Some(owner) = self.found.get(&task) {
            return Some(Arc::clone(owner));
        }
        if self.found.len() >= MAX_LOOKUPS {
            self.counts.put_off += 1;
            return None;
        }
        let owner = Arc::new(Owner::read(&self.proc, task));
        self.counts.hidden += u64::from(owner.pid.is_none());
        self.found.insert(task, Arc::clone(&owner));
        Some(owner)
    }

    /// Figures.
    pub const fn counts(&self) -> OwnerCounts {
        self.counts
    }
}

#[cfg(test)]
mod tests;
