//! What the routes know.

use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::FlowsQuestion;
use crate::export::Snapshot;
use crate::incident::IncidentList;
use crate::inventory::QpSnapshot;

/// The collector is alive when the last sweep is not older than this.
const MAX_SWEEP_AGE: Duration = Duration::from_secs(10);

/// The state that the collector publishes after each sweep.
#[derive(Clone, Debug, Default)]
pub struct Status {
    /// Figures.
    pub snapshot: Arc<Snapshot>,
    /// When the last sweep ended; `None` before the first one.
    pub swept: Option<Instant>,
    /// What was tried to attach and what came of it, as a table.
    pub hooks: String,
    /// What the collector cannot see, one line for each.
    pub blind: Vec<String>,
}

/// Where the routes get their answers from.
#[derive(Clone, Debug)]
pub struct ServerState {
    /// The latest state.
    pub status: watch::Receiver<Arc<Status>>,
    /// Takes questions for flows; who sweeps answers between two sweeps.
    pub flows: SyncSender<FlowsQuestion>,
    /// The queue pairs that the kernel lists.
    pub inventory: watch::Receiver<Arc<QpSnapshot>>,
    /// The latest failures of queue pairs.
    pub incidents: watch::Receiver<IncidentList>,
}

impl Status {
    /// Whether sweeps go on.
    pub fn is_alive(&self) -> bool {
        self.swept.is_some_and(|swept| swept.elapsed() <= MAX_SWEEP_AGE)
    }

    /// Whether anything is attached.
    pub fn is_ready(&self) -> bool {
        self.swept.is_some() && self.snapshot.is_any_attached()
    }
}

impl ServerState {
    pub(super) fn latest(&self) -> Arc<Status> {
        Arc::clone(&self.status.borrow())
    }
}
