//! What a user asks for, and what an attachment is.

use std::fmt;

use clap::ValueEnum;
use serde::Serialize;

/// The hook asked for with `--hook`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum HookChoice {
    /// Native XDP where that interrupts nothing, then TC, then generic XDP.
    #[default]
    Auto,
    /// Native XDP, also on drivers that restart their queues for it.
    Xdp,
    /// Generic XDP, which every driver has.
    XdpGeneric,
    /// TC.
    Tc,
}

/// The directions asked for with `--direction`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum DirectionChoice {
    /// What the interface receives.
    Ingress,
    /// What the interface sends.
    Egress,
    /// Both.
    #[default]
    Both,
}

/// A direction of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Received frames.
    Ingress,
    /// Sent frames.
    Egress,
}

/// Where in the kernel a program is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Hook {
    /// Before the network stack; received frames only.
    Xdp,
    /// Traffic control.
    Tc,
}

/// How a program is attached to its [`Hook`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// XDP in the driver.
    Native,
    /// XDP in the network stack.
    Generic,
    /// TC by a link that ends with its process (Linux 6.6).
    Tcx,
    /// TC by a filter of the `clsact` queueing discipline, which outlives a killed process.
    Clsact,
}

impl HookChoice {
    /// The value as typed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Xdp => "xdp",
            Self::XdpGeneric => "xdp-generic",
            Self::Tc => "tc",
        }
    }
}

impl DirectionChoice {
    /// The single directions.
    pub const fn directions(self) -> &'static [Direction] {
        match self {
            Self::Ingress => &[Direction::Ingress],
            Self::Egress => &[Direction::Egress],
            Self::Both => &[Direction::Ingress, Direction::Egress],
        }
    }
}

impl Direction {
    /// Name in tables and labels.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ingress => "ingress",
            Self::Egress => "egress",
        }
    }
}

impl Hook {
    /// Name in tables and labels.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Xdp => "xdp",
            Self::Tc => "tc",
        }
    }
}

impl Mode {
    /// The hook it belongs to.
    pub const fn hook(self) -> Hook {
        match self {
            Self::Native | Self::Generic => Hook::Xdp,
            Self::Tcx | Self::Clsact => Hook::Tc,
        }
    }

    /// Name in tables and labels.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Generic => "generic",
            Self::Tcx => "tcx",
            Self::Clsact => "clsact",
        }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}
