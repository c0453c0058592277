//! Run time of the programs, as the kernel measures it on request.

use std::os::fd::OwnedFd;
use std::time::Duration;

use aya::sys::{Stats, enable_stats};

use super::{Datapath, DatapathError};

/// The kernel measures the run time of all BPF programs of the machine while this lives.
#[derive(Debug)]
pub struct RunStatistics {
    _enabled: OwnedFd,
}

impl RunStatistics {
    /// Turns measuring on.
    ///
    /// # Errors
    ///
    /// When the kernel refuses: it takes `CAP_SYS_ADMIN`.
    pub fn enable() -> Result<Self, DatapathError> {
        let enabled = enable_stats(Stats::RunTime).map_err(DatapathError::Statistics)?;
        Ok(Self { _enabled: enabled })
    }

    /// Name, runs and run time of each program that is loaded.
    pub fn read(&self, datapath: &Datapath) -> Vec<(String, u64, Duration)> {
        let programs = datapath.ebpf.programs().filter_map(|(name, program)| {
            let info = program.info().ok()?;
            Some((name.to_owned(), info.run_count(), info.run_time()))
        });
        programs.collect()
    }
}
