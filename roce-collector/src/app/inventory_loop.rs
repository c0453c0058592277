//! The thread that asks the kernel for its queue pairs. Their drivers may take their time.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::mpsc::{self, error::TrySendError};
use tokio::sync::watch;

use crate::capture::Timestamp;
use crate::cli::collector::Collector;
use crate::explain::OWN_MARK;
use crate::inventory::netlink::KernelSocket;
use crate::inventory::{Change, Pace, Poller, QpEvent, QpSnapshot, ReadState};

/// Time between two looks at the clock and the stop flag.
const TICK: Duration = Duration::from_millis(50);
/// Events that may wait to be taken.
const MAX_EVENTS: usize = 16 * 1024;
/// Failed queue pairs that a sweep writes into the log by themselves.
const MAX_LINES: usize = 16;

/// The running thread, if the inventory is on.
#[derive(Debug)]
pub(super) struct InventoryLoop {
    snapshot: watch::Receiver<Arc<QpSnapshot>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Running {
    sysfs: PathBuf,
    proc: PathBuf,
    limit: usize,
    pace: Pace,
    snapshot: watch::Sender<Arc<QpSnapshot>>,
    events: mpsc::Sender<QpEvent>,
    lost_events: u64,
    said: ReadState,
}

impl InventoryLoop {
    /// Starts it, with the events that it gives. They are lost, and counted, while nobody takes them; once
    /// the receiver is dropped nobody wants them.
    pub(super) fn start(
        collector: &Collector,
        is_stopping: Arc<AtomicBool>,
    ) -> io::Result<(Self, mpsc::Receiver<QpEvent>)> {
        let (events, receiver) = mpsc::channel(MAX_EVENTS);
        let Some(interval) = collector.inventory.interval() else {
            let (_, snapshot) = watch::channel(Arc::default());
            return Ok((Self { snapshot, thread: None }, receiver));
        };
        let waiting = QpSnapshot { state: ReadState::Waiting, ..QpSnapshot::default() };
        let (publisher, snapshot) = watch::channel(Arc::new(waiting));
        let running = Running {
            sysfs: collector.running.sysfs_root.clone(),
            proc: collector.inventory.procfs_root.clone(),
            limit: collector.inventory.max_qps as usize,
            pace: Pace::new(interval),
            snapshot: publisher,
            events,
            lost_events: 0,
            said: ReadState::Waiting,
        };
        let thread = thread::Builder::new().name("inventory".to_owned());
        let thread = thread.spawn(move || running.run(&is_stopping))?;
        Ok((Self { snapshot, thread: Some(thread) }, receiver))
    }

    /// The latest snapshot.
    pub(super) fn snapshot(&self) -> watch::Receiver<Arc<QpSnapshot>> {
        self.snapshot.clone()
    }

    pub(super) fn join(self) -> thread::Result<()> {
        self.thread.map_or(Ok(()), JoinHandle::join)
    }
}

impl Running {
    fn run(mut self, is_stopping: &AtomicBool) {
        let sysfs = self.sysfs.clone();
        let mut poller = Poller::new(|| KernelSocket::open(&sysfs), &self.proc, self.limit);
        let started = Instant::now();
        let mut due = started;
        while !is_stopping.load(Ordering::Relaxed) {
            let start = Instant::now();
            if start < due {
                thread::sleep(TICK.min(due - start));
                continue;
            }
            let events = poller.look(now(), started.elapsed());
            due = start + self.pace.after(start.elapsed());
            self.say(poller.state());
            log_failures(&events);
            self.send(events);
            let snapshot = poller.snapshot(self.pace.skipped(), self.lost_events);
            self.snapshot.send_replace(Arc::new(snapshot));
        }
    }

    fn send(&mut self, events: Vec<QpEvent>) {
        for event in events {
            match self.events.try_send(event) {
                Ok(()) => {}
                Err(TrySendError::Full(_)) => self.lost_events += 1,
                Err(TrySendError::Closed(_)) => return,
            }
        }
    }

    fn say(&mut self, state: &ReadState) {
        if *state == self.said {
            return;
        }
        match state {
            ReadState::Failed(error) => tracing::warn!("queue pairs are not listed: {error}"),
            ReadState::Read => tracing::info!("queue pairs are listed over RDMA netlink"),
            other => tracing::info!("{}", other.text()),
        }
        self.said = state.clone();
    }
}

fn log_failures(events: &[QpEvent]) {
    let failures: Vec<_> =
        events.iter().filter(|event| matches!(event.change, Change::Failed { .. })).collect();
    for event in failures.iter().take(MAX_LINES) {
        tracing::warn!(
            origin = OWN_MARK,
            device = &*event.qp.device,
            lqpn = event.qp.lqpn,
            rqpn = event.qp.rqpn,
            pid = event.qp.pid(),
            "{event}"
        );
    }
    if let Some(more) = failures.len().checked_sub(MAX_LINES).filter(|more| *more > 0) {
        tracing::warn!("{more} more queue pairs are in ERR; /api/v1/qps?state=ERR has them");
    }
}

fn now() -> Timestamp {
    let since_epoch = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    Timestamp::from_nanos(since_epoch.as_nanos() as u64)
}
