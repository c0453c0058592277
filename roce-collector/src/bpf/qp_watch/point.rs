//! The functions of the kernel that are watched, and why one is not.

use std::fmt;

use super::QpFailureKind;

/// One of the watched points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// A program changes the state of a queue pair.
    Modify,
    /// A part of the kernel does: storage, or the connection manager for it.
    KernelModify,
    /// A queue pair is destroyed, by whomever.
    Destroy,
    /// The driver tells an asynchronous event of a queue pair.
    AsyncEvent,
    /// soft-RoCE puts a queue pair into ERR.
    RxeError,
}

/// A function to attach to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Function {
    /// The module that it is in, unless that is built into the kernel.
    pub(super) module: &'static str,
    pub(super) name: &'static str,
    /// What it must take, as far as the program reads it.
    pub(super) parameters: &'static [&'static str],
}

/// Why a point is not watched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Absence {
    /// The kernel is built without kprobes.
    #[error("this kernel has no kprobes")]
    NoKprobes,
    /// The kernel does not describe its types.
    #[error("this kernel has no BTF ({0})")]
    NoBtf(String),
    /// The module is not there (yet).
    #[error("the module {0} is not loaded; tried again when it is")]
    NotLoaded(&'static str),
    /// The module is there, but does not describe its types, as one built apart from the kernel may.
    #[error("the module {0} has no BTF")]
    NoModuleBtf(&'static str),
    /// The kernel is another one than this was made for.
    #[error("this kernel has another form: {0}")]
    Changed(String),
    /// The kernel does not let it be.
    #[error(
        "the kernel refused {what}: {error}; this needs CAP_BPF and CAP_PERFMON, and where the distribution \
         made perf_event_open stricter also CAP_SYS_ADMIN when the collector starts, or \
         `sysctl kernel.perf_event_paranoid=2`"
    )]
    Refused {
        /// What was tried.
        what: &'static str,
        /// What it said.
        error: String,
    },
}

impl Point {
    /// All that there are.
    pub const ALL: [Self; 5] =
        [Self::Modify, Self::KernelModify, Self::Destroy, Self::AsyncEvent, Self::RxeError];

    /// Name in metrics and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Modify => "modify",
            Self::KernelModify => "kernel_modify",
            Self::Destroy => "destroy",
            Self::AsyncEvent => "async_event",
            Self::RxeError => "rxe_error",
        }
    }

    /// Name of its program in the object.
    pub(super) const fn program(self) -> &'static str {
        match self {
            Self::Modify | Self::KernelModify => "qp_modify",
            Self::Destroy => "qp_destroy",
            Self::AsyncEvent => "qp_async_event",
            Self::RxeError => "qp_rxe_error",
        }
    }

    /// Whether this is where such things are seen.
    pub(super) const fn tells(self, kind: QpFailureKind) -> bool {
        match self {
            Self::Modify | Self::KernelModify => matches!(kind, QpFailureKind::ModifiedToErr),
            Self::Destroy => matches!(kind, QpFailureKind::Destroyed),
            Self::AsyncEvent => matches!(kind, QpFailureKind::AsyncEvent(_)),
            Self::RxeError => matches!(kind, QpFailureKind::DriverError),
        }
    }

    /// Where it is watched best.
    pub(super) const fn function(self) -> Function {
        const MODIFIED: &[&str] = &["ib_qp *", "ib_qp_attr *", "int"];
        let (module, name, parameters) = match self {
            Self::Modify => ("ib_core", "ib_modify_qp_with_udata", MODIFIED),
            Self::KernelModify => ("ib_core", "ib_modify_qp", MODIFIED),
            Self::Destroy => ("ib_core", "ib_destroy_qp_user", &["ib_qp *"] as &[_]),
            // Of all queue pairs. It came after Linux 6.1.
            Self::AsyncEvent => ("ib_core", "__ib_qp_event_handler", &["ib_event *"] as &[_]),
            Self::RxeError => ("rdma_rxe", "rxe_qp_error", &["rxe_qp *"] as &[_]),
        };
        Function { module, name, parameters }
    }

    /// Where it is watched where that is not to be had.
    pub(super) const fn fallback(self) -> Option<Function> {
        match self {
            // Of the queue pairs of programs.
            Self::AsyncEvent => Some(Function {
                module: "ib_uverbs",
                name: "ib_uverbs_qp_event_handler",
                parameters: &["ib_event *"],
            }),
            _ => None,
        }
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
