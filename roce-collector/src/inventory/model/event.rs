//! What happened to a queue pair between two sweeps.

use std::fmt;

use super::Qp;
use crate::capture::Timestamp;
use crate::inventory::qp::QpState;

/// Something that happened to a queue pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QpEvent {
    /// Time of the sweep that noticed it. It happened after the sweep before.
    pub time: Timestamp,
    /// What happened.
    pub change: Change,
    /// The queue pair after it; of one that is gone, what was known last.
    pub qp: Qp,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is new.
    Appeared,
    /// It is gone: two whole sweeps in a row did not have it, or its device is gone, or its number belongs
    /// to another one.
    Vanished,
    /// It was not in the last sweeps, but they were not whole: nothing is known about it any more.
    OutOfSight,
    /// Its state is another one, but not ERR.
    State {
        /// The state before.
        from: QpState,
    },
    /// It is in the state ERR.
    Failed {
        /// The state before; `None` when it was in ERR as it was first seen.
        from: Option<QpState>,
    },
}

impl fmt::Display for QpEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { qp, .. } = self;
        match self.change {
            Change::Appeared => write!(f, "{qp} is new, in {}", qp.state),
            Change::Vanished => write!(f, "{qp} is gone, its last state was {}", qp.state),
            Change::OutOfSight => write!(f, "{qp} is not seen any more, sweeps are not whole"),
            Change::State { from } => write!(f, "{qp} went from {from} to {}", qp.state),
            Change::Failed { from: Some(from) } => {
                write!(f, "{qp} went from {from} to {}", qp.state)
            }
            Change::Failed { from: None } => write!(f, "{qp} is in {} as first seen", qp.state),
        }
    }
}
