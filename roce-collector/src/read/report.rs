//! The answer of `roce-trace read`.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use roce_common::wire::ParseReason;
use serde::Serialize;

use super::findings::{Finding, find};
use super::incidents::{IncidentFinder, Incidents, Tap};
use super::sequences::SequenceFacts;
use super::store::record;
use super::stories::{Unconnected, tell_flows, tell_others, tell_pairs};
use super::{FlowFilter, IcrcCounts, OtherFlows, Reading};
use crate::capture::{CaptureInfo, Format, LinkType, Timestamp};
use crate::diagnosis::{HostFacts, Outcome};
use crate::flow::{AnswersReport, Flow, FlowId, FlowReport, Spread};
use crate::incident::Incident;
use crate::pair::{QpPair, SourceQps};

/// What a capture file says; one JSON object.
#[derive(Clone, Debug, Serialize)]
pub struct ReadReport {
    /// Version of this form.
    pub schema_version: u32,
    /// The file.
    pub input: InputReport,
    /// Frames by what they are.
    pub packets: PacketsReport,
    /// ICRCs of RoCE packets.
    pub icrc: IcrcCounts,
    /// The flows that were asked for, those in trouble first.
    pub flows: Vec<FlowReport>,
    /// Packets of flows beyond `--max-flows`, which are in no flow; left out when there are none.
    #[serde(skip_serializing_if = "is_empty")]
    pub other_flows: OtherFlows,
    /// QPs that talk to each other, of the flows that were asked for.
    pub pairs: Vec<QpPair>,
    /// QPs that were asked for and only connection manager messages name; left out when there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unconnected: Vec<Unconnected>,
    /// Queue pairs that died or stand still, of those that were asked for. Empty: none was found.
    pub incidents: Vec<Incident>,
    /// Incidents beyond the limit; left out when there are none.
    #[serde(skip_serializing_if = "is_zero")]
    pub incidents_left_out: u64,
    /// What is wrong or odd, the worst first.
    pub findings: Vec<Finding>,
    /// What the file cannot show.
    pub not_seen: NotSeenReport,
}

/// The file.
#[derive(Clone, Debug, Serialize)]
pub struct InputReport {
    /// Name as given.
    pub file: String,
    /// Format.
    pub format: Format,
    /// Link type of the first interface.
    pub link_type: Option<LinkType>,
    /// Most bytes kept of a packet; `null` without a limit.
    pub snaplen: Option<u32>,
    /// Earliest time of a frame.
    pub first_time: Option<Timestamp>,
    /// Latest time of a frame.
    pub last_time: Option<Timestamp>,
    /// Why reading ended before the end of the file; left out when it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Frames by what they are: `total` is the sum of `roce_v2`, `roce_v1`, `other` and the malformed ones
/// but `first_fragment`, which are RoCE packets.
#[derive(Clone, Debug, Serialize)]
pub struct PacketsReport {
    /// All frames.
    pub total: u64,
    /// RoCEv2 packets.
    pub roce_v2: u64,
    /// RoCEv1 packets.
    pub roce_v1: u64,
    /// Frames that are plainly not RoCE.
    pub other: u64,
    /// Frames that could be RoCE but cannot be read, by reason.
    pub malformed: BTreeMap<&'static str, u64>,
    /// Frames of which fewer bytes were captured than were on the wire.
    pub truncated: u64,
}

/// What the file cannot show. `null` is "not known".
#[derive(Clone, Copy, Debug, Serialize)]
pub struct NotSeenReport {
    /// Packets that the mirror lost: not looked for yet.
    pub mirror_lost: Option<u64>,
    /// Packets that the capturing side says it lost; a pcap file never says.
    pub capture_dropped: Option<u64>,
    /// PSNs that the peers acknowledged and the file does not have, over all flows of the file; `null`
    /// when no two directions could be paired.
    pub suspected: Option<u64>,
}

/// What the reader of a file knows beside its frames.
#[derive(Clone, Debug)]
pub struct Source<'a> {
    /// The file as named by the user.
    pub file: &'a Path,
    /// What its head says.
    pub info: CaptureInfo,
    /// Packets that the capturing side says it lost.
    pub capture_dropped: Option<u64>,
    /// Why reading ended early.
    pub error: Option<String>,
}

impl Source<'_> {
    /// The file without its folders: what a tap is called.
    pub fn name(&self) -> String {
        self.file.file_name().unwrap_or(self.file.as_os_str()).to_string_lossy().into_owned()
    }
}

impl ReadReport {
    /// Version of the JSON form.
    pub const SCHEMA_VERSION: u32 = 1;

