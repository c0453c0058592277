//! The thread that looks at the RDMA devices. Their drivers may take their time.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use roce_common::tap::TapCounters;
use tokio::sync::watch;

use crate::cli::collector::Collector;
use crate::host::{HookPackets, HostReport, HostWatch};
use crate::http::Status;

/// Time between two looks.
const PERIOD: Duration = Duration::from_secs(5);
/// Time between two looks at the clock and the stop flag.
const TICK: Duration = Duration::from_millis(100);

/// A sweep that ended so long after a moment began after it.
const SWEEP_TIME: Duration = Duration::from_millis(250);

/// The latest report.
pub(super) type SharedReport = Arc<Mutex<HostReport>>;

/// The running thread.
#[derive(Debug)]
pub(super) struct HostLoop {
    report: SharedReport,
    thread: JoinHandle<()>,
}

impl HostLoop {
    pub(super) fn start(
        collector: &Collector,
        status: watch::Receiver<Arc<Status>>,
        is_stopping: Arc<AtomicBool>,
    ) -> io::Result<Self> {
        let mut watch = HostWatch::new(&collector.running.sysfs_root, &collector.interfaces);
        let interfaces = collector.interfaces.len();
        let report = SharedReport::default();
        let shared = Arc::clone(&report);
        let thread = thread::Builder::new().name("host".to_owned()).spawn(move || {
            let mut due = Instant::now();
            let mut counted = None;
            while !is_stopping.load(Ordering::Relaxed) {
                if counted.is_none() && Instant::now() >= due {
                    due = Instant::now() + PERIOD;
                    let counters = watch.count();
                    counted = Some((Instant::now(), counters));
                }
                // What the hooks saw up to then is known after the next sweep that begins later.
                let swept = status.borrow().swept;
                let is_swept = |at: Instant| swept > Some(at + SWEEP_TIME);
                if let Some((_, counters)) = counted.take_if(|(at, _)| is_swept(*at)) {
                    let packets = hook_packets(&status.borrow(), interfaces);
                    let report = watch.compare(counters, &packets);
                    *shared.lock().unwrap_or_else(PoisonError::into_inner) = report;
                }
                thread::sleep(TICK);
            }
        })?;
        Ok(Self { report, thread })
    }

    pub(super) fn report(&self) -> SharedReport {
        Arc::clone(&self.report)
    }

    pub(super) fn join(self) -> thread::Result<()> {
        self.thread.join()
    }
}

fn hook_packets(status: &Status, interfaces: usize) -> Vec<HookPackets> {
    let snapshot = &status.snapshot;
    let packets = |tap: usize| {
        let is_attached = snapshot.hooks.get(tap)?.is_some();
        is_attached.then(|| snapshot.view.taps.get(tap).map(TapCounters::packets)).flatten()
    };
    (0..interfaces).map(|device| [packets(device * 2), packets(device * 2 + 1)]).collect()
}
