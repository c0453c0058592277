//! The forms of lines, one producer a file.
//!
//! Each `parse` takes one line without its prefixes and says what it found, or that the line is not its own.

mod bnxt;
mod kernel_link;
mod libfabric;
mod libmlx5;
mod lustre;
mod mlx5_kernel;
mod nccl;
mod nvme;
mod ompi;
mod other;
mod perftest;
mod rxe;
mod spdk;
mod ucx;

use super::record::ErrorRecord;

/// What a line is.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) record: ErrorRecord,
    /// The line goes on with an earlier one, if that one waits for such a line.
    pub(super) continues: Option<Sequel>,
    /// It says nothing where no line waits for it.
    pub(super) is_tail: bool,
    /// What else may come, after this line.
    pub(super) then: Option<Sequel>,
}

/// A later line of the same failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sequel {
    /// NCCL: status and peer, after the QP number.
    NcclCompletion,
    /// UCX: QPs and address, after the status.
    UcxWorkRequest,
    /// perftest: the status, after the announcement.
    PerftestStatus,
    /// perftest: how much was done.
    PerftestCounts,
    /// Rows of a completion queue entry.
    CqeDump,
    /// The kernel's syndromes, after the queue.
    KernelSyndrome,
    /// The application's view of a failure that a driver dumped.
    Application,
}

impl Found {
    /// A line that says it all.
    const fn whole(record: ErrorRecord) -> Self {
        Self { record, continues: None, is_tail: false, then: None }
    }

    const fn continuing(mut self, sequel: Sequel) -> Self {
        self.continues = Some(sequel);
        self
    }

    const fn tail_of(mut self, sequel: Sequel) -> Self {
        self.is_tail = true;
        self.continuing(sequel)
    }

    const fn then(mut self, sequel: Sequel) -> Self {
        self.then = Some(sequel);
        self
    }
}

type Parse = fn(&str) -> Option<Found>;

/// Those with the surest marks first.
const PARSERS: [Parse; 14] = [
    nccl::parse,
    ucx::parse,
    libmlx5::parse,
    mlx5_kernel::parse,
    nvme::parse,
    spdk::parse,
    perftest::parse,
    ompi::parse,
    libfabric::parse,
    bnxt::parse,
    rxe::parse,
    lustre::parse,
    kernel_link::parse,
    other::parse,
];

/// What `message` is, if any producer knows it.
pub(super) fn parse(message: &str) -> Option<Found> {
    PARSERS.iter().find_map(|parse| parse(message))
}
