//! `/api/v1/incidents` and the metrics over a real connection.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{channel, sync_channel};
use std::thread;

use roce_collector::export::Snapshot;
use roce_collector::http::{IncidentsAnswer, ServerState, Status, serve};
use roce_collector::incident::{CorrelatorCounts, Incident, IncidentStore};
use roce_testkit::http::{Response, get};
use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};

use super::{incidents, lines, logged};

/// Serves what the store has.
fn serving(store: &IncidentStore, ask: impl FnOnce(&dyn Fn(&str) -> Response)) {
    let counts = CorrelatorCounts { signals: 9, teardowns: 3, ..CorrelatorCounts::default() };
    let figures = Some(Arc::new(store.figures(counts)));
    let snapshot = Arc::new(Snapshot { incidents: figures, ..Snapshot::default() });
    let status = Arc::new(Status { snapshot, ..Status::default() });
    let latest = store.latest();
    let (stop, stopped) = oneshot::channel::<()>();
    let (started, address) = channel::<SocketAddr>();
    let server = thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            started.send(listener.local_addr().expect("an address")).expect("the test waits");
            let state = ServerState {
                status: watch::channel(status).1,
                flows: sync_channel(1).0,
                inventory: watch::channel(Arc::default()).1,
                incidents: watch::channel(latest).1,
            };
            serve(listener, state, async { drop(stopped.await) }).await.expect("it serves");
        });
    });
    let address = address.recv().expect("it starts");
    ask(&|path| get(address, path, &[]).expect("an answer"));
    drop(stop);
    server.join().expect("it stops");
}

fn answer(response: Response) -> Vec<Incident> {
    let answer: IncidentsAnswer = serde_json::from_str(&response.ok().expect("200")).expect("JSON");
    assert_eq!(answer.schema_version, 1);
    answer.incidents
}

#[test]
fn the_latest_incidents_and_their_metrics() {
    let mut store = IncidentStore::default();
    let mut told = Vec::new();
    for (number, id) in ["L07", "L13", "L20", "L21"].into_iter().enumerate() {
        let incident = incidents(logged("job.log", &lines(id), None)).remove(0);
        told.push(Incident { id: number.to_string(), ..incident });
    }
    told.iter().cloned().for_each(|incident| store.put(incident));
    serving(&store, |ask| {
        assert_eq!(answer(ask("/api/v1/incidents")), told);
        assert_eq!(answer(ask("/api/v1/incidents?limit=1")), told[3..]);
        assert_eq!(answer(ask("/api/v1/incidents?limit=0")), []);
        assert_eq!(answer(ask("/api/v1/incidents?qp=0x1401")), told[..1]);
        assert_eq!(answer(ask("/api/v1/incidents?qp=5348")), told[2..3], "0x14e4, its own");
        assert_eq!(answer(ask("/api/v1/incidents?qp=0x2248a")), told[2..3], "that of its peer");
        assert_eq!(answer(ask("/api/v1/incidents?peer=10.0.0.12")), told[..2]);
        assert_eq!(answer(ask("/api/v1/incidents?peer=10.0.0.12&limit=1")), told[1..2]);
        for (question, reason) in [
            ("qp=nine", "qp: "),
            ("limit=99999", "limit: "),
            ("peer=x", ""),
            ("color=red", "unknown field"),
        ] {
            let refused = ask(&format!("/api/v1/incidents?{question}"));
            assert_eq!(refused.status, 400, "{question}");
            assert!(refused.body.contains(reason), "{question}: {}", refused.body);
        }
        let metrics = ask("/metrics").ok().expect("200");
        for line in [
            "roce_qp_errors_total{device=\"mlx5_3\",status=\"12\",vendor_err=\"0x81\",cause=\"unknown\"} 1",
            "roce_qp_errors_total{device=\"unknown\",status=\"10\",vendor_err=\"0x88\",cause=\"access_error\"} 1",
            "roce_incidents_total{outcome=\"died\"} 4",
            "roce_incident_events_total{event=\"signal\"} 9",
            "roce_incident_events_total{event=\"teardown\"} 3",
        ] {
            assert!(metrics.contains(&format!("{line}\n")), "{line}\n{metrics}");
        }
    });
}

#[test]
fn nothing_happened() {
    serving(&IncidentStore::default(), |ask| {
        assert_eq!(answer(ask("/api/v1/incidents")), []);
        let metrics = ask("/metrics").ok().expect("200");
        assert!(!metrics.contains("roce_qp_errors"), "{metrics}");
    });
}
