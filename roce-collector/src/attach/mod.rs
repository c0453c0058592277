//! Attaching to interfaces, as far as it can be decided without the kernel's BPF side.
//!
//! [`LinkSource`] reads facts about the interfaces, [`resolve`] refuses those that cannot be attached
//! to, [`plan()`] says in which order the hooks are tried, and [`AttachTable`] records what came of it.
//! `bpf::Attachments` carries the plans out.
//!
//! Everything is detached when the process ends, however it ends, with one exception: before Linux
//! 6.6 TC programs are filters of a `clsact` queueing discipline, which stay when the process is
//! killed by SIGKILL. They count into nothing, and the next start on that interface removes them.
//! The queueing discipline itself stays, empty.

mod choice;
mod drivers;
mod error;
mod event;
mod leftover;
mod links;
mod netlink;
mod plan;
mod refusal;
mod table;
mod target;
#[cfg(test)]
mod testing;

pub use choice::{Direction, DirectionChoice, Hook, HookChoice, Mode};
pub use drivers::restarts_queues;
pub use error::AttachError;
pub use event::Event;
pub use leftover::is_leftover;
pub use links::{AttachedXdp, LinkFacts, LinkKind, Links, TcFilter, XdpMode};
pub use netlink::{LinkError, LinkSource};
pub use plan::{KernelFacts, Program, Step, is_impossible, plan};
pub use refusal::Refusal;
pub use table::{AttachRow, AttachTable, AttachedHook, Outcome, Rejection};
pub use target::{TargetError, check_target, resolve};
