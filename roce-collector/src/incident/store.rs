//! The latest incidents, and counts of all.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::metrics::{ErrorLabels, IncidentFigures};
use super::{CorrelatorCounts, Incident};
use crate::diagnosis::Outcome;

/// Incidents that are kept.
const MAX_INCIDENTS: usize = 256;
/// Combinations of labels that are counted by themselves; the errors of others are counted together.
const MAX_SERIES: usize = 1024;

/// The latest incidents, the newest last.
pub type IncidentList = Arc<Vec<Arc<Incident>>>;

/// Keeps the latest incidents and counts all.
#[derive(Debug, Default)]
pub struct IncidentStore {
    latest: VecDeque<Arc<Incident>>,
    /// Those of the latest that are counted as errors.
    counted: VecDeque<String>,
    errors: BTreeMap<ErrorLabels, u64>,
    outcomes: BTreeMap<&'static str, u64>,
    other_errors: u64,
}

impl IncidentStore {
    /// Keeps an incident, in the place of its earlier revision if there was one. The oldest one goes when
    /// there are too many.
    pub fn put(&mut self, incident: Incident) {
        self.count(&incident);
        let incident = Arc::new(incident);
        if let Some(known) = self.latest.iter_mut().find(|known| known.id == incident.id) {
            *known = incident;
            return;
        }
        *self.outcomes.entry(incident.outcome.name()).or_default() += 1;
        if self.latest.len() >= MAX_INCIDENTS {
            self.latest.pop_front();
        }
        self.latest.push_back(incident);
    }

    /// The latest incidents, the newest last.
    pub fn latest(&self) -> IncidentList {
        Arc::new(self.latest.iter().map(Arc::clone).collect())
    }

    /// What is exported, together with what the correlator counts.
    pub fn figures(&self, signals: CorrelatorCounts) -> IncidentFigures {
        let mut errors: Vec<_> =
            self.errors.iter().map(|(labels, errors)| (labels.clone(), *errors)).collect();
        if self.other_errors > 0 {
            errors.push((ErrorLabels::other(), self.other_errors));
        }
        let outcomes = self.outcomes.iter().map(|(outcome, incidents)| (*outcome, *incidents));
        IncidentFigures { errors, outcomes: outcomes.collect(), signals }
    }

    /// Counts the death of a queue pair, once, with what was said of it first. One that stands still may go
    /// on, and one that gave up did so on the wire.
    fn count(&mut self, incident: &Incident) {
        let is_error = match incident.outcome {
            Outcome::Died => true,
            Outcome::Unknown => incident.sources.iter().any(|source| source == "wire"),
            Outcome::Stalled | Outcome::Recovered => false,
        };
        if !is_error || self.counted.contains(&incident.id) {
            return;
        }
        if self.counted.len() >= MAX_INCIDENTS {
            self.counted.pop_front();
        }
        self.counted.push_back(incident.id.clone());
        let labels = ErrorLabels::of(incident);
        let has_room = self.errors.len() < MAX_SERIES;
        match self.errors.get_mut(&labels) {
            Some(errors) => *errors += 1,
            None if has_room => {
                self.errors.insert(labels, 1);
            }
            None => self.other_errors += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Timestamp;
    use crate::diagnosis::{Case, Diagnosis, Finding, Verdict};
    use crate::explain::Decoder;
    use crate::incident::{Correlator, CorrelatorLimits, Signal};

    fn incident(number: u32) -> Incident {
        let line = format!(
            "UCX  ERROR send completion with error: transport retry counter exceeded [qpn {number:#x} wrid 0x10 \
             vendor_err 0x81]"
        );
        let mut decoder = Decoder::default();
        let mut records: Vec<_> = decoder.line(line.as_bytes(), 1).collect();
        records.extend(decoder.finish());
        let record = Box::new(records.remove(0));
        let mut correlator = Correlator::new(CorrelatorLimits::default());
        correlator.take(Signal::Log { source: "job".into(), record }, Timestamp::default());
        let group = correlator.finish().remove(0);
        let case = Case { failure: group.failure(), ..Case::default() };
        let finding = Finding {
            confidence: 0.5,
            text: String::new(),
            evidence: Vec::new(),
            next_steps: Vec::new(),
        };
        let diagnosis =
            Diagnosis { verdict: Verdict::ForwardBlackHole, finding, ruled_out: Vec::new() };
        Incident::of(&group, &case, &diagnosis, Vec::new())
    }

    #[test]
    fn revisions_replace_and_errors_count_once() {
        let mut store = IncidentStore::default();
        let first = incident(0x45);
        assert_eq!(first.id, "unknown-time-qp0x45-1");
        store.put(Incident { outcome: Outcome::Stalled, ..first.clone() });
        assert_eq!(store.figures(CorrelatorCounts::default()).errors, []);
        for revision in 1..4 {
            store.put(Incident { revision, ..first.clone() });
        }
        let latest = store.latest();
        assert_eq!((latest.len(), latest[0].revision), (1, 3));
        let figures = store.figures(CorrelatorCounts::default());
        assert_eq!(figures.errors, [(ErrorLabels::of(&first), 1)]);
        assert_eq!(figures.outcomes, [("stalled", 1)]);
    }

    #[test]
    fn the_latest_are_kept_and_all_are_counted() {
        let mut store = IncidentStore::default();
        for number in 0..2000 {
            let device = Some(format!("mlx5_{}", number % 1500));
            store.put(Incident { id: number.to_string(), device, ..incident(0x45) });
        }
        let latest = store.latest();
        assert_eq!((latest.len(), &*latest[0].id, &*latest[255].id), (256, "1744", "1999"));
        let figures = store.figures(CorrelatorCounts::default());
        assert_eq!(figures.errors.len(), MAX_SERIES + 1);
        assert_eq!(figures.errors.iter().map(|(_, errors)| errors).sum::<u64>(), 2000);
        assert_eq!(figures.errors[MAX_SERIES].0, ErrorLabels::other());
    }
}
