//! A real Prometheus that scrapes the real collector: every query of the dashboard and every rule.
//! Needs root, BPF and Prometheus: fails without.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails its test")]

mod dashboard;
mod lab;
mod server;

use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use lab::Lab;
use server::Server;

/// Panels that may be empty, and why.
const EMPTY_PANELS: [(&str, &str); 1] =
    [("Events lost in the collector", "nothing is lost, and the panel shows losses only")];

/// Alerts whose condition the traffic of the lab meets.
const MET: [&str; 8] = [
    "RoceNakSequenceErrors",
    "RoceNakSequenceErrorsHigh",
    "RocePacketLoss",
    "RoceRetransmissions",
    "RoceRemoteErrors",
    "RoceMismarkedTraffic",
    "RoceNotEcnCapable",
    "RoceFlowTableFull",
];

/// Alerts that would be wrong about a collector that runs and sees everything.
const WRONG: [&str; 6] = [
    "RoceCaptureBlind",
    "RoceCapturePartial",
    "RoceCollectorAbsent",
    "RoceCollectorDown",
    "RoceCollectorNotAttached",
    "RoceEventsLost",
];

#[test]
fn peer_prometheus_answers_every_query_of_the_dashboard_and_the_rules() {
    let lab = Lab::new();
    let collector = lab.start_collector();
    let server = Server::start(lab.tap());
    let traffic = lab.play(Duration::from_secs(24));
    println!("{} frames, {} scrapes", traffic.frames, server.scrapes());
    assert!(server.scrapes() >= 5);
    server.assert_scraped();

    let mut failures = Vec::new();
    let mut empty = BTreeSet::new();
    for (title, query) in dashboard::queries() {
        match server.series(&query) {
            Ok(0) => drop(empty.insert(title)),
            Ok(_) => {}
            Err(error) => failures.push(format!("panel {title}: {error:#}\n{query}")),
        }
    }
    for (metric, label) in dashboard::variables() {
        let values = server.label_values(&metric, &label).unwrap();
        assert!(!values.is_empty(), "the variable with label {label} of {metric} has no value");
    }
    let expected: BTreeSet<_> = EMPTY_PANELS.iter().map(|(title, _)| (*title).to_owned()).collect();
    assert_eq!(empty, expected, "panels without a series");

    let rules = server.rules();
    let mut met = BTreeSet::new();
    for rule in &rules {
        match server.series(&rule.query) {
            Ok(0) if !rule.is_alert => failures.push(format!("{} records nothing", rule.name)),
            Ok(0) => {}
            Ok(_) => drop(met.insert(rule.name.as_str())),
            Err(error) => failures.push(format!("rule {}: {error:#}", rule.name)),
        }
        if !rule.last_error.is_empty() {
            failures.push(format!("rule {}: {}", rule.name, rule.last_error));
        }
    }
    assert_eq!(failures, Vec::<String>::new());
    let known: BTreeSet<_> = rules.iter().map(|rule| rule.name.as_str()).collect();
    for name in MET {
        assert!(met.contains(name), "{name} does not fire: {met:?}");
    }
    for name in WRONG {
        assert!(known.contains(name) && !met.contains(name), "{name} would fire: {met:?}");
    }

    let text = collector.get_with("/metrics", &[("Accept", "text/plain")]).unwrap().ok().unwrap();
    assert_promtool_agrees(&text);
    assert!(collector.stop().unwrap().success());
}

/// promtool has nothing to say about what the collector serves.
fn assert_promtool_agrees(text: &str) {
    let mut promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("this test needs promtool, of the Debian package prometheus");
    promtool.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = promtool.wait_with_output().unwrap();
    let complaints = [output.stdout, output.stderr].concat();
    let complaints = String::from_utf8_lossy(&complaints);
    assert!(output.status.success() && complaints.is_empty(), "{complaints}");
}
