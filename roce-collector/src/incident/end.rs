//! One side of a connection, as signals describe it.

use std::net::IpAddr;
use std::sync::Arc;

use crate::explain::WcStatus;

/// What is known of one side.
#[derive(Clone, Debug, Default)]
pub(super) struct End {
    /// Address on the RDMA network.
    pub(super) ip: Option<IpAddr>,
    /// Address that a program printed without saying of which network, and the port: NCCL's is that of its
    /// TCP bootstrap.
    pub(super) printed: Option<(IpAddr, Option<u16>)>,
    /// QP number.
    pub(super) qp: Option<u32>,
    /// The application that speaks.
    pub(super) process: Option<Process>,
    /// Process by the kernel's number, which containers see as another one.
    pub(super) task: Option<u32>,
    /// RDMA device.
    pub(super) device: Option<Arc<str>>,
    /// Queue or connection by the address that one program prints for it.
    pub(super) queue: Option<String>,
    /// Status of its failed work completion, flushes apart.
    pub(super) status: Option<WcStatus>,
    /// Statuses that packets let expect there.
    pub(super) expected: Option<&'static [WcStatus]>,
}

/// Who printed a line, as far as lines say it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Process {
    pub(super) source: Arc<str>,
    /// It is the kernel: its host may have another name than the container of an application.
    pub(super) is_kernel: bool,
    pub(super) host: Option<String>,
    pub(super) pid: Option<u32>,
    pub(super) rank: Option<String>,
}

/// What two descriptions have in common.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct Common {
    pub(super) qp: bool,
    pub(super) ip: bool,
    pub(super) process: bool,
    pub(super) source: bool,
    pub(super) queue: bool,
    pub(super) device: bool,
}

impl Common {
    /// How much that is worth. A QP number outweighs everything else together.
    pub(super) const fn weight(self) -> u32 {
        (self.qp as u32) * 32
            + (self.queue as u32) * 8
            + (self.ip as u32) * 6
            + (self.process as u32) * 5
            + (self.device as u32) * 2
            + self.source as u32
    }
}

impl End {
    /// What both have in common; `None` when they cannot be the same side.
    pub(super) fn common(&self, other: &Self) -> Option<Common> {
        let qp = agree(self.qp, other.qp)?;
        let ip = agree(self.ip, other.ip)?;
        let is_printed = agree(self.printed, other.printed)?
            || names(self.printed, other.ip)
            || names(other.printed, self.ip);
        let queue = agree(self.queue.as_ref(), other.queue.as_ref())?;
        let device = self.same_device(other)?;
        let (source, process) = match (&self.process, &other.process) {
            (Some(one), Some(other)) => one.common(other)?,
            _ => (false, false),
        };
        let task = self.has_task_of(other) || other.has_task_of(self);
        let is_same_task = agree(self.task, other.task)?;
        if !qp && !self.fits_status(other) {
            return None;
        }
        let process = process || task || is_same_task;
        Some(Common { qp, ip: ip || is_printed, process, source, queue, device })
    }

    /// Adds what the other description knows.
    pub(super) fn absorb(&mut self, other: &Self) {
        self.ip = self.ip.or(other.ip);
        self.printed = self.printed.or(other.printed);
        self.qp = self.qp.or(other.qp);
        self.process = self.process.take().or_else(|| other.process.clone());
        self.task = self.task.or(other.task);
        self.device = self.device.take().or_else(|| other.device.clone());
        self.queue = self.queue.take().or_else(|| other.queue.clone());
        self.status = self.status.or(other.status);
        self.expected = self.expected.or(other.expected);
    }

    /// Whether nothing is known by which it could be found.
    pub(super) fn is_nameless(&self) -> bool {
        let is_process = self.process.as_ref().is_some_and(Process::is_named);
        self.ip.is_none()
            && self.printed.is_none()
            && self.qp.is_none()
            && self.task.is_none()
            && !is_process
    }

    fn has_task_of(&self, other: &Self) -> bool {
        let printed = other.process.as_ref().and_then(|process| process.pid);
        self.task.is_some() && self.task == printed
    }

    /// One queue pair fails once: another status is another failure, unless the number says otherwise.
    fn fits_status(&self, other: &Self) -> bool {
        let is_expected =
            |statuses: Option<&[WcStatus]>, status: Option<WcStatus>| match statuses.zip(status) {
                Some((statuses, status)) => statuses.contains(&status),
                None => true,
            };
        agree(self.status, other.status).is_some()
            && is_expected(self.expected, other.status)
            && is_expected(other.expected, self.status)
    }

