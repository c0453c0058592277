//! Why the live view ends early.

use std::io;

use crate::attach::{AttachError, LinkError};
use crate::bpf::DatapathError;

/// Why there is nothing to show, or no more.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// Neither a collector nor an interface.
    #[error(
        "no collector answers at {address} ({reason}), and no interface was named; start \
         roce-collector on this node (or say where it is by --collector), or attach to an interface \
         with --iface"
    )]
    Nowhere {
        /// Where a collector was looked for.
        address: String,
        /// Why it did not answer.
        reason: String,
    },
    /// No interface, and no collector wanted.
    #[error("--collector none asks nobody, so an interface is needed: add --iface")]
    NoInterface,
    /// Something answered, but not as a collector does.
    #[error(
        "{address} answers, but not as a collector should: {reason}; say where the collector is by \
         --collector, or attach with --collector none --iface IF"
    )]
    Strange {
        /// Where.
        address: String,
        /// What was wrong.
        reason: String,
    },
    /// The collector answers no more.
    #[error("the collector at {address} does not answer any more: {reason}")]
    Silent {
        /// Where.
        address: String,
        /// Why.
        reason: String,
    },
    /// The collector watches other interfaces.
    #[error(
        "the collector at {address} is not attached to {missing}, but to: {attached}; name one of \
         those, leave --iface out, or attach with --collector none"
    )]
    OtherInterfaces {
        /// Where.
        address: String,
        /// Interfaces that were asked for.
        missing: String,
        /// Interfaces that it is attached to.
        attached: String,
    },
    /// An address that cannot be used.
    #[error("collector address {given:?}: {reason}; expected http://HOST:PORT, or \"none\"")]
    Address {
        /// What was given.
        given: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Attaching failed.
    #[error(transparent)]
    Attach(#[from] AttachError),
    /// The tables cannot be read.
    #[error(transparent)]
    Datapath(#[from] DatapathError),
    /// The interfaces cannot be read.
    #[error(transparent)]
    Links(#[from] LinkError),
    /// Output, keys or signals.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl LiveError {
    pub(super) fn output(source: io::Error) -> Self {
        Self::Io { what: "cannot write the output", source }
    }
}
