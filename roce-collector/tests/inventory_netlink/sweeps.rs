//! From recorded bytes to events, with processes out of a tree.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use roce_collector::capture::Timestamp;
use roce_collector::inventory::{Change, Poller, QpReport, QpSnapshot, QpState, ReadState};

use crate::recording::{Recording, Replay};

pub(crate) fn proc() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/proc")
}

fn at(seconds: u64) -> (Timestamp, Duration) {
    (Timestamp::from_nanos(seconds * 1_000_000_000), Duration::from_secs(seconds))
}

fn names(snapshot: &QpSnapshot) -> Vec<String> {
    snapshot.qps.iter().map(|qp| format!("{qp} {}", qp.state)).collect()
}

/// A replay of one recording a sweep.
pub(crate) fn replay(names: &[&str]) -> Replay {
    Replay::in_turn(names.iter().map(|name| Recording::open(name)))
}

#[test]
fn a_queue_pair_that_dies_is_an_event_with_process_and_pod() {
    let mut poller =
        Poller::new(|| Ok(replay(&["linux-6.12/rts", "linux-6.12/err"])), &proc(), 1000);
    let (time, uptime) = at(100);
    assert!(poller.look(time, uptime).is_empty(), "a start is no event");
    let (time, uptime) = at(101);
    let events = poller.look(time, uptime);
    let [event] = &events[..] else { panic!("{events:#?}") };
    assert_eq!(event.change, Change::Failed { from: Some(QpState::RTS) });
    assert_eq!(
        event.to_string(),
        "RC QP 0x11 of rxa/1 (va) to QP 0x11, made by process 276 (verr) in pod \
         0b5c6d7e-1f2a-4b3c-8d4e-5f6a7b8c9d0e went from RTS to ERR"
    );
    let report = QpReport::from(&event.qp);
    assert_eq!(report.container_id.map(|id| id.len()), Some(64));
    assert_eq!((report.pid, report.tid, report.sq_psn), (Some(276), None, Some(13_901_917)));
    assert_eq!((report.first_seen, report.state_since), (at(100).0, at(101).0));

    let figures = poller.snapshot(0, 0).figures.unwrap();
    let count = |device: &str, state| {
        let mut found = figures.qps.iter().filter(|(name, kind, found, _)| {
            &**name == device && kind.name() == "RC" && *found == state
        });
        found.next().map(|(.., qps)| *qps)
    };
    assert_eq!((count("rxa", QpState::ERR), count("rxa", QpState::RTS)), (Some(1), None));
    assert_eq!((count("rxb", QpState::ERR), count("rxb", QpState::RTS)), (None, Some(1)));
    let failed: Vec<_> = figures.failed.iter().map(|(name, .., qps)| (&**name, *qps)).collect();
    assert_eq!(failed, [("rxa", 1)]);
}

#[test]
fn threads_belong_to_their_process_and_ended_ones_to_nobody() {
    let mut poller = Poller::new(|| Ok(replay(&["linux-6.12/states"])), &proc(), 1000);
    let (time, uptime) = at(1);
    let events = poller.look(time, uptime);
    // Ten of the process's own, and the one whose path was cut.
    let failed = events.iter().filter(|event| event.change == Change::Failed { from: None });
    assert_eq!((failed.count(), events.len()), (11, 11));
    let snapshot = poller.snapshot(0, 0);
    let report = |lqpn| {
        let mut qps = snapshot.qps.iter().filter(|qp| &*qp.device == "rxa" && qp.lqpn == lqpn);
        QpReport::from(qps.next().unwrap())
    };
    let by_thread = report(58);
    assert_eq!((by_thread.pid, by_thread.tid), (Some(322), Some(324)));
    assert_eq!(
        (by_thread.comm.as_deref(), by_thread.thread.as_deref()),
        (Some("manyqp"), Some("qp-worker"))
    );
    let by_ended = report(59);
    assert_eq!((by_ended.pid, by_ended.comm, by_ended.kernel_name), (None, None, None));
    let by_kernel = report(1);
    assert_eq!((by_kernel.pid, by_kernel.kernel_name.as_deref()), (None, Some("ib_core")));
    assert_eq!((by_kernel.qp_type.as_ref(), by_kernel.rqpn), ("GSI", None));
}

#[test]
fn no_rdma_is_nothing_wrong_and_no_figure() {
    let absent = || io::Result::<Replay>::Err(io::ErrorKind::NotFound.into());
    let mut poller = Poller::new(absent, &proc(), 10);
    let (time, uptime) = at(1);
    assert!(poller.look(time, uptime).is_empty());
    assert_eq!(
        (poller.state(), poller.state().text()),
        (&ReadState::NoRdma, "no RDMA on this host")
    );
    assert!(poller.snapshot(0, 0).figures.is_none(), "nothing that looks like 0 queue pairs");

    let mut poller = Poller::new(|| Ok(replay(&["linux-6.12/none"])), &proc(), 10);
    assert!(poller.look(time, uptime).is_empty());
    assert_eq!(poller.state(), &ReadState::NoRdma);
}

#[test]
fn a_failure_keeps_what_was_known_but_counts_none_of_it() {
    let mut opened = 0;
    let open = || {
        opened += 1;
        match opened {
            1 => Ok(replay(&["linux-6.12/rts", "linux-6.12/gone"])),
            _ => Err(io::Error::from_raw_os_error(libc::EMFILE)),
        }
    };
    let mut poller = Poller::new(open, &proc(), 1000);
    let (time, uptime) = at(1);
    poller.look(time, uptime);
    let known = poller.snapshot(0, 0);
    assert_eq!(known.figures.as_ref().unwrap().qps.iter().map(|(.., qps)| qps).sum::<u64>(), 4);
    // The second recording has no answer about these devices: the socket is given up.
    let (time, uptime) = at(2);
    assert!(poller.look(time, uptime).is_empty());
    let snapshot = poller.snapshot(3, 4);
    assert_eq!(names(&snapshot), names(&known));
    let figures = snapshot.figures.as_ref().unwrap();
    assert!(figures.reads.failed > 0 && (figures.skipped, figures.lost_events) == (3, 4));
    let (time, uptime) = at(3);
    assert!(poller.look(time, uptime).is_empty());
    let snapshot = poller.snapshot(0, 0);
    let ReadState::Failed(error) = &snapshot.state else { panic!("{:?}", snapshot.state) };
    assert!(
        error.starts_with("cannot open an RDMA netlink socket: Too many open files"),
        "{error}"
    );
    assert_eq!((names(&snapshot), snapshot.looked), (names(&known), Some(at(2).0)));
    assert!(snapshot.figures.unwrap().qps.is_empty());
}
