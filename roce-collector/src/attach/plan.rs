//! What is tried for one direction of an interface, and in which order.

use super::drivers::restarts_queues;
use super::{Direction, HookChoice, LinkFacts, Mode};

/// What the kernel can do, as far as earlier attempts have shown. True until then: versions say
/// little about distribution kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelFacts {
    /// XDP programs that take frames in several buffers (Linux 5.18).
    pub xdp_frags: bool,
    /// TC programs attached by a link (Linux 6.6).
    pub tcx: bool,
}

/// A program of the eBPF object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// XDP for frames in several buffers.
    XdpFrags,
    /// XDP for frames in one buffer.
    Xdp,
    /// TC, received frames.
    TcIngress,
    /// TC, sent frames.
    TcEgress,
}

/// One step of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Attach `program` this way.
    Try {
        /// How.
        mode: Mode,
        /// What.
        program: Program,
        /// What the user should know if it succeeds.
        note: Option<String>,
    },
    /// Do not try this way, because of `reason`.
    Skip {
        /// What is not tried.
        mode: Mode,
        /// Why.
        reason: String,
    },
}

impl Default for KernelFacts {
    fn default() -> Self {
        Self { xdp_frags: true, tcx: true }
    }
}

impl Program {
    /// Every program.
    pub const ALL: [Self; 4] = [Self::XdpFrags, Self::Xdp, Self::TcIngress, Self::TcEgress];
    /// Programs attached to TC.
    pub const TC: [Self; 2] = [Self::TcIngress, Self::TcEgress];

    /// Whether it is attached to TC.
    pub const fn is_tc(self) -> bool {
        matches!(self, Self::TcIngress | Self::TcEgress)
    }

    /// Name in the object, and of the filter when attached to `clsact`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::XdpFrags => "roce_xdp_frags",
            Self::Xdp => "roce_xdp",
            Self::TcIngress => "roce_tc_ingress",
            Self::TcEgress => "roce_tc_egress",
        }
    }
}

/// The steps to take, best first, until one succeeds.
///
/// A plan without a [`Step::Try`] says by its [`Step::Skip`]s why nothing is possible.
pub fn plan(
    link: &LinkFacts,
    direction: Direction,
    choice: HookChoice,
    kernel: KernelFacts,
) -> Vec<Step> {
    let planner = Planner { link, kernel };
    let mut steps = Vec::new();
    match (direction, choice) {
        (Direction::Egress, HookChoice::Auto) | (_, HookChoice::Tc) => {
            planner.tc(direction, &mut steps);
        }
        (Direction::Egress, HookChoice::Xdp | HookChoice::XdpGeneric) => {
            let mode = if choice == HookChoice::Xdp { Mode::Native } else { Mode::Generic };
            let reason = "XDP sees received frames only".to_owned();
            steps.push(Step::Skip { mode, reason });
            planner.tc(direction, &mut steps);
        }
        (Direction::Ingress, HookChoice::Xdp) => planner.xdp(Mode::Native, &mut steps),
        (Direction::Ingress, HookChoice::XdpGeneric) => planner.xdp(Mode::Generic, &mut steps),
        (Direction::Ingress, HookChoice::Auto) => {
            match planner.interruption() {
                Some(reason) => steps.push(Step::Skip { mode: Mode::Native, reason }),
                None => planner.xdp(Mode::Native, &mut steps),
            }
            planner.tc(direction, &mut steps);
            planner.xdp(Mode::Generic, &mut steps);
        }
    }
    steps
}

struct Planner<'a> {
    link: &'a LinkFacts,
    kernel: KernelFacts,
}

impl Planner<'_> {
    /// Why native XDP would interrupt traffic, if it would.
    fn interruption(&self) -> Option<String> {
        let driver = self.link.driver.as_deref().filter(|driver| restarts_queues(driver))?;
        Some(format!(
            "native XDP on {driver} restarts its receive queues and interrupts traffic; ask for it \
             with --hook xdp"
        ))
    }

    /// Why XDP is left alone, if another program is there. Modes exclude each other.
    fn occupied(&self) -> Option<String> {
        let other = self.link.xdp.first()?;
        Some(format!(
            "another XDP program, id {} in {} mode, is attached and is left alone",
            other.program,
            other.mode.name()
        ))
    }

    fn xdp(&self, mode: Mode, steps: &mut Vec<Step>) {
        if let Some(reason) = self.occupied() {
            steps.push(Step::Skip { mode, reason });
            return;
        }
        let interrupted = self
            .link
            .driver
            .as_deref()
            .filter(|driver| mode == Mode::Native && restarts_queues(driver));
        let interrupted =
            interrupted.map(|driver| format!("{driver} restarted its receive queues for this"));
        if self.kernel.xdp_frags {
            steps.push(Step::Try { mode, program: Program::XdpFrags, note: interrupted.clone() });
        }
        let limit = "without multi-buffer XDP: frames of more than one page may not be seen";
        let note = interrupted.map_or(limit.to_owned(), |note| format!("{note}; {limit}"));
        steps.push(Step::Try { mode, program: Program::Xdp, note: Some(note) });
    }

    fn tc(&self, direction: Direction, steps: &mut Vec<Step>) {
        let program = match direction {
            Direction::Ingress => Program::TcIngress,
            Direction::Egress => Program::TcEgress,
        };
        if self.kernel.tcx {
            steps.push(Step::Try { mode: Mode::Tcx, program, note: None });
        }
        let note = Some("this filter outlives a killed process until the next start".to_owned());
        steps.push(Step::Try { mode: Mode::Clsact, program, note });
    }
}

/// Whether `choice` asks for a hook that `direction` does not have at all.
pub fn is_impossible(choice: HookChoice, directions: &[Direction]) -> bool {
    let wants_xdp = matches!(choice, HookChoice::Xdp | HookChoice::XdpGeneric);
    wants_xdp && !directions.contains(&Direction::Ingress)
}

#[cfg(test)]
mod tests;
