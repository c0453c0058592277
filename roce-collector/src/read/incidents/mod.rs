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

use std::net::IpAddr;
use std::sync::Arc;

use super::Reading;
use crate::capture::Timestamp;
use crate::diagnosis::HostFacts;
use crate::explain::ErrorRecord;
use crate::incident::{Correlator, CorrelatorLimits, Group, Incident, Signal, WireTrouble};

use clock::Span;
use connection::{Connection, Connections};
use matching::Matching;

/// Finds the incidents of one file.
#[derive(Debug)]
pub struct IncidentFinder<'a> {
    connections: Connections<'a>,
    /// Those in trouble, with what it is.
    troubles: Vec<(usize, WireTrouble)>,
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
    /// Those that were found, in order of time; those without one come last.
    pub found: Vec<Incident>,
    /// Signals of the log that nobody could take up, because there were too many.
    pub left_out: u64,
}

/// The time at which all of a file is known.
const NOW: Timestamp = Timestamp::from_nanos(0);

impl<'a> IncidentFinder<'a> {
    /// Looks for trouble in `reading` of a file that `tap` captured. `facts` are of both hosts.
    pub fn new(reading: &'a Reading, tap: Tap<'a>, facts: HostFacts) -> Self {
        let connections = Connections::of(reading);
        let counts = &reading.counts;
        let span = counts.first_time.zip(counts.last_time);
        let mut troubles = Vec::new();
        for (index, connection) in connections.all.iter().enumerate() {
            let its = troubles::troubles(&connections, connection);
            troubles.extend(its.into_iter().map(|trouble| (index, trouble)));
        }
        Self {
            connections,
            troubles,
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
    pub fn finish(mut self) -> Incidents {
        for (_, trouble) in &self.troubles {
            self.correlator.take(Signal::Wire(trouble.clone()), NOW);
        }
        let groups = self.correlator.finish();
        let mut is_troubled = vec![false; self.connections.all.len()];
        self.troubles.iter().for_each(|(index, _)| is_troubled[*index] = true);
        let matching = Matching::new(&self.connections, is_troubled);
        let told = groups.iter().map(|group| (self.incident(&matching, group), group));
        let mut found = without_echoes(told.collect());
        found.sort_by_key(|incident| incident.time.map_or(u64::MAX, Timestamp::as_nanos));
        Incidents { found, left_out: self.correlator.counts().lost }
    }
}

/// What packets say of a connection again belongs to what a log said of it: their clocks may be too far
/// apart for the correlator.
fn without_echoes(told: Vec<((Incident, Option<&Connection>), &Group)>) -> Vec<Incident> {
    let is_wire = |group: &Group| group.signals().all(|signal| matches!(signal, Signal::Wire(_)));
    let mut found: Vec<(Incident, Option<&Connection>)> = Vec::new();
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
    found.into_iter().map(|(incident, _)| incident).collect()
}
