//! What happened to attached interfaces since the last look.

use std::fmt;

use super::{Direction, Mode};

/// A change that was found, and what was done about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The interface is gone; it is attached to again when it comes back.
    Lost {
        /// Its name.
        interface: String,
    },
    /// The interface is there, and every direction is attached.
    Attached {
        /// Its name.
        interface: String,
        /// Its index now.
        index: u32,
    },
    /// Somebody else detached a program. Attaching again follows at once.
    Removed {
        /// Name of the interface.
        interface: String,
        /// Direction.
        direction: Direction,
        /// How it had been attached.
        mode: Mode,
    },
    /// Attaching again failed; it is tried again.
    Failed {
        /// Name of the interface.
        interface: String,
        /// Why, on one or more lines.
        reason: String,
    },
}

impl Event {
    /// Name of the interface.
    pub fn interface(&self) -> &str {
        match self {
            Self::Lost { interface }
            | Self::Attached { interface, .. }
            | Self::Removed { interface, .. }
            | Self::Failed { interface, .. } => interface,
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost { interface } => {
                write!(formatter, "{interface} is gone: nothing is seen there until it comes back")
            }
            Self::Attached { interface, index } => {
                write!(formatter, "{interface} is attached again, now with index {index}")
            }
            Self::Removed { interface, direction, mode } => write!(
                formatter,
                "somebody else detached the {direction} program of {interface} ({mode}); attaching again"
            ),
            Self::Failed { interface, reason } => {
                write!(formatter, "{interface} cannot be attached again, trying on: {reason}")
            }
        }
    }
}
