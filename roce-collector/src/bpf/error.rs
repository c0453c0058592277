//! What can go wrong with the kernel side.

use std::io;

/// Why the datapath cannot be loaded or read.
#[derive(Debug, thiserror::Error)]
pub enum DatapathError {
    /// The kernel refused the object's maps.
    #[error(
        "cannot create the BPF maps: {0}; this needs CAP_BPF and CAP_NET_ADMIN (run as root), a kernel \
         with BPF, and before kernel 5.11 `ulimit -l unlimited`"
    )]
    Load(#[source] aya::EbpfError),
    /// The object lacks a part: it is another version than this program.
    #[error("the eBPF object has no {0}; build both from the same sources")]
    Missing(&'static str),
    /// A map cannot be mapped into memory.
    #[error("cannot map the BPF map {map} ({bytes} bytes): {source}")]
    Map {
        /// Name of the map.
        map: &'static str,
        /// Its size.
        bytes: usize,
        /// What the kernel said.
        source: io::Error,
    },
    /// A map operation failed.
    #[error("BPF map {map}: {source}")]
    Access {
        /// Name of the map.
        map: &'static str,
        /// What aya said.
        source: aya::maps::MapError,
    },
    /// The kernel refused a program.
    #[error("the kernel refused the program {name}: {source}")]
    Program {
        /// Name of the program.
        name: &'static str,
        /// What aya said, with the verifier's log.
        source: aya::programs::ProgramError,
    },
    /// The number of CPUs is not known.
    #[error("cannot read {file}: {source}")]
    Cpus {
        /// The file that says it.
        file: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// Run times cannot be measured.
    #[error("cannot measure run times: {0}; --bpf-stats needs CAP_SYS_ADMIN (run as root)")]
    Statistics(#[source] aya::sys::SyscallError),
    /// An option makes no sense.
    #[error("{what} is {value}, but must be between {min} and {max}")]
    Option {
        /// The option.
        what: &'static str,
        /// What was given.
        value: u32,
        /// Smallest value.
        min: u32,
        /// Largest value.
        max: u32,
    },
}
