//! An incident, from what the error sources, the taps and the rules say.

use super::{Group, Incident, Signal, StatusReport, TimelineEntry, VendorReport, VerdictReport};
use crate::capture::Timestamp;
use crate::diagnosis::{Case, Diagnosis, Evidence, Outcome};

/// Entries of a time line; of a longer one the middle is left out.
const MAX_TIMELINE: usize = 200;

impl Incident {
    /// The incident of a failure: `case` is what the rules were asked, `diagnosis` their answer, `timeline`
    /// what taps saw of its packets.
    pub fn of(
        group: &Group,
        case: &Case,
        diagnosis: &Diagnosis,
        timeline: Vec<TimelineEntry>,
    ) -> Self {
        let failure = &case.failure;
        let mut local = group.local();
        local.ip = local.ip.or(failure.local_ip);
        local.qp = local.qp.or(failure.local_qp);
        let mut peer = group.peer();
        peer.ip = peer.ip.or(failure.peer_ip);
        peer.qp = peer.qp.or(failure.peer_qp);
        let vendor_err = failure.vendor.zip(group.record()).map(|(code, record)| VendorReport {
            value: code.value,
            hex: format!("{:#04x}", code.value),
            producer: record.producer.name().to_owned(),
        });
        let mut evidence = diagnosis.finding.evidence.clone();
        evidence.extend(configuration(group));
        Self {
            id: group.id().to_owned(),
            revision: group.revision(),
            time: failure.time,
            device: group.device().or(failure.device.as_deref()).map(str::to_owned),
            source: group.primary().source_name().to_owned(),
            sources: group.sources().into_iter().map(str::to_owned).collect(),
            outcome: match failure.outcome {
                Outcome::Unknown => case.sight.outcome(),
                known => known,
            },
            status: failure.status.map(|status| StatusReport {
                code: status.code(),
                name: status.name().trim_start_matches("IBV_WC_").to_owned(),
            }),
            vendor_err,
            local,
            peer,
            verdict: VerdictReport {
                id: diagnosis.verdict,
                confidence: diagnosis.finding.confidence,
                text: diagnosis.finding.text.clone(),
            },
            evidence,
            ruled_out: diagnosis.ruled_out.clone(),
            next_steps: diagnosis.finding.next_steps.clone(),
            timeline: merged(group.timeline(), timeline),
            secondaries: group.secondaries(),
            recording: None,
        }
    }

    /// One line of JSON.
    pub fn to_json(&self) -> String {
        // Its maps have text as keys, and nothing else can fail in memory.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// What the lines say about configuration: a link-local GID, a traffic class of 0.
fn configuration(group: &Group) -> Vec<Evidence> {
    let records = group.signals().filter_map(|signal| match signal {
        Signal::Log { record, .. } => Some(record),
        _ => None,
    });
    let mut findings: Vec<_> = records.flat_map(|record| record.findings()).collect();
    findings.sort_by_key(|finding| finding.id);
    findings.dedup_by_key(|finding| finding.id);
    let evidence = findings.into_iter();
    evidence.map(|finding| Evidence::new(finding.id.replace('_', " "), finding.text)).collect()
}

/// Both in the order of time; what has no time comes last.
fn merged(mut entries: Vec<TimelineEntry>, wire: Vec<TimelineEntry>) -> Vec<TimelineEntry> {
    entries.extend(wire);
    entries.sort_by_key(|entry| entry.t.map_or(u64::MAX, Timestamp::as_nanos));
    if let Some(more) = entries.len().checked_sub(MAX_TIMELINE).filter(|more| *more > 0) {
        let half = MAX_TIMELINE / 2;
        // The place of one is taken by the entry that says so.
        let left_out = more + 1;
        let t = entries[half].t;
        let what = format!("... {left_out} entries left out ...");
        entries.splice(half..half + left_out, [TimelineEntry { t, what }]);
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_a_long_time_line_is_left_out() {
        let entry = |second: u64| TimelineEntry {
            t: Some(Timestamp::from_nanos(second * 1_000_000_000)),
            what: second.to_string(),
        };
        let entries = merged((0..150).map(entry).collect(), (150..300).map(entry).collect());
        assert_eq!(entries.len(), MAX_TIMELINE);
        assert_eq!(entries[99].what, "99");
        assert_eq!(entries[100].what, "... 101 entries left out ...");
        assert_eq!((&*entries[101].what, &*entries[199].what), ("201", "299"));
        assert_eq!(merged((0..200).map(entry).collect(), Vec::new())[100].what, "100");
    }
}
