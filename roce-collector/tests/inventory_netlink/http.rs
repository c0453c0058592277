//! `/api/v1/qps` and `/metrics` over a real connection.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use roce_collector::capture::Timestamp;
use roce_collector::export::Snapshot;
use roce_collector::http::{QpsAnswer, ServerState, Status, serve};
use roce_collector::inventory::{Poller, QpSnapshot, ReadState};
use roce_testkit::http::{Response, get};
use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};

use crate::sweeps::{proc, replay};

/// Serves a snapshot while `ask` asks.
fn serving(snapshot: QpSnapshot, ask: impl FnOnce(&dyn Fn(&str) -> Response)) {
    let figures = snapshot.figures.clone();
    let status = Status {
        snapshot: Arc::new(Snapshot { inventory: figures, ..Snapshot::default() }),
        swept: Some(Instant::now()),
        ..Status::default()
    };
    let (stop, stopped) = oneshot::channel::<()>();
    let (started, address) = channel::<SocketAddr>();
    let server = thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            started.send(listener.local_addr().unwrap()).unwrap();
            let state = ServerState {
                status: watch::channel(Arc::new(status)).1,
                flows: sync_channel(1).0,
                inventory: watch::channel(Arc::new(snapshot)).1,
                incidents: watch::channel(Arc::default()).1,
            };
            serve(listener, state, async { drop(stopped.await) }).await.unwrap();
        });
    });
    let address = address.recv().unwrap();
    ask(&|path| get(address, path, &[]).unwrap());
    drop(stop);
    server.join().unwrap();
}

fn snapshot() -> QpSnapshot {
    let mut poller = Poller::new(|| Ok(replay(&["linux-6.12/states"])), &proc(), 1000);
    poller.look(Timestamp::from_nanos(1_700_000_000_000_000_000), Duration::ZERO);
    poller.snapshot(2, 5)
}

fn answer(response: Response) -> QpsAnswer {
    serde_json::from_str(&response.ok().unwrap()).unwrap()
}

#[test]
fn queue_pairs_in_error_come_first_and_all_can_be_asked_for() {
    serving(snapshot(), |ask| {
        let all = answer(ask("/api/v1/qps"));
        assert_eq!((all.schema_version, &*all.status, all.matching), (1, "ok", 46));
        let states: Vec<_> = all.qps.iter().map(|qp| &*qp.state).collect();
        assert!(states[..11].iter().all(|state| *state == "ERR") && !states[11..].contains(&"ERR"));
        let ports: Vec<_> = all
            .devices
            .iter()
            .map(|device| (&*device.device, device.ports[0].netdev.as_deref()))
            .collect();
        assert_eq!(ports, [("rxa", Some("va")), ("rxb", Some("vb"))]);

        let count = |query: &str| answer(ask(&format!("/api/v1/qps?{query}"))).matching;
        assert_eq!((count("state=err"), count("state=RTS&device=rxb")), (11, 2));
        assert_eq!((count("pid=322"), count("pid=324"), count("pid=1")), (41, 1, 0));
        assert_eq!((count("qp=0x11"), count("qp=17&device=va")), (2, 1));
        let limited = answer(ask("/api/v1/qps?limit=3"));
        assert_eq!((limited.matching, limited.qps.len()), (46, 3));
    });
}

#[test]
fn bad_questions_are_refused_in_one_line() {
    serving(snapshot(), |ask| {
        for (query, hint) in [
            ("limit=10001", "limit: 10001 is more than 10000"),
            ("qp=0x1000000", "qp: expected a queue pair number"),
            ("state=DEAD", "state: expected one of RESET, INIT, RTR, RTS, SQD, SQE, ERR"),
            ("lqpn=7", "unknown field `lqpn`"),
        ] {
            let refused = ask(&format!("/api/v1/qps?{query}"));
            assert_eq!((refused.status, refused.body.lines().count()), (400, 1), "{refused:?}");
            assert!(refused.body.contains(hint), "{query}: {}", refused.body);
        }
    });
}

#[test]
fn an_empty_list_says_why_it_is_empty() {
    for (state, status, message) in [
        (ReadState::Off, "off", "the inventory of queue pairs is off (--qp-inventory-interval 0)"),
        (ReadState::Waiting, "waiting", "not looked yet"),
        (ReadState::NoRdma, "no_rdma", "no RDMA on this host"),
        (ReadState::Failed("it broke".to_owned()), "failed", "it broke"),
    ] {
        serving(QpSnapshot { state, ..QpSnapshot::default() }, |ask| {
            let answer = answer(ask("/api/v1/qps"));
            assert_eq!((&*answer.status, &*answer.message), (status, message));
            assert!(answer.qps.is_empty() && answer.time.is_none());
            let metrics = ask("/metrics").ok().unwrap();
            assert!(!metrics.contains("roce_rdma"), "what is not known has no series: {metrics}");
        });
    }
}

#[test]
fn metrics_of_queue_pairs_and_of_what_was_lost() {
    serving(snapshot(), |ask| {
        let metrics = ask("/metrics").ok().unwrap();
        for line in [
            "roce_rdma_qps{device=\"rxa\",type=\"RC\",state=\"ERR\"} 5",
            "roce_rdma_qps{device=\"rxb\",type=\"GSI\",state=\"RTS\"} 1",
            "roce_rdma_qps_failed_total{device=\"rxa\",type=\"RC\"} 5",
            "roce_rdma_lost_total{what=\"event\"} 5",
            "roce_rdma_lost_total{what=\"damaged_record\"} 0",
            "roce_rdma_put_off_total{what=\"sweep\"} 2",
            "roce_rdma_sweep_seconds_count 1",
        ] {
            assert!(metrics.lines().any(|found| found == line), "{line} is not in\n{metrics}");
        }
    });
}
