//! Joins what was known with what the kernel says now.

use std::cmp::Ordering;
use std::mem;
use std::sync::Arc;

use super::{Change, DeviceFacts, OwnerOf, Qp, QpEvent};
use crate::capture::Timestamp;
use crate::inventory::netlink::QpRecord;
use crate::inventory::qp::{QpState, QpType};

/// Whole sweeps in a row without a queue pair, after which it is gone. One is not enough: the kernel may
/// leave some out while others go away.
const SWEEPS_TO_VANISH: u32 = 2;
/// Sweeps in a row without it, of which one or more were not whole, after which it is given up.
const SWEEPS_OUT_OF_SIGHT: u32 = 10;

/// One update of an inventory.
pub(super) struct Merge<'a> {
    devices: &'a [DeviceFacts],
    time: Timestamp,
    owner: OwnerOf<'a>,
    is_first: bool,
    qps: Vec<Qp>,
    events: Vec<QpEvent>,
}

/// What a queue pair is found by. Each port has its own QP 0 and 1.
type Key = (u32, u32, u32);

fn key(device: u32, lqpn: u32, qp_type: QpType, port: Option<u32>) -> Key {
    (device, lqpn, if qp_type.is_special() { port.unwrap_or(0) } else { 0 })
}

fn key_of_record(record: &QpRecord) -> Key {
    key(record.device, record.lqpn, record.qp_type, record.port)
}

fn key_of_qp(qp: &Qp) -> Key {
    key(qp.device_index, qp.lqpn, qp.qp_type, qp.port)
}

impl<'a> Merge<'a> {
    pub(super) const fn new(
        devices: &'a [DeviceFacts],
        time: Timestamp,
        owner: OwnerOf<'a>,
        is_first: bool,
    ) -> Self {
        Self { devices, time, owner, is_first, qps: Vec::new(), events: Vec::new() }
    }

    /// Queue pairs and events, in the order of queue pairs.
    pub(super) fn finish(self) -> (Vec<Qp>, Vec<QpEvent>) {
        (self.qps, self.events)
    }

    pub(super) fn run(&mut self, known: &[Qp], mut records: Vec<QpRecord>) {
        // Almost sorted already. Of one that comes twice, the kernel's last word counts.
        records.sort_by_key(key_of_record);
        records.dedup_by(|later, first| {
            let is_same = key_of_record(later) == key_of_record(first);
            if is_same {
                mem::swap(later, first);
            }
            is_same
        });
        self.qps.reserve(records.len());
        let mut known = known.iter().peekable();
        for record in records {
            let key = key_of_record(&record);
            while let Some(missing) = known.next_if(|qp| key_of_qp(qp) < key) {
                self.miss(missing);
            }
            let before = known.next_if(|qp| key_of_qp(qp).cmp(&key) == Ordering::Equal);
            self.see(before, &record);
        }
        known.for_each(|qp| self.miss(qp));
    }

    fn see(&mut self, before: Option<&Qp>, record: &QpRecord) {
        match before {
            Some(before) if is_same(before, record) => self.see_again(before.clone(), record),
            Some(other) => {
                self.tell(Change::Vanished, other.clone());
                self.see_first(record);
            }
            None => self.see_first(record),
        }
    }

    fn see_first(&mut self, record: &QpRecord) {
        let mut qp = Qp {
            device: Arc::from(""),
            device_index: record.device,
            port: None,
            netdev: None,
            lqpn: record.lqpn,
            rqpn: None,
            qp_type: record.qp_type,
            subtype: record.subtype.as_deref().map(Arc::from),
            state: record.state,
            sq_psn: None,
            rq_psn: None,
            path_migration: None,
            task: record.task,
            owner: None,
            kernel_name: record.kernel_name.as_deref().map(Arc::from),
            first_seen: self.time,
            state_since: self.time,
            missed: 0,
        };
        self.refresh(&mut qp, record);
        if !self.is_first {
            self.tell(Change::Appeared, qp.clone());
        }
        if qp.state == QpState::ERR {
            self.tell(Change::Failed { from: None }, qp.clone());
        }
        self.qps.push(qp);
    }

    fn see_again(&mut self, mut qp: Qp, record: &QpRecord) {
        let from = mem::replace(&mut qp.state, record.state);
        self.refresh(&mut qp, record);
        if qp.state != from {
            qp.state_since = self.time;
            let change = match qp.state {
                QpState::ERR => Change::Failed { from: Some(from) },
                _ => Change::State { from },
            };
            self.tell(change, qp.clone());
        }
        self.qps.push(qp);
    }

    /// Takes up what changes without being an event.
    fn refresh(&mut self, qp: &mut Qp, record: &QpRecord) {
        qp.missed = 0;
        qp.port = record.port.or(qp.port);
        qp.rqpn = record.rqpn.filter(|rqpn| *rqpn != 0);
        qp.sq_psn = record.sq_psn;
        qp.rq_psn = record.rq_psn;
        qp.path_migration = record.path_migration;
        if let Some(device) = self.device(record.device) {
            if qp.device != device.device {
                qp.device = Arc::clone(&device.device);
            }
            qp.netdev = device.netdev(qp.port).cloned();
        }
        if let (None, Some(task)) = (&qp.owner, qp.task) {
            qp.owner = (self.owner)(task);
        }
    }

    fn miss(&mut self, qp: &Qp) {
        let mut qp = qp.clone();
        let device = self.device(qp.device_index).map(|device| device.is_whole);
        qp.missed += 1;
        let change = match device {
            None => Some(Change::Vanished),
            Some(true) => (qp.missed >= SWEEPS_TO_VANISH).then_some(Change::Vanished),
            Some(false) => (qp.missed >= SWEEPS_OUT_OF_SIGHT).then_some(Change::OutOfSight),
        };
        match change {
            Some(change) => self.tell(change, qp),
            None => self.qps.push(qp),
        }
    }

    fn device(&self, index: u32) -> Option<&'a DeviceFacts> {
        self.devices.iter().find(|device| device.index == index)
    }

    fn tell(&mut self, change: Change, qp: Qp) {
        self.events.push(QpEvent { time: self.time, change, qp });
    }
}

/// Whether a record is about a known queue pair, and not about another one that got its number.
fn is_same(qp: &Qp, record: &QpRecord) -> bool {
    // The kernel names a task no more when it ended.
    let is_same_task = record.task.is_none() || record.task == qp.task;
    qp.qp_type == record.qp_type
        && is_same_task
        && qp.kernel_name.as_deref() == record.kernel_name.as_deref()
}
