//! One program on one hook.

use std::error::Error;
use std::io;
use std::process;

use super::Datapath;
use crate::attach::{Direction, LinkFacts, Mode, Program, Refusal, TcFilter};
use aya::programs::tc::{self, NlOptions, SchedClassifierLink, TcAttachOptions, TcError, TcHandle};
use aya::programs::xdp::{XdpError, XdpLink};
use aya::programs::{LinkOrder, ProgramError, SchedClassifier, TcAttachType, Xdp, XdpMode};

/// A program that is attached until this is dropped.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) direction: Direction,
    pub(super) mode: Mode,
    link: Link,
}

#[derive(Debug)]
enum Link {
    Xdp {
        /// Id of the program.
        program: u32,
        _link: XdpLink,
    },
    Tcx(#[expect(dead_code, reason = "dropping it detaches")] SchedClassifierLink),
    Clsact {
        filter: TcFilter,
        _link: SchedClassifierLink,
    },
}

/// At which step the kernel refused.
#[derive(Debug)]
pub(super) enum Failure {
    /// Loading the program.
    Load(Refusal),
    /// Attaching it.
    Attach(Refusal),
}

impl Held {
    /// Whether the facts, read later, still show it. A TC link cannot be lost while its interface
    /// exists, unless somebody detaches it by force.
    pub(super) fn is_on(&self, link: &LinkFacts) -> bool {
        match &self.link {
            Link::Xdp { program, .. } => link.xdp.iter().any(|xdp| xdp.program == *program),
            Link::Tcx(_) => true,
            Link::Clsact { filter, .. } => link.filters.contains(filter),
        }
    }
}

/// Loads `program` where that is still to do, and attaches it.
pub(super) fn attach(
    datapath: &mut Datapath,
    target: &LinkFacts,
    direction: Direction,
    mode: Mode,
    program: Program,
) -> Result<Held, Failure> {
    let name = program.name();
    let found =
        datapath.ebpf.program_mut(name).ok_or_else(|| unfit(name, &ProgramError::NotLoaded))?;
    let link = match mode {
        Mode::Native | Mode::Generic => {
            let xdp: &mut Xdp = found.try_into().map_err(|error| unfit(name, &error))?;
            loaded(xdp.load())?;
            attach_xdp(xdp, target, mode).map_err(|error| attach_refused(&error))?
        }
        Mode::Tcx | Mode::Clsact => {
            let tc: &mut SchedClassifier = found.try_into().map_err(|error| unfit(name, &error))?;
            loaded(tc.load())?;
            attach_tc(tc, target, direction, mode).map_err(|error| attach_refused(&error))?
        }
    };
    Ok(Held { direction, mode, link })
}

/// Removes a filter whose process is gone. One that is gone as well is as good.
pub(super) fn remove_filter(interface: &str, filter: TcFilter) {
    let TcFilter { direction, priority, handle } = filter;
    let handle = TcHandle::from(handle);
    let link = SchedClassifierLink::attached(interface, tc_type(direction), priority, handle, None);
    // Dropping the link detaches its filter.
    drop(link);
}

fn attach_xdp(xdp: &mut Xdp, target: &LinkFacts, mode: Mode) -> Result<Link, ProgramError> {
    let mode = if mode == Mode::Native { XdpMode::Driver } else { XdpMode::Skb };
    let program = xdp.info()?.id();
    let id = xdp.attach_to_if_index(target.index, mode)?;
    Ok(Link::Xdp { program, _link: xdp.take_link(id)? })
}

fn attach_tc(
    program: &mut SchedClassifier,
    target: &LinkFacts,
    direction: Direction,
    mode: Mode,
) -> Result<Link, ProgramError> {
    let attach_type = tc_type(direction);
    let options = if mode == Mode::Tcx {
        // Next to the wire, so that what others drop or send elsewhere is seen as it was there.
        TcAttachOptions::TcxOrder(match direction {
            Direction::Ingress => LinkOrder::first(),
            Direction::Egress => LinkOrder::last(),
        })
    } else {
        add_clsact(&target.name)?;
        let handle = TcHandle::from(process::id());
        TcAttachOptions::Netlink(NlOptions { handle, ..NlOptions::default() })
    };
    let id = program.attach_with_options(&target.name, attach_type, options)?;
    let link = program.take_link(id)?;
    if mode == Mode::Tcx {
        return Ok(Link::Tcx(link));
    }
    let filter = TcFilter { direction, priority: link.priority()?, handle: link.handle()?.into() };
    Ok(Link::Clsact { filter, _link: link })
}

fn add_clsact(interface: &str) -> Result<(), TcError> {
    match tc::qdisc_add_clsact(interface) {
        Err(TcError::NetlinkError(error)) if error.raw_os_error() == Some(libc::EEXIST) => Ok(()),
        outcome => outcome,
    }
}

const fn tc_type(direction: Direction) -> TcAttachType {
    match direction {
        Direction::Ingress => TcAttachType::Ingress,
        Direction::Egress => TcAttachType::Egress,
    }
}

fn unfit(name: &str, error: &dyn Error) -> Failure {
    let reason = format!("program {name} of the eBPF object: {error}; build both from one source");
    Failure::Load(Refusal::Other { errno: None, reason })
}

fn loaded(outcome: Result<(), ProgramError>) -> Result<(), Failure> {
    match outcome {
        Ok(()) | Err(ProgramError::AlreadyLoaded) => Ok(()),
        Err(ProgramError::LoadError { io_error, verifier_log }) => {
            Err(Failure::Load(Refusal::of_load(&io_error, &verifier_log.to_string())))
        }
        Err(error) => Err(Failure::Load(Refusal::Other { errno: None, reason: chain(&error) })),
    }
}

fn attach_refused(error: &ProgramError) -> Failure {
    Failure::Attach(Refusal::of_attach(errno(error), &chain(error)))
}

fn errno(error: &ProgramError) -> Option<i32> {
    match error {
        ProgramError::SyscallError(error) => error.io_error.raw_os_error(),
        ProgramError::XdpError(XdpError::NetlinkError(error))
        | ProgramError::TcError(TcError::NetlinkError(error)) => error.raw_os_error(),
        ProgramError::TcError(TcError::IoError(error)) => io::Error::raw_os_error(error),
        _ => None,
    }
}

/// An error with its causes, on one line.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        if !text.ends_with(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        cause = error.source();
    }
    text
}
