use roce_common::qp_watch::{COMM_BYTES, DEVICE_NAME_BYTES, QpKnown};

use super::*;

const NOW: Clocks =
    Clocks { wall: Timestamp::from_nanos(1_000_000_000_000), boot_ns: 5_000_000_000 };

fn name<const N: usize>(text: &str) -> [u8; N] {
    // Behind the zero is what was in the ring before.
    let mut bytes = [b'x'; N];
    bytes[..text.len()].copy_from_slice(text.as_bytes());
    bytes[text.len()] = 0;
    bytes
}

fn record() -> QpRecord {
    QpRecord {
        time_ns: 4_000_000_000,
        kind: QpRecordKind::ModifiedToErr as u32,
        detail: 0,
        lqpn: 0x11,
        pid: 274,
        known: QpKnown { state: 3, timeout: 14, retry_cnt: 7, rnr_retry: 6, rqpn: 0x12 },
        comm: name::<COMM_BYTES>("ib_write_bw"),
        device: name::<DEVICE_NAME_BYTES>("mlx5_0"),
    }
}

fn decode(record: QpRecord) -> QpFailure {
    QpFailure::decode(&record, NOW).unwrap()
}

#[test]
fn what_a_program_did_is_told_with_its_name() {
    let failure = decode(record());
    assert_eq!(
        failure,
        QpFailure {
            time: Timestamp::from_nanos(999_000_000_000),
            device: "mlx5_0".into(),
            lqpn: 0x11,
            what: QpFailureKind::ModifiedToErr,
            before: Some(QpState::RTS),
            settings: QpSettings {
                rqpn: Some(0x12),
                timeout: Some(14),
                retry_cnt: Some(7),
                rnr_retry: Some(6),
            },
            pid: Some(274),
            comm: Some("ib_write_bw".into()),
        }
    );
    assert_eq!(
        failure.to_string(),
        "QP 0x11 of mlx5_0 was set to ERR, its state was RTS, by ib_write_bw (274)"
    );
}

#[test]
fn what_is_not_known_is_none() {
    let kind = QpRecordKind::DriverError as u32;
    // Nobody called: whatever else is in the record of a process is none.
    let failure = decode(QpRecord { kind, pid: 0, known: QpKnown::NOTHING, ..record() });
    assert_eq!((failure.before, failure.pid, &failure.comm), (None, None, &None));
    assert_eq!(failure.settings, QpSettings::default());
    assert_eq!(failure.to_string(), "QP 0x11 of mlx5_0 was put into ERR by its driver");
    assert!(failure.is_error());
}

#[test]
fn events_have_their_names() {
    let kind = QpRecordKind::AsyncEvent as u32;
    let failure = decode(QpRecord { kind, detail: 3, pid: 0, ..record() });
    assert_eq!(failure.what, QpFailureKind::AsyncEvent(3));
    assert!(failure.to_string().contains("asynchronous event QP_ACCESS_ERR"), "{failure}");
    let failure = decode(QpRecord { kind, detail: 99, pid: 0, ..record() });
    assert!(failure.to_string().contains("asynchronous event 99"), "{failure}");
}

#[test]
fn an_end_is_no_error() {
    let failure = decode(QpRecord { kind: QpRecordKind::Destroyed as u32, ..record() });
    assert!(!failure.is_error());
    assert!(failure.to_string().starts_with("QP 0x11 of mlx5_0 was destroyed, its state was RTS"));
}

#[test]
fn what_is_no_record_is_refused() {
    for damaged in [
        QpRecord { kind: 0, ..record() },
        QpRecord { kind: 5, ..record() },
        QpRecord { device: name(""), ..record() },
        QpRecord { device: [b'x'; DEVICE_NAME_BYTES], ..record() },
    ] {
        assert_eq!(QpFailure::decode(&damaged, NOW), None, "{damaged:?}");
    }
    // A record of the next instant, by clocks that were read one after the other.
    let failure = decode(QpRecord { time_ns: NOW.boot_ns + 10, ..record() });
    assert_eq!(failure.time, NOW.wall);
}
