//! The thread that takes what the probes on queue pairs tell.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::mpsc::{self, error::TrySendError};
use tokio::sync::watch;

use crate::bpf::{
    Absence, Clocks, Point, PointState, QpFailure, QpWatch, QpWatchFigures, event_clock_ns,
};
use crate::capture::Timestamp;
use crate::cli::collector::Collector;
use crate::explain::OWN_MARK;

/// Time between two looks into the ring buffer, which has room for all that a second may bring.
const TICK: Duration = Duration::from_millis(50);
/// Time between two looks for modules that came or went: nothing is tried again more often.
const PERIOD: Duration = Duration::from_secs(2);
/// Failures that may wait to be taken.
const MAX_WAITING: usize = 16 * 1024;
/// Errors that one look writes into the log by themselves.
const MAX_LINES: usize = 16;

/// What the thread tells of itself; `None` when it is off.
pub(super) type SharedFigures = watch::Receiver<Option<Arc<QpWatchFigures>>>;

/// The running thread, if queue pairs are watched.
#[derive(Debug)]
pub(super) struct QpWatchLoop {
    figures: SharedFigures,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Running {
    probes: QpWatch,
    failures: mpsc::Sender<QpFailure>,
    figures: QpWatchFigures,
    publisher: watch::Sender<Option<Arc<QpWatchFigures>>>,
}

/// Attaches the probes, unless they are turned off. Before privileges are dropped: some distributions let
/// nobody but CAP_SYS_ADMIN open a probe (`kernel.perf_event_paranoid` above 2).
pub(super) fn attach(collector: &Collector) -> Option<QpWatch> {
    let is_on = collector.inventory.qp_watch.is_on();
    is_on.then(|| QpWatch::start(&collector.running.sysfs_root))
}

impl QpWatchLoop {
    /// Starts it, with the failures that it gives. They are lost, and counted, while nobody takes them; once
    /// the receiver is dropped nobody wants them.
    pub(super) fn start(
        probes: Option<QpWatch>,
        is_stopping: Arc<AtomicBool>,
    ) -> io::Result<(Self, mpsc::Receiver<QpFailure>)> {
        let (failures, receiver) = mpsc::channel(MAX_WAITING);
        let (publisher, figures) = watch::channel(None);
        let Some(probes) = probes else {
            return Ok((Self { figures, thread: None }, receiver));
        };
        let running = Running { probes, failures, figures: QpWatchFigures::default(), publisher };
        let thread = thread::Builder::new().name("qp-watch".to_owned());
        let thread = thread.spawn(move || running.run(&is_stopping))?;
        Ok((Self { figures, thread: Some(thread) }, receiver))
    }

    /// The latest figures.
    pub(super) fn figures(&self) -> SharedFigures {
        self.figures.clone()
    }

    pub(super) fn join(self) -> thread::Result<()> {
        self.thread.map_or(Ok(()), JoinHandle::join)
    }
}

impl Running {
    fn run(mut self, is_stopping: &AtomicBool) {
        say(&self.probes);
        let mut due = Instant::now();
        while !is_stopping.load(Ordering::Relaxed) {
            self.take();
            if Instant::now() >= due {
                due = Instant::now() + PERIOD;
                if self.probes.look() {
                    say(&self.probes);
                }
                self.publish();
            }
            thread::sleep(TICK);
        }
    }

    fn take(&mut self) {
        let now = clocks();
        let mut lines = 0;
        while let Some(failure) = self.probes.take(now) {
            self.figures.count(&failure);
            if failure.is_error() {
                lines += 1;
                if lines <= MAX_LINES {
                    log(&failure);
                }
            }
            match self.failures.try_send(failure) {
                Ok(()) | Err(TrySendError::Closed(_)) => {}
                Err(TrySendError::Full(_)) => self.figures.not_taken += 1,
            }
        }
        if let Some(more) = lines.checked_sub(MAX_LINES).filter(|more| *more > 0) {
            tracing::warn!("{more} more errors of queue pairs at the same time");
        }
    }

    fn publish(&mut self) {
        let Self { probes, figures, .. } = self;
        figures.points = probes.state().map(|(point, state)| (point, state.is_ok())).collect();
        figures.lost = probes.lost();
        figures.damaged = probes.damaged();
        self.publisher.send_replace(Some(Arc::new(self.figures.clone())));
    }
}

fn log(failure: &QpFailure) {
    tracing::warn!(
        origin = OWN_MARK,
        device = &*failure.device,
        lqpn = failure.lqpn,
        rqpn = failure.settings.rqpn,
        pid = failure.pid,
        what = failure.what.name(),
        "{failure}"
    );
}

/// Says what is watched in one line, and why the rest is not in one for each reason.
fn say(watch: &QpWatch) {
    let mut watched = Vec::new();
    let mut absent: Vec<(&Absence, Vec<&str>)> = Vec::new();
    for (point, state) in watch.state() {
        match state {
            Ok(function) => watched.push(format!("{point} ({function})")),
            Err(absence) => match absent.iter_mut().find(|(reason, _)| *reason == absence) {
                Some((_, names)) => names.push(point.name()),
                None => absent.push((absence, vec![point.name()])),
            },
        }
    }
    if !watched.is_empty() {
        tracing::info!("probes watch queue pairs: {}", watched.join(", "));
    }
    for (absence, names) in absent {
        let names = if names.len() == Point::ALL.len() {
            "queue pairs".to_owned()
        } else {
            names.join(", ")
        };
        if matches!(absence, Absence::Refused { .. }) {
            tracing::warn!("no probe watches {names}: {absence}");
        } else {
            tracing::info!("no probe watches {names}: {absence}");
        }
    }
}

/// Lines for `--check`: what can be watched on this kernel.
pub(super) fn check(collector: &Collector) -> Vec<String> {
    let Some(probes) = attach(collector) else { return Vec::new() };
    let line = |(point, state): (Point, &PointState)| match state {
        Ok(function) => format!("qp-watch {point}: {function}"),
        Err(absence) => format!("qp-watch {point}: none, {absence}"),
    };
    probes.state().map(line).collect()
}

fn clocks() -> Clocks {
    let boot_ns = event_clock_ns();
    let since_epoch = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    Clocks { wall: Timestamp::from_nanos(since_epoch.as_nanos() as u64), boot_ns }
}
