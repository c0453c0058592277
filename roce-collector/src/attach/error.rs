//! Why attaching failed as a whole.

use super::{AttachTable, Direction, HookChoice, LinkError, TargetError};

/// Why nothing is attached. Whatever had been attached before the error is detached again.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// An interface that cannot be attached to.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The link facts cannot be read.
    #[error(transparent)]
    Links(#[from] LinkError),
    /// More interfaces than the datapath was made for.
    #[error("{given} interfaces were named, but the datapath was loaded for {room}")]
    TooMany {
        /// Interfaces named.
        given: usize,
        /// Interfaces there is room for.
        room: usize,
    },
    /// An XDP hook for sent frames.
    #[error(
        "--hook {} sees received frames only, and --direction egress asks for sent ones; use --hook \
         tc, or another --direction",
        .0.name()
    )]
    EgressByXdp(HookChoice),
    /// The process may not attach.
    #[error("cannot attach to {interface}: {reason}")]
    Refused {
        /// The interface it was refused for.
        interface: String,
        /// Which capability is missing, or that the kernel has no BPF.
        reason: String,
    },
    /// Every way was refused.
    #[error("cannot attach to {interface} for {direction} with --hook {}{}\n{table}", .choice.name(), advice(*.choice))]
    NoHook {
        /// The interface.
        interface: String,
        /// The direction.
        direction: Direction,
        /// The hook asked for.
        choice: HookChoice,
        /// Each way, and why it was refused.
        table: AttachTable,
    },
    /// The datapath lacks a part, or its map of interfaces is refused.
    #[error(transparent)]
    Datapath(#[from] crate::bpf::DatapathError),
}

fn advice(choice: HookChoice) -> &'static str {
    match choice {
        HookChoice::Auto => ":",
        _ => "; --hook auto takes what is possible:",
    }
}
