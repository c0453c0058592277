//! The objects that the product loads.

/// One eBPF object. Each has a package, a stamp and a committed file of its own, so that a kernel that
/// refuses one costs nothing of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Object {
    /// XDP and TC programs.
    Datapath,
    /// Probes on the kernel's queue pairs.
    QpWatch,
}

impl Object {
    /// All that there are.
    pub const ALL: [Self; 2] = [Self::Datapath, Self::QpWatch];

    /// The package of the workspace that it is built from.
    pub const fn package(self) -> &'static str {
        match self {
            Self::Datapath => "roce-ebpf",
            Self::QpWatch => "roce-ebpf-qp-watch",
        }
    }

    /// Name of the binary in that package.
    pub(crate) const fn binary(self) -> &'static str {
        match self {
            Self::Datapath => "roce",
            Self::QpWatch => "qp-watch",
        }
    }

    /// Name of the file, wherever it lies.
    pub const fn file_name(self) -> &'static str {
        match self {
            Self::Datapath => "roce.bpf.o",
            Self::QpWatch => "qp-watch.bpf.o",
        }
    }
}
