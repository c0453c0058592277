//! The whole text for one fixed state, and what must not be there.

use std::fs;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use roce_common::marking::MarkingPolicy;
use roce_common::sequence::Histograms;
use roce_common::tap::TapCounters;

use super::*;
use crate::bpf::{Point, QpWatchFigures};
use crate::flow::{RttReport, Spread};
use crate::incident::{ErrorLabels, IncidentFigures};
use crate::inventory::{Figures, QpState, QpType};
use crate::recorder::RecorderCounts;
use crate::sweep::{
    Counts, DeviceFigures, Durations, PeerKey, PsnCounts, QpKey, TapSequences, View,
};

fn host(last: u8) -> IpAddr {
    IpAddr::from([10, 0, 0, last])
}

fn tap() -> TapCounters {
    let mut tap = TapCounters::default();
    tap.marking[0][104] = 7; // data, DSCP 26, not ECN-capable
    tap.marking[0][106] = 1000; // data, DSCP 26, ECT(0)
    tap.marking[0][107] = 30; // data, DSCP 26, CE
    tap.marking[1][2] = 5; // acknowledgements, DSCP 0, ECT(0)
    tap.marking[2][192] = 3; // CNPs, DSCP 48
    tap.opcode[0x07] = 1037;
    tap.opcode[0x11] = 5;
    tap.opcode[0x81] = 3;
    tap.wire_bytes = 1_120_000;
    tap.v1_packets = 1;
    tap.nak[0] = 2;
    tap.nak[6] = 1;
    tap.reason[13] = 4;
    tap.table_full = 11;
    tap
}

fn psns() -> PsnCounts {
    PsnCounts {
        lost: 5,
        recovered: 4,
        unseen: 3,
        reordered: 6,
        retransmitted: 9,
        retransmitted_bytes: 9216,
        tap_duplicates: 1,
        go_back_n_episodes: 2,
        timeouts: 1,
    }
}

fn sequences() -> TapSequences {
    let mut now = Histograms::default();
    (now.rtt[3], now.rtt[19]) = (10, 1);
    let mut spread = Spread::default();
    spread.advance(&Histograms::default(), &now);
    TapSequences { counts: psns(), open: 7, undecided: 8, untracked: 2, spread }
}

fn counts(packets: u64) -> Counts {
    let psns = Some(psns());
    Counts { packets, bytes: packets * 1000, ce: 30, cnps: 3, naks: 2, mismarked: 12, psns }
}

fn snapshot() -> Snapshot {
    let mut durations = Durations::default();
    durations.add(Duration::from_millis(2));
    durations.add(Duration::from_secs(2));
    let qp = QpKey { tap: 0, src: host(1), dst: host(2), dst_qp: 0x45 };
    let view = View {
        taps: vec![tap(), tap(), tap(), tap()],
        sequences: vec![sequences(); 4],
        sequence_states: 100,
        used_sequence_states: 40,
        devices: vec![DeviceFigures { flows: 2, evicted: 9 }; 2],
        peers: vec![
            (PeerKey { device: 0, ends: Some((host(1), host(2))) }, counts(1000)),
            (PeerKey { device: 0, ends: None }, counts(45)),
            (PeerKey { device: 1, ends: Some((host(8), host(9))) }, counts(77)),
        ],
        peer_rtts: vec![(
            PeerKey { device: 0, ends: Some((host(1), host(2))) },
            RttReport { p50: 12.5, p99: 1500.0, samples: 11 },
        )],
        qps: vec![
            (qp, counts(900)),
            (QpKey { tap: 1, ..qp }, counts(44)),
            (QpKey { dst_qp: 0x46, ..qp }, Counts { psns: None, ..counts(3) }),
        ],
        ladders: vec![(qp, 3), (QpKey { tap: 1, ..qp }, 5)],
        busy_records: 1,
        unplaced_packets: 0,
        forgotten_events: 0,
        refused_histories: 0,
        dropped_troubles: 0,
        dropped_ladder_steps: 0,
    };
    Snapshot {
        view: Arc::new(view),
        interfaces: ["eth\"0".to_owned(), "eth1".to_owned()].into(),
        hooks: vec![Some(HookLabel { hook: "xdp", mode: "native" }), None, None, None],
        marking: MarkingPolicy::DEFAULT,
        visible_ratios: vec![Some(0.25), None],
        is_blind: vec![false; 2],
        durations,
        programs: Vec::new(),
        inventory: None,
        qp_watch: None,
        logs: None,
        recorder: Some(RecorderCounts {
            written: 2,
            failed: 1,
            removed: 3,
            empty: 4,
            overwritten: 5,
        }),
        incidents: None,
    }
}

fn golden() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../testdata/metrics/ingress_only.txt")
}

#[test]
fn the_whole_text() {
    let text = render(&Arc::new(snapshot()), Format::OpenMetrics).unwrap();
    let text = text.replace(env!("ROCE_REVISION"), "REVISION");
    let expected = fs::read_to_string(golden()).unwrap();
    assert!(text == expected, "{} differs from:\n{text}", golden().display());
}

#[test]
fn what_is_not_attached_has_no_series() {
    let text = render(&Arc::new(snapshot()), Format::OpenMetrics).unwrap();
    assert!(!text.contains("egress") && !text.contains("eth1"), "{text}");
    let nothing = Snapshot { hooks: vec![None; 4], recorder: None, ..snapshot() };
    let text = render(&Arc::new(nothing), Format::OpenMetrics).unwrap();
    let series: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(series.iter().all(|line| line.starts_with("roce_collector_")), "{series:?}");
}

