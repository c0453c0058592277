//! Failures, from all error sources to the log, the API and the flight recorder.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;
use tokio::sync::{mpsc, watch};

use crate::bpf::QpFailure;
use crate::capture::Timestamp;
use crate::cli::collector::LogFormat;
use crate::diagnosis::{Case, Failure, HostFacts, PeerQp, Sight, diagnose};
use crate::explain::OWN_MARK;
use crate::incident::{
    Correlator, CorrelatorLimits, Group, Incident, IncidentFigures, IncidentList, IncidentStore,
    Signal,
};
use crate::inventory::{Connection, GoneQps, QpEvent, QpSnapshot};
use crate::logs::SourcedRecord;
use crate::recorder::{self, FlightRecorder, RecorderCounts};
use crate::sweep::{Moment, Picture, Sweeper, Tables};

/// Signals that are taken of one source at a time: it may send faster than anybody can look.
const MAX_SIGNALS: usize = 4096;
/// Failures that are looked into at a time: a switch that dies takes thousands of queue pairs along.
const MAX_FAILURES: usize = 64;

/// Where signals come from.
#[derive(Debug)]
pub(super) struct SignalSources {
    pub(super) logs: mpsc::Receiver<SourcedRecord>,
    pub(super) queue_pairs: mpsc::Receiver<QpEvent>,
    pub(super) probes: mpsc::Receiver<QpFailure>,
    pub(super) inventory: watch::Receiver<Arc<QpSnapshot>>,
}

/// How incidents are made and told.
#[derive(Debug)]
pub(super) struct IncidentSettings {
    /// File with what the hosts count, written by somebody else.
    pub(super) facts: Option<PathBuf>,
    pub(super) log_format: LogFormat,
    /// Writes the last packets of each connection, if that is asked for.
    pub(super) recorder: Option<FlightRecorder>,
}

/// Correlates, diagnoses, tells.
#[derive(Debug)]
pub(super) struct Incidents {
    sources: SignalSources,
    correlator: Correlator,
    gone: GoneQps,
    /// Failures that wait to be looked into.
    waiting: VecDeque<Group>,
    settings: IncidentSettings,
    store: IncidentStore,
    publisher: watch::Sender<IncidentList>,
}

/// What this collector can see, for verdicts and recordings.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) interfaces: &'a [String],
    /// Why packets of an interface are not seen, one line for each.
    pub(super) blind: &'a [String],
    pub(super) is_any_attached: bool,
    pub(super) tables: &'a dyn Tables,
    pub(super) now: Moment,
}

impl Incidents {
    pub(super) fn new(
        sources: SignalSources,
        settings: IncidentSettings,
        publisher: watch::Sender<IncidentList>,
    ) -> Self {
        Self {
            sources,
            correlator: Correlator::new(CorrelatorLimits::default()),
            gone: GoneQps::default(),
            waiting: VecDeque::new(),
            settings,
            store: IncidentStore::default(),
            publisher,
        }
    }

    /// What is exported.
    pub(super) fn figures(&self) -> IncidentFigures {
        self.store.figures(self.correlator.counts())
    }

    /// What the flight recorder did, if there is one.
    pub(super) fn recorder_counts(&self) -> Option<RecorderCounts> {
        self.settings.recorder.as_ref().map(FlightRecorder::counts)
    }

    /// Takes what the sources have, and tells the incidents that are complete.
    pub(super) fn step(&mut self, sweeper: &mut Sweeper, view: &View<'_>) {
        self.take_signals(sweeper, view);
        self.waiting.extend(self.correlator.due(view.now.wall));
        self.tell_waiting(sweeper, view);
    }

    /// Takes what is left, and tells all incidents, complete or not: the collector ends.
    pub(super) fn finish(&mut self, sweeper: &mut Sweeper, view: &View<'_>) {
        self.take_signals(sweeper, view);
        self.waiting.extend(self.correlator.finish());
        while !self.waiting.is_empty() {
            self.tell_waiting(sweeper, view);
        }
    }

    fn tell_waiting(&mut self, sweeper: &Sweeper, view: &View<'_>) {
        let count = self.waiting.len().min(MAX_FAILURES);
        if count == 0 {
            return;
        }
        let groups: Vec<_> = self.waiting.drain(..count).collect();
        let mut failures: Vec<_> = groups.iter().map(Group::failure).collect();
        let picture = sweeper.picture(&failures, view.interfaces, view.now);
        for failure in &mut failures {
            picture.locate(failure);
        }
        let facts = self.read_facts();
        for (group, failure) in groups.iter().zip(failures) {
            let mut incident = self.diagnose(group, failure, &picture, &facts, view);
            incident.recording = self.record(&incident, view);
            tell(&incident, self.settings.log_format, view.now.wall);
            self.store.put(incident);
        }
        self.publisher.send_replace(self.store.latest());
    }