    /// Only names of one kind can contradict each other: a queue pair of `mlx5_0` may be told of by `nvme1`.
    fn same_device(&self, other: &Self) -> Option<bool> {
        let (Some(one), Some(other)) = (&self.device, &other.device) else { return Some(false) };
        match one == other {
            true => Some(true),
            false if is_same_kind(one, other) => None,
            false => Some(false),
        }
    }
}

impl Process {
    /// Whether the source is the same, and whether the process is; `None` when they are two processes.
    fn common(&self, other: &Self) -> Option<(bool, bool)> {
        let is_same_kind = self.is_kernel == other.is_kernel;
        let host = is_same_kind && agree(self.host.as_ref(), other.host.as_ref())?;
        let source = self.source == other.source;
        if !host && !source {
            return Some((false, false));
        }
        let rank = agree(self.rank.as_ref(), other.rank.as_ref())?;
        let pid = agree(self.pid, other.pid)?;
        Some((source, rank || pid))
    }

    fn is_named(&self) -> bool {
        self.pid.is_some() || self.rank.is_some()
    }
}

/// Whether both are known and equal; `None` when they contradict each other.
pub(super) fn agree<T: PartialEq>(one: Option<T>, other: Option<T>) -> Option<bool> {
    match (one, other) {
        (Some(one), Some(other)) => (one == other).then_some(true),
        _ => Some(false),
    }
}

fn names(printed: Option<(IpAddr, Option<u16>)>, ip: Option<IpAddr>) -> bool {
    printed.map(|(ip, _)| ip).zip(ip).is_some_and(|(printed, ip)| printed == ip)
}

/// Whether names of devices begin with the same word: `mlx5_0` and `mlx5_bond_1`, but not `eth0`.
pub(super) fn is_same_kind(one: &str, other: &str) -> bool {
    let word = |name: &'_ str| name.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(name.len());
    one[..word(one)] == other[..word(other)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(qp: Option<u32>, ip: Option<&str>) -> End {
        End { qp, ip: ip.map(|ip| ip.parse().expect("an address")), ..End::default() }
    }

    #[test]
    fn what_contradicts_is_another_side() {
        let is_other = |one: &End, other: &End| one.common(other).is_none();
        assert!(is_other(&end(Some(1), None), &end(Some(2), None)));
        assert!(is_other(&end(Some(1), Some("10.0.0.1")), &end(Some(1), Some("10.0.0.2"))));
        assert!(!is_other(&end(Some(1), None), &end(None, Some("10.0.0.2"))));
        let status = |status| End { status: Some(status), ..end(None, Some("10.0.0.1")) };
        assert!(is_other(&status(WcStatus::RETRY_EXC), &status(WcStatus::REM_ACCESS)));
        let numbered = |status| End { qp: Some(1), status: Some(status), ..End::default() };
        let (one, other) = (numbered(WcStatus::RETRY_EXC), numbered(WcStatus::REM_ACCESS));
        assert!(!is_other(&one, &other), "its number says that it is the same");
    }

    #[test]
    fn names_of_devices_contradict_within_their_kind() {
        let end = |device: &str| End { device: Some(device.into()), ..End::default() };
        assert!(end("mlx5_0").common(&end("mlx5_3")).is_none());
        assert!(end("mlx5_0").common(&end("nvme1")).is_some_and(|common| !common.device));
        assert!(end("rxe0").common(&end("rxe0")).is_some_and(|common| common.device));
    }

    #[test]
    fn processes_are_told_apart_within_a_host_or_a_source() {
        let process = |source: &str, host: Option<&str>, pid| End {
            process: Some(Process {
                source: source.into(),
                is_kernel: false,
                host: host.map(str::to_owned),
                pid: Some(pid),
                rank: None,
            }),
            ..End::default()
        };
        assert!(process("a", Some("h"), 1).common(&process("b", Some("h"), 2)).is_none());
        assert!(process("a", None, 1).common(&process("a", None, 2)).is_none());
        // Containers number their processes themselves.
        let other = process("a", None, 1).common(&process("b", None, 1)).expect("may be the same");
        assert!(!other.process);
        let task = End { task: Some(7), ..End::default() };
        assert!(task.common(&process("a", None, 7)).is_some_and(|common| common.process));
        assert!(task.common(&process("a", None, 8)).is_some_and(|common| !common.process));
    }
}
