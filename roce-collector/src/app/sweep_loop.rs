//! The thread that owns the datapath: sweeps, answers, attaches again.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use roce_common::marking::MarkingPolicy;
use tokio::sync::watch;

use super::host_loop::SharedReport;
use super::incidents::{self, Incidents};
use super::links::Latest;
use super::qp_watch_loop::SharedFigures;
use crate::attach::{AttachTable, AttachedHook, Direction, Event};
use crate::bpf::{Attachments, Datapath, RunStatistics, event_clock_ns};
use crate::capture::Timestamp;
use crate::cli::collector::Collector;
use crate::export::{HookLabel, ProgramRuns, Snapshot, direction_of_tap};
use crate::host::InterfaceDrops;
use crate::http::{FlowsAnswer, FlowsQuestion, HookReport, OtherFlowsReport, Status};
use crate::inventory::QpSnapshot;
use crate::logs::LogCounters;
use crate::sweep::{Durations, Moment, SweepOptions, Sweeper};

/// Time between two sweeps.
const PERIOD: Duration = Duration::from_secs(1);
/// Longest wait for a question before events are taken and the stop flag is looked at. A requester of soft-RoCE
/// with the shortest timeout fails 268 ms after its first loss; the second try is seen after 134 ms.
const TICK: Duration = Duration::from_millis(50);

/// What the thread works with.
#[derive(Debug)]
pub(super) struct SweepLoop {
    pub(super) datapath: Datapath,
    pub(super) attachments: Attachments,
    pub(super) statistics: Option<RunStatistics>,
    pub(super) links: Latest,
    pub(super) host: SharedReport,
    pub(super) inventory: watch::Receiver<Arc<QpSnapshot>>,
    pub(super) qp_watch: SharedFigures,
    pub(super) logs: Option<Arc<LogCounters>>,
    pub(super) incidents: Incidents,
    pub(super) questions: Receiver<FlowsQuestion>,
    pub(super) publisher: watch::Sender<Arc<Status>>,
}

#[derive(Debug)]
struct Running {
    parts: SweepLoop,
    sweeper: Sweeper,
    interfaces: Arc<[String]>,
    marking: MarkingPolicy,
    durations: Durations,
    started: Instant,
    swept: Moment,
    /// By interface, in the order of their taps.
    drops: Vec<InterfaceDrops>,
    has_spill_failed: bool,
}

impl SweepLoop {
    /// Sweeps once, then goes on in a thread of its own, which detaches everything when it ends.
    pub(super) fn start(
        self,
        collector: &Collector,
        is_stopping: Arc<AtomicBool>,
    ) -> io::Result<JoinHandle<()>> {
        let options = SweepOptions {
            devices: collector.interfaces.len() as u8,
            marking: collector.marking.policy(),
            flow_idle: collector.flow_idle,
            max_peers: collector.max_peers as usize,
            qp_series: collector.qp_series as usize,
        };
        let sysfs = &collector.running.sysfs_root;
        let drops = collector.interfaces.iter().map(|name| InterfaceDrops::new(sysfs, name));
        let drops = drops.collect();
        let started = Instant::now();
        let mut running = Running {
            sweeper: Sweeper::new(options, &self.datapath),
            parts: self,
            interfaces: collector.interfaces.clone().into(),
            marking: options.marking,
            durations: Durations::default(),
            started,
            swept: moment(started),
            has_spill_failed: false,
            drops,
        };
        running.sweep();
        thread::Builder::new().name("sweep".to_owned()).spawn(move || running.run(&is_stopping))
    }
}

impl Running {
    fn run(mut self, is_stopping: &AtomicBool) {
        let mut due = self.started + PERIOD;
        while !is_stopping.load(Ordering::Relaxed) {
            let now = Instant::now();
            if now >= due {
                // After a pause of the whole machine sweeps are not made up for.
                due = now.max(due + PERIOD);
                self.attach_again();
                self.sweep();
            }
            self.take_events();
            self.look_into_failures(Incidents::step);
            match self.parts.questions.recv_timeout(TICK.min(due - now.min(due))) {
                Ok(question) => self.answer(question),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => thread::sleep(TICK),
            }
        }
        self.look_into_failures(Incidents::finish);
    }

