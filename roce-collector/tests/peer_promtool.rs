//! Prometheus' own judge of metrics text. Needs promtool: fails without.

use std::io::Write;
use std::net::IpAddr;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use roce_collector::export::{Format, HookLabel, ProgramRuns, Snapshot, render};
use roce_collector::flow::RttReport;
use roce_collector::sweep::{Counts, DeviceFigures, PeerKey, PsnCounts, QpKey, TapSequences, View};
use roce_common::tap::TapCounters;

/// A state in which every family has series.
fn everything() -> Snapshot {
    let host = IpAddr::from([10, 0, 0, 1]);
    let mut tap = TapCounters::default();
    tap.marking[0][104] = 1;
    let peer = PeerKey { device: 0, ends: Some((host, host)) };
    let qp = QpKey { tap: 0, src: host, dst: host, dst_qp: 1 };
    let counts = Counts { psns: Some(PsnCounts::default()), ..Counts::default() };
    let view = View {
        taps: vec![tap; 2],
        devices: vec![DeviceFigures::default()],
        peers: vec![(peer, counts)],
        qps: vec![(qp, counts)],
        sequences: vec![TapSequences::default(); 2],
        sequence_states: 8,
        peer_rtts: vec![(peer, RttReport { p50: 9.0, p99: 80.0, samples: 3 })],
        ladders: vec![(qp, 3)],
        ..View::default()
    };
    let hook = Some(HookLabel { hook: "tc", mode: "tcx" });
    let runs = ProgramRuns { program: "roce_tc_ingress".to_owned(), runs: 1, time: Duration::ZERO };
    Snapshot {
        view: Arc::new(view),
        interfaces: ["eth0".to_owned()].into(),
        hooks: vec![hook; 2],
        visible_ratios: vec![Some(1.0)],
        programs: vec![runs],
        ..Snapshot::default()
    }
}

#[test]
fn peer_promtool_has_nothing_to_say_about_the_metrics() {
    let text = render(&Arc::new(everything()), Format::Prometheus).unwrap();
    let mut promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("promtool is needed");
    promtool.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = promtool.wait_with_output().unwrap();
    let complaints = [output.stdout, output.stderr].concat();
    let complaints = String::from_utf8_lossy(&complaints);
    assert!(output.status.success() && complaints.is_empty(), "{complaints}\n{text}");
}