#[test]
fn a_blind_port_exports_its_ratio_and_no_packet_counter() {
    let blind = Snapshot { is_blind: vec![true, false], ..snapshot() };
    let text = render(&Arc::new(blind), Format::OpenMetrics).unwrap();
    let series = text.lines().filter(|line| !line.starts_with('#') && line.contains("eth"));
    let names: Vec<_> = series.filter_map(|line| line.split('{').next()).collect();
    assert_eq!(names, ["roce_capture_visible_ratio", "roce_collector_hook_info"]);
}

#[test]
fn unchecked_marks_have_no_series() {
    let any = MarkingPolicy::ANY;
    let marking =
        MarkingPolicy { data_dscp: any, ack_dscp: any, ect_required: 0, ..snapshot().marking };
    let text = render(&Arc::new(Snapshot { marking, ..snapshot() }), Format::OpenMetrics).unwrap();
    let kinds: Vec<_> = text.lines().filter(|line| line.contains("kind=")).collect();
    assert_eq!(kinds.len(), 1, "{kinds:?}");
    assert!(kinds[0].contains("kind=\"cnp_dscp\""), "{kinds:?}");
}

#[test]
fn run_times_are_there_when_they_are_measured() {
    let runs =
        ProgramRuns { program: "roce_xdp".to_owned(), runs: 12, time: Duration::from_millis(1500) };
    let measured = Snapshot { programs: vec![runs], ..snapshot() };
    let text = render(&Arc::new(measured), Format::OpenMetrics).unwrap();
    assert!(
        text.contains("roce_collector_ebpf_run_seconds_total{program=\"roce_xdp\"} 1.5\n"),
        "{text}"
    );
    assert!(text.contains("roce_collector_ebpf_runs_total{program=\"roce_xdp\"} 12\n"), "{text}");
}

#[test]
fn the_form_follows_the_accept_header() {
    let prometheus =
        "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3";
    assert_eq!(Format::accepted(Some(prometheus)), Format::OpenMetrics);
    assert_eq!(Format::accepted(None), Format::OpenMetrics);
    assert_eq!(Format::accepted(Some("*/*")), Format::OpenMetrics);
    assert_eq!(Format::accepted(Some("text/plain;version=0.0.4")), Format::Prometheus);
    let text = render(&Arc::new(snapshot()), Format::Prometheus).unwrap();
    assert!(
        text.contains("# TYPE roce_packets_total counter\n") && !text.contains("# EOF"),
        "{text}"
    );
}

#[test]
fn thousands_of_pairs_take_little_time() {
    let ends = |index: u32| Some((IpAddr::from(index.to_be_bytes()), host(1)));
    let peers =
        (0..4096).map(|index| (PeerKey { device: 0, ends: ends(index) }, counts(index.into())));
    let view = View { peers: peers.collect(), ..(*snapshot().view).clone() };
    let snapshot = Arc::new(Snapshot { view: Arc::new(view), ..snapshot() });
    let start = std::time::Instant::now();
    let text = render(&snapshot, Format::OpenMetrics).unwrap();
    assert!(text.lines().count() > 6 * 4096);
    assert!(start.elapsed() < Duration::from_secs(1), "took {:?}", start.elapsed());
}

/// The reference and the program name the same metrics.
#[test]
fn every_metric_is_in_the_reference() {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/metrics.md");
    let reference = fs::read_to_string(file).unwrap();
    let rows = reference.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let mut documented: Vec<_> = rows.collect();
    let runs = ProgramRuns { program: "p".to_owned(), runs: 1, time: Duration::ZERO };
    let device: Arc<str> = "mlx5_0".into();
    let figures = Figures {
        qps: vec![(Arc::clone(&device), QpType::RC, QpState::RTS, 1)],
        failed: vec![(device, QpType::RC, 1)],
        ..Figures::default()
    };
    let inventory = Some(Arc::new(figures));
    let logs = Some(Arc::default());
    let errors = vec![(ErrorLabels::other(), 1)];
    let incidents = IncidentFigures { errors, outcomes: vec![("died", 1)], ..Default::default() };
    let incidents = Some(Arc::new(incidents));
    let points = vec![(Point::Destroy, true)];
    let qp_watch = Some(Arc::new(QpWatchFigures { points, ..QpWatchFigures::default() }));
    let programs = vec![runs];
    let all = Snapshot { programs, inventory, qp_watch, logs, incidents, ..snapshot() };
    let text = render(&Arc::new(all), Format::Prometheus).unwrap();
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    let mut exported: Vec<_> = types.collect();
    documented.sort_unstable();
    exported.sort_unstable();
    assert_eq!(documented, exported);
}

#[test]
fn log_sources_have_a_series_for_each_counter() {
    let logs = Some(Arc::default());
    let text = render(&Arc::new(Snapshot { logs, ..snapshot() }), Format::OpenMetrics).unwrap();
    for series in [
        "roce_log_read_bytes_total 0",
        "roce_log_lines_total{fate=\"rate_limited\"} 0",
        "roce_log_source_events_total{event=\"truncation\"} 0",
    ] {
        assert!(text.contains(series), "{text}");
    }
    assert_eq!(text.matches("\nroce_log_").count(), 16);
}
