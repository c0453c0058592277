//! What died or stands still in a file, and why.
//!
//! ```text
//! Reading --troubles--> WireTrouble ┐
//! --log: ErrorRecord ---------------┴--Correlator--> Group --matching, sight--> Case --diagnose--> Incident
//! ```
//!
//! Loss that was repaired, packets that were late, what a mirror lost, a READ's jump of PSNs, and the few
//! packets that are under way when a capture ends are no incidents.

mod case;
mod clock;
mod connection;
mod matching;
mod sight;
mod troubles;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use super::Reading;
use crate::capture::Timestamp;
use crate::diagnosis::HostFacts;
use crate::explain::ErrorRecord;
use crate::flow::RecordTotals;
use crate::incident::{Correlator, CorrelatorLimits, Group, Incident, Signal, WireTrouble};

use clock::Span;
use connection::Connections;
use matching::Matching;

/// Finds the incidents of one file.
#[derive(Debug)]
pub struct IncidentFinder<'a> {
    reading: &'a Reading,
    span: Option<Span>,
    correlator: Correlator,
    tap: Tap<'a>,
    facts: HostFacts,
}

/// Who captured a file.
#[derive(Clone, Copy, Debug)]
pub struct Tap<'a> {
    /// Its name for people.
    pub name: &'a str,
    /// Addresses of the host on which it was; none where it was in between.
    pub hosts: &'a [IpAddr],
}

/// What was found in a file and the log beside it.
#[derive(Clone, Debug, Default)]
pub struct Incidents {
    /// Those whose packets are in the file, then those that only the log tells of; both in order of time.
    pub found: Vec<Incident>,
    /// Signals of the log that nobody could take up, because there were too many.
    pub left_out: u64,
}

/// The time at which all of a file is known.
const NOW: Timestamp = Timestamp::from_nanos(0);
/// Incidents that are told.
const MAX_INCIDENTS: usize = 1000;

impl<'a> IncidentFinder<'a> {
    /// Looks for trouble in `reading` of a file that `tap` captured. `facts` are of both hosts.
    pub fn new(reading: &'a Reading, tap: Tap<'a>, facts: HostFacts) -> Self {
        let span = reading.counts.first_time.zip(reading.counts.last_time);
        Self {
            reading,
            span: span.map(|(first, last)| Span { first, last }),
            correlator: Correlator::new(CorrelatorLimits::default()),
            tap,
            facts,
        }
    }

    /// Takes a record of the log `source`.
    pub fn take(&mut self, source: &Arc<str>, mut record: ErrorRecord) {
        if let Some(span) = &self.span {
            span.place(&mut record);
        }
        let signal = Signal::Log { source: Arc::clone(source), record: Box::new(record) };
        self.correlator.take(signal, NOW);
    }

    /// Ends the log: says what was found.
    pub fn finish(self) -> Incidents {
        let Self { reading, span, mut correlator, tap, facts } = self;
        if correlator.counts().signals == 0 && !has_signs_of_trouble(reading) {
            return Incidents::default();
        }
        let scene = Scene::of(reading, span, tap, facts);
        for trouble in scene.troubles.values().flatten() {
            correlator.take(Signal::Wire(trouble.clone()), NOW);
        }
        let groups = correlator.finish();
        let matching = Matching::new(&scene.connections, &scene.troubles);
        let told = groups.iter().take(MAX_INCIDENTS);
        let told = told.map(|group| (scene.incident(&matching, group), group));
        let mut found = without_echoes(told.collect());
        found.sort_by_key(|(incident, connection)| {
            (connection.is_none(), incident.time.map_or(u64::MAX, Timestamp::as_nanos))
        });
        Incidents {
            found: found.into_iter().map(|(incident, _)| incident).collect(),
            left_out: correlator.counts().lost + groups.len().saturating_sub(MAX_INCIDENTS) as u64,
        }
    }
}

/// Whether a sender went back or was refused: in a file without that nobody need look closer.
fn has_signs_of_trouble(reading: &Reading) -> bool {
    let is_refused = |totals: &RecordTotals| totals.naks.iter().skip(1).any(|naks| *naks > 0);
    reading.facts.iter().any(|facts| facts.notes.is_some())
        || reading.records.iter().any(|(_, totals, _)| is_refused(totals))
}

/// Everything that a file shows of its connections.
#[derive(Debug)]
struct Scene<'a> {
    connections: Connections<'a>,
    /// Those in trouble, by their places, with what it is.
    troubles: Troubles,
    span: Option<Span>,
    tap: Tap<'a>,
    facts: HostFacts,
}

type Troubles = BTreeMap<usize, Vec<WireTrouble>>;

impl<'a> Scene<'a> {
    fn of(reading: &'a Reading, span: Option<Span>, tap: Tap<'a>, facts: HostFacts) -> Self {
        let connections = Connections::of(reading);
        let all = connections.all.iter().enumerate();
        let troubles = all.map(|(index, it)| (index, troubles::troubles(&connections, it)));
        let troubles = troubles.filter(|(_, troubles)| !troubles.is_empty()).collect();
        Self { connections, troubles, span, tap, facts }
    }
}

/// An incident, and the place of the connection that it is of.
type Told = (Incident, Option<usize>);

/// What packets say of a connection again belongs to what a log said of it: their clocks may be too far
/// apart for the correlator.
fn without_echoes(told: Vec<(Told, &Group)>) -> Vec<Told> {
    let is_wire = |group: &Group| group.signals().all(|signal| matches!(signal, Signal::Wire(_)));
    let mut found: Vec<Told> = Vec::new();
    let (echoes, firsts): (Vec<_>, Vec<_>) =
        told.into_iter().partition(|(_, group)| is_wire(group));
    found.extend(firsts.into_iter().map(|(told, _)| told));
    for ((incident, connection), _) in echoes {
        let same = found.iter_mut().find(|(_, other)| connection.is_some() && *other == connection);
        match same {
            Some((first, _)) => {
                first.secondaries += 1 + incident.secondaries;
                first.sources.extend(incident.sources);
            }
            None => found.push((incident, connection)),
        }
    }
    found
}
