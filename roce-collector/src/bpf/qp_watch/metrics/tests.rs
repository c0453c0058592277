use std::sync::Arc;

use roce_common::qp_watch::{QpKnown, QpRecord, QpRecordKind};

use super::*;
use crate::bpf::Clocks;
use crate::capture::Timestamp;
use crate::export::{Format, Snapshot, render};

fn text(figures: Figures) -> String {
    let snapshot = Snapshot { qp_watch: Some(Arc::new(figures)), ..Snapshot::default() };
    let text = render(&Arc::new(snapshot), Format::OpenMetrics).unwrap();
    let is_ours = |line: &&str| line.starts_with("roce_collector_qp_watch");
    text.lines().filter(is_ours).collect::<Vec<_>>().join("\n")
}

fn points(watched: &[Point]) -> Vec<(Point, bool)> {
    Point::ALL.map(|point| (point, watched.contains(&point))).into()
}

fn failure(kind: QpRecordKind) -> QpFailure {
    let mut device = [0; 64];
    device[..3].copy_from_slice(b"rxa");
    let known = QpKnown::NOTHING;
    let record = QpRecord {
        time_ns: 0,
        kind: kind as u32,
        detail: 1,
        lqpn: 2,
        pid: 0,
        known,
        comm: [0; 16],
        device,
    };
    QpFailure::decode(&record, Clocks { wall: Timestamp::default(), boot_ns: 0 }).unwrap()
}

#[test]
fn what_nobody_watches_is_absent_and_not_0() {
    let text = text(Figures { points: points(&[]), ..Figures::default() });
    assert_eq!(text.lines().count(), Point::ALL.len(), "{text}");
    assert!(
        text.lines().all(|line| line.ends_with("\"} 0") && line.contains("qp_watch{program=")),
        "{text}"
    );
}

#[test]
fn what_is_watched_is_counted_by_kind() {
    let mut figures = Figures {
        points: points(&[Point::KernelModify, Point::RxeError]),
        lost: LostRecords { limited: 7, ..LostRecords::default() },
        not_taken: 3,
        ..Figures::default()
    };
    figures.count(&failure(QpRecordKind::DriverError));
    figures.count(&failure(QpRecordKind::DriverError));
    // Its probe was there before, and what it told stays.
    figures.count(&failure(QpRecordKind::AsyncEvent));
    let text = text(figures);
    for line in [
        "roce_collector_qp_watch{program=\"rxe_error\"} 1",
        "roce_collector_qp_watch{program=\"modify\"} 0",
        "roce_collector_qp_watch_events_total{what=\"modified_to_err\"} 0",
        "roce_collector_qp_watch_events_total{what=\"driver_error\"} 2",
        "roce_collector_qp_watch_events_total{what=\"async_event\"} 1",
        "roce_collector_qp_watch_lost_total{reason=\"rate_limit\"} 7",
        "roce_collector_qp_watch_lost_total{reason=\"not_taken\"} 3",
    ] {
        assert!(text.contains(line), "{line} is not in:\n{text}");
    }
    assert!(!text.contains("destroyed"), "{text}");
}