    fn look_into_failures(
        &mut self,
        look: impl FnOnce(&mut Incidents, &mut Sweeper, &incidents::View<'_>),
    ) {
        let now = moment(self.started);
        let status = Arc::clone(&self.parts.publisher.borrow());
        let is_any_attached = self.parts.attachments.table().attached().next().is_some();
        let interfaces = &self.interfaces;
        let tables = &self.parts.datapath;
        let blind = &status.blind;
        let view = incidents::View { interfaces, blind, is_any_attached, tables, now };
        look(&mut self.parts.incidents, &mut self.sweeper, &view);
    }

    fn take_events(&mut self) {
        let now = moment(self.started);
        self.sweeper.take_events(&mut self.parts.datapath, now);
        self.warn_of_ladders();
    }

    /// Says which senders get no answers, before their queue pairs fail.
    fn warn_of_ladders(&mut self) {
        for step in self.sweeper.take_ladder_steps() {
            let device = self.interfaces.get(usize::from(step.tap / 2)).map_or("", String::as_str);
            tracing::warn!(
                device,
                direction = direction_of_tap(step.tap),
                src = %step.src,
                dst = %step.dst,
                dst_qp = step.dst_qp,
                src_qp = step.src_qp,
                psn = step.psn,
                tries = step.tries,
                silence_ms = step.silence.as_millis() as u64,
                "retry ladder: the same oldest packet was sent again and again, and no answer was seen"
            );
        }
    }

    fn sweep(&mut self) {
        self.swept = moment(self.started);
        let start = Instant::now();
        for (device, drops) in (0..).zip(&mut self.drops) {
            if drops.have_moved() {
                self.sweeper.note_interface_loss(device);
            }
        }
        match self.sweeper.sweep(&mut self.parts.datapath, self.swept) {
            Ok(()) => self.has_spill_failed = false,
            Err(error) if !self.has_spill_failed => {
                tracing::warn!("packets of the fallback map are not in their flows: {error}");
                self.has_spill_failed = true;
            }
            Err(_) => {}
        }
        self.durations.add(start.elapsed());
        self.publish();
    }

    fn publish(&self) {
        let host = self.parts.host.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let table = self.parts.attachments.table();
        let snapshot = Snapshot {
            view: Arc::new(self.sweeper.view()),
            interfaces: Arc::clone(&self.interfaces),
            hooks: hooks(table, &self.interfaces),
            marking: self.marking,
            visible_ratios: host.ratios,
            is_blind: host.is_blind,
            durations: self.durations,
            programs: self.programs(),
            inventory: self.parts.inventory.borrow().figures.clone(),
            qp_watch: self.parts.qp_watch.borrow().clone(),
            logs: self.parts.logs.clone(),
            incidents: Some(Arc::new(self.parts.incidents.figures())),
            recorder: self.parts.incidents.recorder_counts(),
        };
        self.parts.publisher.send_replace(Arc::new(Status {
            snapshot: Arc::new(snapshot),
            swept: Some(Instant::now()),
            hooks: table.to_string(),
            blind: host.blind,
        }));
    }

    fn programs(&self) -> Vec<ProgramRuns> {
        let Some(statistics) = &self.parts.statistics else { return Vec::new() };
        let programs = statistics.read(&self.parts.datapath).into_iter();
        programs.map(|(program, runs, time)| ProgramRuns { program, runs, time }).collect()
    }

    fn attach_again(&mut self) {
        let Some(links) = self.parts.links.take() else { return };
        for event in self.parts.attachments.reconcile(&mut self.parts.datapath, &links) {
            if matches!(event, Event::Attached { .. }) {
                tracing::info!("{event}");
            } else {
                tracing::warn!("{event}");
            }
        }
    }

    fn answer(&self, question: FlowsQuestion) {
        let list = self.sweeper.flows(&question.filter, question.limit);
        let device = |tap: u8| self.interfaces.get(usize::from(tap / 2)).cloned();
        let flows = list.flows.into_iter().map(|(tap, mut flow)| {
            flow.device = device(tap);
            flow.direction = Some(direction_of_tap(tap).into());
            flow
        });
        let status = Arc::clone(&self.parts.publisher.borrow());
        let blind = status.blind.clone();
        let taps = &status.snapshot.view.taps;
        let other_flows = OtherFlowsReport {
            packets: taps.iter().map(|tap| tap.other_packets).sum(),
            wire_bytes: taps.iter().map(|tap| tap.other_bytes).sum(),
        };
        let hooks = self.parts.attachments.table().attached().map(|hook| HookReport {
            device: hook.device.to_owned(),
            direction: hook.direction.name().into(),
            hook: hook.hook.name().into(),
            mode: hook.mode.name().into(),
            seen: tap_of(&hook, &self.interfaces)
                .filter(|tap| status.snapshot.sees_tap(*tap as u8))
                .and_then(|tap| status.snapshot.view.seen(tap, &self.marking)),
        });
        // Whoever asked may have gone.
        let _ = question.answer.send(FlowsAnswer {
            schema_version: FlowsAnswer::SCHEMA_VERSION,
            time: Some(self.swept.wall),
            hooks: hooks.collect(),
            matching: list.matching,
            flows: flows.collect(),
            other_flows,
            blind,
        });
    }
}

/// What is attached, by tap.
fn hooks(table: &AttachTable, interfaces: &[String]) -> Vec<Option<HookLabel>> {
    let mut hooks = vec![None; interfaces.len() * 2];
    for attached in table.attached() {
        let Some(tap) = tap_of(&attached, interfaces) else { continue };
        let (hook, mode) = (attached.hook.name(), attached.mode.name());
        hooks[tap] = Some(HookLabel { hook, mode });
    }
    hooks
}

fn tap_of(hook: &AttachedHook<'_>, interfaces: &[String]) -> Option<usize> {
    let device = interfaces.iter().position(|name| name == hook.device)?;
    Some(device * 2 + usize::from(hook.direction == Direction::Egress))
}

fn moment(started: Instant) -> Moment {
    let since_epoch = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    let wall = Timestamp::from_nanos(since_epoch.as_nanos() as u64);
    Moment { wall, boot_ns: event_clock_ns(), uptime: started.elapsed() }
}
