//! The queue pairs of this host from sweep to sweep, and what happened to them.
//!
//! Pure: views of the kernel and times come in, events come out.

mod event;
mod facts;
mod merge;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use event::{Change, QpEvent};
pub use facts::{DeviceFacts, PortFacts, Qp};

use super::netlink::KernelView;
use super::owner::Owner;
use super::qp::{QpState, QpType};
use crate::capture::Timestamp;
use merge::Merge;

/// Gives the owner of a task; `None` when that has to wait for the next sweep.
pub type OwnerOf<'a> = &'a mut dyn FnMut(u32) -> Option<Arc<Owner>>;

/// All queue pairs that are known, in the order of device and number.
#[derive(Clone, Debug)]
pub struct Inventory {
    limit: usize,
    qps: Arc<Vec<Qp>>,
    devices: Arc<Vec<DeviceFacts>>,
    is_first: bool,
    failed: BTreeMap<(Arc<str>, QpType), u64>,
    out_of_sight: u64,
}

impl Inventory {
    /// Nothing yet; room for `limit` queue pairs.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            qps: Arc::default(),
            devices: Arc::default(),
            is_first: true,
            failed: BTreeMap::new(),
            out_of_sight: 0,
        }
    }

    /// Takes up a view of `time`. What changed since the last one, in the order of queue pairs.
    ///
    /// What the first view has is where things start: nothing appeared in it.
    pub fn update(
        &mut self,
        view: KernelView,
        time: Timestamp,
        owner: OwnerOf<'_>,
    ) -> Vec<QpEvent> {
        let devices: Vec<_> = view.devices.into_iter().map(DeviceFacts::from).collect();
        let mut merge = Merge::new(&devices, time, owner, self.is_first);
        merge.run(&self.qps, view.qps);
        let (mut qps, mut events) = merge.finish();
        if qps.len() > self.limit {
            // The view has no more than that, so what it lacks makes room.
            let gone = qps.extract_if(.., |qp| qp.missed > 0);
            events.extend(gone.map(|qp| QpEvent { time, change: Change::OutOfSight, qp }));
        }
        for event in &events {
            match event.change {
                Change::Failed { .. } => {
                    let key = (Arc::clone(&event.qp.device), event.qp.qp_type);
                    *self.failed.entry(key).or_default() += 1;
                }
                Change::OutOfSight => self.out_of_sight += 1,
                _ => {}
            }
        }
        self.qps = Arc::new(qps);
        self.devices = Arc::new(devices);
        self.is_first = false;
        events
    }

    /// The queue pairs.
    pub fn qps(&self) -> Arc<Vec<Qp>> {
        Arc::clone(&self.qps)
    }

    /// The devices.
    pub fn devices(&self) -> Arc<Vec<DeviceFacts>> {
        Arc::clone(&self.devices)
    }

    /// How many queue pairs of a device and type were seen to go into ERR, or to be in it at first sight.
    pub const fn failed(&self) -> &BTreeMap<(Arc<str>, QpType), u64> {
        &self.failed
    }

    /// Queue pairs that were given up without knowing what became of them.
    pub const fn out_of_sight(&self) -> u64 {
        self.out_of_sight
    }

    /// Queue pairs by device, type and state.
    pub fn population(&self) -> BTreeMap<(Arc<str>, QpType, QpState), u64> {
        let mut population = BTreeMap::new();
        for qp in self.qps.iter() {
            *population.entry((Arc::clone(&qp.device), qp.qp_type, qp.state)).or_default() += 1;
        }
        population
    }
}

#[cfg(test)]
mod property;
#[cfg(test)]
mod tests;
