//! The HTTP routes over real connections, with made-up answers behind them.

#![expect(clippy::unwrap_used, reason = "a test fails by it")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use roce_collector::export::{HookLabel, Snapshot};
use roce_collector::http::{FlowsAnswer, FlowsQuestion, ServerState, Status, serve};
use roce_collector::read::FlowFilter;
use roce_collector::sweep::View;
use roce_common::tap::TapCounters;
use roce_testkit::http::{Response, get};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};

struct Server {
    address: SocketAddr,
    publisher: watch::Sender<Arc<Status>>,
    questions: Option<Receiver<FlowsQuestion>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    fn start() -> Self {
        let (publisher, status) = watch::channel(Arc::new(Status::default()));
        let (flows, questions) = sync_channel(1);
        let (_, inventory) = watch::channel(Arc::default());
        let (_, incidents) = watch::channel(Arc::default());
        let (stop, stopped) = oneshot::channel::<()>();
        let (started, address) = std::sync::mpsc::channel();
        let thread = thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                started.send(listener.local_addr().unwrap()).unwrap();
                let stop = async { drop(stopped.await) };
                let state = ServerState { status, flows, inventory, incidents };
                serve(listener, state, stop).await.unwrap();
            });
        });
        let address = address.recv().unwrap();
        let questions = Some(questions);
        Self { address, publisher, questions, stop: Some(stop), thread: Some(thread) }
    }

    fn get(&self, path: &str) -> Response {
        get(self.address, path, &[]).unwrap()
    }

    fn publish(&self, status: Status) {
        self.publisher.send_replace(Arc::new(status));
    }

    /// Answers every question with its own filter and limit, in words.
    fn answer(&mut self) {
        let questions = self.questions.take().unwrap();
        thread::spawn(move || {
            for question in questions {
                let FlowFilter { qp, peer } = question.filter;
                let answer = serde_json::from_value(json!({
                    "schema_version": FlowsAnswer::SCHEMA_VERSION,
                    "hooks": [],
                    "matching": question.limit,
                    "flows": [],
                    "other_flows": { "packets": qp.unwrap_or(0), "wire_bytes": u64::from(peer.is_some()) },
                }));
                let answer: FlowsAnswer = answer.unwrap();
                drop(question.answer.send(answer));
            }
        });
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let result = thread.join();
            assert!(result.is_ok() || thread::panicking());
        }
    }
}

fn attached() -> Status {
    let mut tap = TapCounters::default();
    tap.opcode[4] = 42;
    let snapshot = Snapshot {
        view: Arc::new(View { taps: vec![tap, tap], ..View::default() }),
        interfaces: ["eth0".to_owned()].into(),
        hooks: vec![Some(HookLabel { hook: "tc", mode: "tcx" }), None],
        ..Snapshot::default()
    };
    Status {
        snapshot: Arc::new(snapshot),
        swept: Some(Instant::now()),
        hooks: "INTERFACE  HOOK\neth0       tc".to_owned(),
        blind: vec!["eth0 sees nothing".to_owned()],
    }
}

#[test]
fn before_the_first_sweep_it_is_neither_alive_nor_ready() {
    let server = Server::start();
    assert_eq!((server.get("/healthz").status, server.get("/readyz").status), (503, 503));
    let metrics = server.get("/metrics").ok().unwrap();
    assert!(metrics.contains("roce_collector_build_info{") && metrics.ends_with("# EOF\n"));
    assert!(!metrics.contains("roce_packets"), "nothing is known yet");
}

#[test]
fn a_sweep_makes_it_ready_and_says_what_it_cannot_see() {
    let server = Server::start();
    server.publish(attached());
    assert_eq!(server.get("/healthz").status, 200);
    let ready = server.get("/readyz");
    let body = "ready\n\nINTERFACE  HOOK\neth0       tc\n\nblind: eth0 sees nothing\n";
    assert_eq!((ready.status, ready.body.as_str()), (200, body));
    let metrics = server.get("/metrics");
    assert_eq!(metrics.content_type, "application/openmetrics-text; version=1.0.0; charset=utf-8");
    let line = "roce_packets_total{device=\"eth0\",direction=\"ingress\",version=\"v2\"} 42\n";
    assert!(metrics.body.contains(line), "{}", metrics.body);
    let text = get(server.address, "/metrics", &[("Accept", "text/plain")]).unwrap();
    assert!(text.content_type.starts_with("text/plain; version=0.0.4"), "{}", text.content_type);
    assert!(text.body.contains("# TYPE roce_packets_total counter\n"));
}

