//! Running a program on one frame without an interface (`BPF_PROG_TEST_RUN`), for tests and benchmarks.

use super::{Datapath, DatapathError};
use crate::attach::Program;
use aya::programs::{Program as Loaded, TestRun, TestRunOptions};
use std::time::Duration;

/// What a run gave back.
#[derive(Clone, Debug)]
pub struct RunResult {
    /// The program's verdict.
    pub verdict: u32,
    /// Mean time of one run, as the kernel took it.
    pub duration: Duration,
    /// The frame after the last run.
    pub frame: Vec<u8>,
}

impl Datapath {
    /// Loads a program, which verifies it, if that has not been done.
    ///
    /// # Errors
    ///
    /// When the kernel refuses it.
    pub fn verify(&mut self, program: Program) -> Result<(), DatapathError> {
        let name = program.name();
        let loaded = self.ebpf.program_mut(name).ok_or(DatapathError::Missing(name))?;
        let result = match loaded {
            Loaded::Xdp(xdp) if xdp.fd().is_err() => xdp.load(),
            Loaded::SchedClassifier(tc) if tc.fd().is_err() => tc.load(),
            _ => Ok(()),
        };
        result.map_err(|source| DatapathError::Program { name, source })
    }

    /// Runs a verified program `repeat` times on a frame of at least 14 bytes.
    ///
    /// # Errors
    ///
    /// When the program is not loaded, or the kernel refuses the frame.
    pub fn run(
        &self,
        program: Program,
        frame: &[u8],
        repeat: u32,
    ) -> Result<RunResult, DatapathError> {
        let name = program.name();
        // The kernel may give a frame back with more room than it was given.
        let mut data_out = vec![0; frame.len() + 512];
        let options = TestRunOptions {
            data_in: Some(frame),
            data_out: Some(&mut data_out),
            repeat,
            ..TestRunOptions::new()
        };
        let result = match self.ebpf.program(name) {
            Some(Loaded::Xdp(xdp)) => xdp.test_run(options),
            Some(Loaded::SchedClassifier(tc)) => tc.test_run(options),
            _ => return Err(DatapathError::Missing(name)),
        };
        let result = result.map_err(|source| DatapathError::Program { name, source })?;
        data_out.truncate(result.data_size_out as usize);
        Ok(RunResult { verdict: result.return_value, duration: result.duration, frame: data_out })
    }
}