    fn take_signals(&mut self, sweeper: &mut Sweeper, view: &View<'_>) {
        let now = view.now.wall;
        for _ in 0..MAX_SIGNALS {
            let Ok(event) = self.sources.queue_pairs.try_recv() else { break };
            self.gone.note(&event);
            self.correlator.take(Signal::Netlink(Box::new(event)), now);
        }
        for _ in 0..MAX_SIGNALS {
            let Ok(failure) = self.sources.probes.try_recv() else { break };
            self.gone.note_destroyed(&failure);
            self.correlator.take(Signal::Bpf(Box::new(failure)), now);
        }
        for _ in 0..MAX_SIGNALS {
            let Ok((source, record)) = self.sources.logs.try_recv() else { break };
            self.correlator.take(Signal::Log { source, record: Box::new(record) }, now);
        }
        for trouble in sweeper.take_troubles(view.interfaces) {
            self.correlator.take(Signal::Wire(trouble), now);
        }
    }

    fn diagnose(
        &self,
        group: &Group,
        failure: Failure,
        picture: &Picture<'_>,
        facts: &HostFacts,
        view: &View<'_>,
    ) -> Incident {
        let sight = sight(picture, &failure, view);
        let began = sight.ladder().and_then(|ladder| ladder.first_try).or(failure.time);
        let mut neighbours = picture.neighbours(&failure);
        neighbours.peer_qp = self.peer_qp(&failure, began.unwrap_or(view.now.wall));
        let timeline = picture.timeline(&failure);
        let case = Case { sight, neighbours, facts: facts.clone(), failure };
        Incident::of(group, &case, &diagnose(&case), timeline)
    }

    /// The file with the last packets of the connection.
    fn record(&mut self, incident: &Incident, view: &View<'_>) -> Option<String> {
        let recorder = self.settings.recorder.as_mut()?;
        let Incident { id, verdict, local, peer, .. } = incident;
        let connection =
            recorder::Connection { a: local.ip, a_qp: local.qp, b: peer.ip, b_qp: peer.qp };
        let comment = format!("incident {id}: {} ({})", verdict.text, verdict.id.id());
        recorder.record_incident(view.tables, view.now, &connection, id, &comment)
    }

    fn peer_qp(&self, failure: &Failure, time: Timestamp) -> PeerQp {
        let (Some(local_qp), Some(peer_qp)) = (failure.local_qp, failure.peer_qp) else {
            return PeerQp::NotKnown;
        };
        let connection = Connection { device: failure.device.as_deref(), local_qp, peer_qp, time };
        self.gone.peer(&self.sources.inventory.borrow().qps, &connection)
    }

    /// Facts that somebody else wrote down, read anew for each batch of failures.
    fn read_facts(&self) -> HostFacts {
        let Some(path) = &self.settings.facts else { return HostFacts::default() };
        HostFacts::read(path).unwrap_or_else(|error| {
            tracing::warn!("{}: {error}: incidents do without it", path.display());
            HostFacts::default()
        })
    }
}

/// The line of an incident in the log of a program.
#[derive(Serialize)]
struct Line<'a> {
    timestamp: Timestamp,
    level: &'static str,
    message: &'a str,
    origin: &'static str,
    #[serde(flatten)]
    incident: &'a Incident,
}

/// One line for people in a log of text, and one of JSON for programs in any.
fn tell(incident: &Incident, format: LogFormat, now: Timestamp) {
    let Incident { id, verdict, local, peer, .. } = incident;
    let message = format!("incident: {}", verdict.text);
    if format == LogFormat::Text {
        tracing::error!(
            origin = OWN_MARK,
            id,
            outcome = incident.outcome.name(),
            verdict = verdict.id.id(),
            confidence = verdict.confidence,
            local_qp = local.qp,
            peer_qp = peer.qp,
            peer = peer.ip.map(tracing::field::display),
            "{message}"
        );
    }
    let line =
        Line { timestamp: now, level: "ERROR", message: &message, origin: OWN_MARK, incident };
    if let Ok(line) = serde_json::to_string(&line) {
        // A log that cannot be written to is no reason to stop.
        let _ = writeln!(io::stderr().lock(), "{line}");
    }
}

/// What was seen; that nothing was because nobody can see is another answer.
fn sight(picture: &Picture<'_>, failure: &Failure, view: &View<'_>) -> Sight {
    let sight = picture.sight(failure);
    match sight {
        Sight::NotFound if !view.is_any_attached => Sight::Blind("no hook is attached".to_owned()),
        Sight::NotFound if !view.blind.is_empty() => Sight::Blind(view.blind.join("; ")),
        sight => sight,
    }
}