#[test]
fn an_old_sweep_and_a_lost_interface_are_noticed() {
    let server = Server::start();
    let old = Instant::now().checked_sub(Duration::from_secs(11)).unwrap();
    server.publish(Status { swept: Some(old), ..attached() });
    assert_eq!((server.get("/healthz").status, server.get("/readyz").status), (503, 200));
    let snapshot = Snapshot { hooks: vec![None, None], ..(*attached().snapshot).clone() };
    server.publish(Status { snapshot: Arc::new(snapshot), ..attached() });
    assert_eq!((server.get("/healthz").status, server.get("/readyz").status), (200, 503));
}

#[test]
fn questions_for_flows_reach_who_sweeps() {
    let mut server = Server::start();
    server.answer();
    let ask = |query: &str| {
        let body = server.get(&format!("/api/v1/flows{query}")).ok().unwrap();
        let answer: FlowsAnswer = serde_json::from_str(&body).unwrap();
        (answer.matching, answer.other_flows.packets, answer.other_flows.wire_bytes)
    };
    assert_eq!(ask(""), (1000, 0, 0));
    assert_eq!(ask("?qp=0x45&limit=7"), (7, 69, 0));
    assert_eq!(ask("?peer=fd00::1&qp=69"), (1000, 69, 1));
}

#[test]
fn bad_questions_are_refused_in_one_line() {
    let mut server = Server::start();
    server.answer();
    for (query, hint) in [
        ("?qp=0x1000000", "qp: expected a queue pair number"),
        ("?limit=10001", "limit: 10001 is more than 10000"),
        ("?limit=-1", "invalid digit"),
        ("?peer=host7", "invalid IP address"),
        ("?qpn=1", "unknown field `qpn`"),
    ] {
        let refused = server.get(&format!("/api/v1/flows{query}"));
        assert_eq!((refused.status, refused.body.lines().count()), (400, 1), "{refused:?}");
        assert!(refused.body.contains(hint), "{query}: {}", refused.body);
    }
    assert_eq!(server.get("/").status, 404);
    assert_eq!(server.get("/metrics/").status, 404);
}

#[test]
fn more_questions_than_can_wait_are_refused_at_once() {
    let server = Server::start();
    let address = server.address;
    let first = thread::spawn(move || get(address, "/api/v1/flows", &[]).unwrap());
    let start = Instant::now();
    // One of them waits in the queue; nobody answers it.
    let refused = loop {
        let answer = server.get("/api/v1/flows");
        assert!(start.elapsed() < Duration::from_secs(20), "{answer:?}");
        if answer.body.starts_with("too many questions") {
            break answer;
        }
    };
    assert_eq!(refused.status, 503);
    let unanswered = first.join().unwrap();
    assert_eq!(unanswered.status, 503);
}

#[test]
fn a_head_that_is_too_long_and_one_that_never_ends_do_no_harm() {
    let server = Server::start();
    let mut silent = TcpStream::connect(server.address).unwrap();
    silent.write_all(b"GET /healthz HTTP/1.1\r\n").unwrap();
    let mut long = TcpStream::connect(server.address).unwrap();
    long.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let head = format!("GET /healthz HTTP/1.1\r\nHost: x\r\nA: {}\r\n\r\n", "a".repeat(100_000));
    // The server may close before all is written.
    let _ = long.write_all(head.as_bytes());
    let mut answer = Vec::new();
    let _ = long.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431"), "{answer}");
    assert_eq!(server.get("/healthz").status, 503, "others are served");
}

#[test]
fn a_stop_does_not_wait_for_idle_connections() {
    let mut server = Server::start();
    let idle = TcpStream::connect(server.address).unwrap();
    assert_eq!(server.get("/healthz").status, 503);
    let start = Instant::now();
    drop(server.stop.take());
    server.thread.take().unwrap().join().unwrap();
    assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
    assert!(TcpStream::connect(server.address).is_err(), "the port is free again");
    drop(idle);
}
