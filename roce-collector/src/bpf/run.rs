//! Running a program on one frame without an interface (`BPF_PROG_TEST_RUN`), for tests and benchmarks.

use super::{Datapath, DatapathError};
use aya::programs::{Program, TestRun, TestRunOptions};
use std::time::Duration;

/// Which program to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// XDP for frames in several buffers.
    XdpFrags,
    /// XDP for frames in one buffer.
    Xdp,
    /// TC on ingress.
    TcIngress,
    /// TC on egress.
    TcEgress,
}

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

impl Hook {
    /// Every hook.
    pub const ALL: [Self; 4] = [Self::XdpFrags, Self::Xdp, Self::TcIngress, Self::TcEgress];

    /// Name of its program.
    pub const fn program(self) -> &'static str {
        match self {
            Self::XdpFrags => "roce_xdp_frags",
            Self::Xdp => "roce_xdp",
            Self::TcIngress => "roce_tc_ingress",
            Self::TcEgress => "roce_tc_egress",
        }
    }

    /// The tap that its packets count for, on the first interface.
    pub const fn tap(self) -> u8 {
        match self {
            Self::XdpFrags | Self::Xdp | Self::TcIngress => 0,
            Self::TcEgress => 1,
        }
    }
}

impl Datapath {
    /// Loads the program of a hook, which verifies it, if that has not been done.
    ///
    /// # Errors
    ///
    /// When the kernel refuses it.
    pub fn verify(&mut self, hook: Hook) -> Result<(), DatapathError> {
        let name = hook.program();
        let program = self.ebpf.program_mut(name).ok_or(DatapathError::Missing(name))?;
        let result = match program {
            Program::Xdp(xdp) if xdp.fd().is_err() => xdp.load(),
            Program::SchedClassifier(tc) if tc.fd().is_err() => tc.load(),
            _ => Ok(()),
        };
        result.map_err(|source| DatapathError::Program { name, source })
    }

    /// Runs the verified program of a hook `repeat` times on a frame of at least 14 bytes.
    ///
    /// # Errors
    ///
    /// When the program is not loaded, or the kernel refuses the frame.
    pub fn run(&self, hook: Hook, frame: &[u8], repeat: u32) -> Result<RunResult, DatapathError> {
        let name = hook.program();
        // The kernel may give a frame back with more room than it was given.
        let mut data_out = vec![0; frame.len() + 512];
        let options = TestRunOptions {
            data_in: Some(frame),
            data_out: Some(&mut data_out),
            repeat,
            ..TestRunOptions::new()
        };
        let result = match self.ebpf.program(name) {
            Some(Program::Xdp(xdp)) => xdp.test_run(options),
            Some(Program::SchedClassifier(tc)) => tc.test_run(options),
            _ => return Err(DatapathError::Missing(name)),
        };
        let result = result.map_err(|source| DatapathError::Program { name, source })?;
        data_out.truncate(result.data_size_out as usize);
        Ok(RunResult { verdict: result.return_value, duration: result.duration, frame: data_out })
    }
}
