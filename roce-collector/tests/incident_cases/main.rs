//! From lines, netlink and packets to incidents: real reports, with the answer that each should get.

mod cases;
mod http;
mod lines;
mod network;

use std::path::Path;
use std::sync::Arc;

use roce_collector::capture::Timestamp;
use roce_collector::diagnosis::{Case, HostFacts, Sight, Verdict, diagnose};
use roce_collector::explain::{Decoder, ErrorRecord};
use roce_collector::incident::{
    Correlator, CorrelatorLimits, Group, Incident, Signal, WireKind, WireTrouble,
};
use roce_collector::inventory::{Change, Qp, QpEvent, QpState, QpType};
use serde_json::Value;

/// Lines of `testdata/logs/qp_errors.json`, and what they mean.
struct Entry {
    id: String,
    lines: Vec<String>,
    expect: Value,
}

fn entries() -> Vec<Entry> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/logs/qp_errors.json");
    let text = std::fs::read_to_string(path).expect("a readable file");
    let entries: Vec<Value> = serde_json::from_str(&text).expect("JSON");
    let entry = |entry: Value| Entry {
        id: entry["id"].as_str().expect("an id").to_owned(),
        lines: serde_json::from_value(entry["lines"].clone()).expect("lines"),
        expect: entry["expect"].clone(),
    };
    entries.into_iter().map(entry).collect()
}

/// The lines of an entry.
fn lines(id: &str) -> String {
    let entry = entries().into_iter().find(|entry| entry.id == id);
    entry.unwrap_or_else(|| panic!("there is no entry {id}")).lines.join("\n")
}

fn at(seconds: f64) -> Timestamp {
    Timestamp::from_nanos(((1_795_953_600.0 + seconds) * 1e3) as u64 * 1_000_000)
}

fn decode(log: &str, time: Option<f64>) -> Vec<ErrorRecord> {
    let mut decoder = Decoder::default();
    let mut records = Vec::new();
    for (number, line) in (1..).zip(log.lines()) {
        records.extend(decoder.line_written(line.as_bytes(), number, time.map(at)));
    }
    records.extend(decoder.finish());
    records
}

/// The signals of lines that were written at one time, where that is known.
fn logged(source: &str, log: &str, time: Option<f64>) -> Vec<Signal> {
    let source: Arc<str> = source.into();
    let signal = |record| Signal::Log { source: Arc::clone(&source), record: Box::new(record) };
    decode(log, time).into_iter().map(signal).collect()
}

/// Trouble of QP `far` of 10.0.0.12, which 10.0.0.11 sends requests to.
fn seen(seconds: f64, kind: WireKind, near: Option<u32>, far: u32) -> Signal {
    Signal::Wire(WireTrouble {
        time: at(seconds),
        device: None,
        requester: "10.0.0.11".parse().expect("an address"),
        requester_qp: near,
        responder: "10.0.0.12".parse().expect("an address"),
        responder_qp: Some(far),
        kind,
    })
}

/// A queue pair of mlx5_3 that netlink lists in ERR.
fn listed(seconds: f64, lqpn: u32, netdev: &str) -> Signal {
    let qp = Qp {
        device: "mlx5_3".into(),
        device_index: 3,
        port: Some(1),
        netdev: Some(netdev.into()),
        lqpn,
        rqpn: Some(0x93),
        qp_type: QpType::RC,
        subtype: None,
        state: QpState::ERR,
        sq_psn: None,
        rq_psn: None,
        path_migration: None,
        task: Some(4300),
        owner: None,
        kernel_name: None,
        first_seen: at(-3600.0),
        state_since: at(seconds),
        missed: 0,
    };
    let change = Change::Failed { from: Some(QpState::RTS) };
    Signal::Netlink(Box::new(QpEvent { time: at(seconds), change, qp }))
}

fn groups(signals: impl IntoIterator<Item = Signal>) -> Vec<Group> {
    let mut correlator = Correlator::new(CorrelatorLimits::default());
    for signal in signals {
        correlator.take(signal, Timestamp::default());
    }
    correlator.finish()
}

fn incident(group: &Group, sight: Sight, facts: HostFacts) -> Incident {
    let case = Case { failure: group.failure(), sight, facts, ..Case::default() };
    Incident::of(group, &case, &diagnose(&case), Vec::new())
}

/// The incidents of signals of which nothing but them is known.
fn incidents(signals: impl IntoIterator<Item = Signal>) -> Vec<Incident> {
    let groups = groups(signals);
    groups.iter().map(|group| incident(group, Sight::NotLooked, HostFacts::default())).collect()
}

/// The only incident.
fn one(signals: impl IntoIterator<Item = Signal>) -> Incident {
    let mut incidents = incidents(signals);
    assert_eq!(incidents.len(), 1, "{incidents:#?}");
    incidents.remove(0)
}

/// The only incident of a log whose lines have no time.
fn one_of(log: &str) -> Incident {
    one(logged("job.log", log, None))
}

fn code(incident: &Incident) -> Option<u8> {
    incident.status.as_ref().map(|status| status.code)
}

fn vendor(incident: &Incident) -> Option<u32> {
    incident.vendor_err.as_ref().map(|code| code.value)
}

/// Whether a verdict says that the network is to blame.
fn blames_network(verdict: Verdict) -> bool {
    use Verdict as V;
    matches!(
        verdict,
        V::ForwardBlackHole
            | V::ReverseBlackHole
            | V::MismarkedLossyDrop
            | V::DropWithoutPause
            | V::CongestionLoss
            | V::MtuBlackHole
            | V::PauseStorm
            | V::NicReceiveDrop
            | V::LinkFlap
            | V::GidChange
            | V::ReorderingOnly
    )
}