    /// Whether a queue pair died, gave up or stands still.
    pub fn has_failures(&self) -> bool {
        self.incidents.iter().any(|incident| incident.outcome != Outcome::Recovered)
    }

    /// The report of a reading without a log. Findings about flows are about those that `filter` picks.
    pub fn of(reading: &Reading, source: &Source<'_>, filter: &FlowFilter) -> Self {
        let name = source.name();
        let tap = Tap { name: &name, hosts: &[] };
        let incidents = IncidentFinder::new(reading, tap, HostFacts::default()).finish();
        Self::with_incidents(reading, source, incidents, filter)
    }

    /// The report of a reading whose incidents are known. Incidents and findings about flows are those that
    /// `filter` picks.
    pub fn with_incidents(
        reading: &Reading,
        source: &Source<'_>,
        incidents: Incidents,
        filter: &FlowFilter,
    ) -> Self {
        let counts = &reading.counts;
        let mut flows = Flow::join(reading.records.iter().map(record));
        let sources = SourceQps::of(&reading.pairs);
        flows.retain(|flow| filter.matches(&sources.complete(flow.id)));
        let findings = find(reading, &flows);
        let mut reports = FlowReport::of_all(&flows);
        for report in &mut reports {
            report.src_qp =
                report.src_qp.or_else(|| sources.find(report.src, report.dst, report.dst_qp));
        }
        if counts.without_syndrome != 0 {
            reports.iter_mut().for_each(FlowReport::hide_syndromes);
        }
        AnswersReport::assign(&mut reports);
        set_facts(reading, &mut reports);
        FlowReport::sort(&mut reports);
        let mut pairs: Vec<_> =
            reading.pairs.iter().filter(|pair| filter.matches_pair(pair)).cloned().collect();
        let mut unconnected = Vec::new();
        if filter.qp.is_some() {
            tell_pairs(reading, &mut pairs);
            tell_flows(reading, &pairs, &mut reports);
            unconnected = tell_others(reading, filter, &pairs);
        }
        let malformed = ParseReason::ALL.iter().zip(reading.tap.reason);
        Self {
            schema_version: Self::SCHEMA_VERSION,
            input: InputReport {
                file: source.file.display().to_string(),
                format: source.info.format,
                link_type: source.info.link_type,
                snaplen: source.info.snaplen,
                first_time: counts.first_time,
                last_time: counts.last_time,
                error: source.error.clone(),
            },
            packets: PacketsReport {
                total: counts.total,
                roce_v2: reading.tap.packets() - reading.tap.v1_packets,
                roce_v1: reading.tap.v1_packets,
                other: counts.other,
                malformed: malformed
                    .filter(|(_, frames)| *frames != 0)
                    .map(|(reason, frames)| (reason.name(), frames))
                    .collect(),
                truncated: counts.truncated,
            },
            icrc: counts.icrc,
            flows: reports,
            other_flows: reading.other_flows,
            pairs,
            unconnected,
            incidents: filter.pick(incidents.found),
            incidents_left_out: incidents.left_out,
            findings,
            not_seen: NotSeenReport {
                mirror_lost: None,
                capture_dropped: source.capture_dropped,
                suspected: (!reading.pairs.is_empty()).then(|| {
                    let sequences =
                        reading.records.iter().filter_map(|(_, totals, _)| totals.sequence);
                    sequences.map(|sequence| sequence.unseen).sum()
                }),
            },
        }
    }
}

/// Gives flows what the PSN engine knows of their records.
fn set_facts(reading: &Reading, reports: &mut [FlowReport]) {
    let mut of_flow: HashMap<_, (Spread, SequenceFacts)> = HashMap::new();
    for ((key, ..), facts) in reading.records.iter().zip(&reading.facts) {
        let SequenceFacts { spread, retries, acknowledged, notes: _ } = facts;
        let has_any = spread.is_some() || retries.is_some() || acknowledged.is_some();
        let Some(id) = FlowId::of(key).filter(|_| has_any) else { continue };
        let flow = of_flow.entry((id.src, id.dst, id.dst_qp, id.transport.name())).or_default();
        if let Some(spread) = spread {
            flow.0.add(spread);
        }
        flow.1.retries = flow.1.retries.or(*retries);
        flow.1.acknowledged = flow.1.acknowledged.or(*acknowledged);
    }
    for report in reports {
        let key = (report.src, report.dst, report.dst_qp, report.transport.as_ref());
        if let Some((spread, facts)) = of_flow.get(&key).cloned() {
            report.set_spread(&spread);
            (report.retries, report.acknowledged) = (facts.retries, facts.acknowledged);
        }
    }
}

fn is_empty(other: &OtherFlows) -> bool {
    other.packets == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}
