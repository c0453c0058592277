//! One look at everything: kernel, owners, inventory.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::metrics::Figures;
use super::netlink::{KernelView, RdmaSocket, ReadError, Reader, is_absent};
use super::{DeviceFacts, Inventory, Owners, Qp, QpEvent};
use crate::capture::Timestamp;
use crate::sweep::Durations;

/// Takes looks and keeps what they showed.
#[derive(Debug)]
pub struct Poller<O, S> {
    reader: Reader<O, S>,
    owners: Owners,
    inventory: Inventory,
    state: ReadState,
    looked: Option<Timestamp>,
    has_rdma: bool,
    durations: Durations,
}

/// What came of the last look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ReadState {
    /// The inventory is turned off.
    #[default]
    Off,
    /// There was none yet.
    Waiting,
    /// The kernel has no RDMA, or no device.
    NoRdma,
    /// It went well.
    Read,
    /// It failed: what is known is of an earlier look.
    Failed(String),
}

/// What the last looks showed, for whoever asks.
#[derive(Clone, Debug, Default)]
pub struct QpSnapshot {
    /// What came of the last look.
    pub state: ReadState,
    /// Time of the last look that went well.
    pub looked: Option<Timestamp>,
    /// The queue pairs, in the order of device and number.
    pub qps: Arc<Vec<Qp>>,
    /// The devices.
    pub devices: Arc<Vec<DeviceFacts>>,
    /// What is exported of them; `None` as long as there is no RDMA.
    pub figures: Option<Arc<Figures>>,
}

impl ReadState {
    /// In words.
    pub fn text(&self) -> &str {
        match self {
            Self::Off => "the inventory of queue pairs is off (--qp-inventory-interval 0)",
            Self::Waiting => "not looked yet",
            Self::NoRdma => "no RDMA on this host",
            Self::Read => "ok",
            Self::Failed(error) => error,
        }
    }
}

impl<O: FnMut() -> io::Result<S>, S: RdmaSocket> Poller<O, S> {
    /// Asks over sockets that `open` gives, and looks for processes under `proc`, which is `/proc` unless in a test. At most
    /// `limit` queue pairs are kept.
    pub fn new(open: O, proc: &Path, limit: usize) -> Self {
        Self {
            reader: Reader::new(open, limit),
            owners: Owners::new(proc),
            inventory: Inventory::new(limit),
            state: ReadState::Waiting,
            looked: None,
            has_rdma: false,
            durations: Durations::default(),
        }
    }

    /// Takes a look at time `now`; `uptime` is the time since some fixed moment. What changed.
    pub fn look(&mut self, now: Timestamp, uptime: Duration) -> Vec<QpEvent> {
        let start = Instant::now();
        let view = match self.reader.read(uptime) {
            Ok(view) => view,
            Err(ReadError::Open(error)) if is_absent(&error) => KernelView::default(),
            Err(error) => {
                self.state = ReadState::Failed(error.to_string());
                return Vec::new();
            }
        };
        self.state = if view.devices.is_empty() { ReadState::NoRdma } else { ReadState::Read };
        self.has_rdma |= self.state == ReadState::Read;
        self.looked = Some(now);
        self.owners.begin_sweep();
        let owners = &mut self.owners;
        let events = self.inventory.update(view, now, &mut |task| owners.find(task));
        self.durations.add(start.elapsed());
        events
    }

    /// What came of the last look.
    pub const fn state(&self) -> &ReadState {
        &self.state
    }

    /// What is known now. `skipped` is how many looks were left out, `lost_events` how many events nobody
    /// took in time.
    pub fn snapshot(&self, skipped: u64, lost_events: u64) -> QpSnapshot {
        QpSnapshot {
            state: self.state.clone(),
            looked: self.looked,
            qps: self.inventory.qps(),
            devices: self.inventory.devices(),
            figures: self.has_rdma.then(|| Arc::new(self.figures(skipped, lost_events))),
        }
    }

    fn figures(&self, skipped: u64, lost_events: u64) -> Figures {
        // After a failure nobody knows how many there are.
        let qps = match self.state {
            ReadState::Failed(_) => BTreeMap::new(),
            _ => self.inventory.population(),
        };
        let failed = self.inventory.failed().iter();
        Figures {
            qps: qps
                .into_iter()
                .map(|((device, kind, state), qps)| (device, kind, state, qps))
                .collect(),
            failed: failed.map(|((device, kind), qps)| (Arc::clone(device), *kind, *qps)).collect(),
            reads: self.reader.counts(),
            owners: self.owners.counts(),
            out_of_sight: self.inventory.out_of_sight(),
            lost_events,
            skipped,
            durations: self.durations,
        }
    }
}
