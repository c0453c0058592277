//! The real daemon, reading logs of every kind while they are written. Needs root and BPF: fails without.

#![expect(clippy::unwrap_used, reason = "a test fails by it")]

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use roce_testkit::daemon::Daemon;
use roce_testkit::netns::Namespace;
use serde_json::Value;

const PATIENCE: Duration = Duration::from_secs(30);

fn append(path: &Path, text: &str) {
    let mut file = OpenOptions::new().append(true).create(true).open(path).unwrap();
    writeln!(file, "{text}").unwrap();
}

/// Waits for the line of the daemon's log that is about an error of this source.
fn told(daemon: &Daemon<'_>, source: &str) -> Value {
    let start = Instant::now();
    loop {
        let output = daemon.output();
        let lines = output.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        if let Some(line) = lines.into_iter().find(|line| line["source"] == source) {
            return line;
        }
        assert!(start.elapsed() < PATIENCE, "nothing of {source}:\n{output}");
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn the_daemon_tells_what_its_logs_say() {
    let namespace = Namespace::create("logs").unwrap();
    let up = namespace.command("ip").args(["link", "set", "lo", "up"]).status().unwrap();
    assert!(up.success());
    let folder = tempfile::tempdir().unwrap();
    let job = folder.path().join("job.log");
    let pods = folder.path().join("pods");
    fs::create_dir(&pods).unwrap();
    append(&job, "remote access error, long ago");
    let mut command = namespace.command(env!("CARGO_BIN_EXE_roce-collector"));
    command.args(["--iface", "lo", "--log-format", "json", "--log-source", "kmsg", "--log-source"]);
    command.arg(format!("{},{}", job.display(), pods.display()));
    let address: SocketAddr = "127.0.0.1:9977".parse().unwrap();
    let daemon = Daemon::start(&namespace, command, address, "/readyz").unwrap();
    // The first look at the files comes with the start of the tasks.
    thread::sleep(Duration::from_secs(1));

    let nccl = include_str!("../../testdata/logs/qp_errors_all.log").lines().skip(3).take(2);
    append(&job, &nccl.collect::<Vec<_>>().join("\n"));
    let line = told(&daemon, job.to_str().unwrap());
    assert_eq!((&line["status"], &line["lines"]), (&"IBV_WC_RETRY_EXC_ERR".into(), &2.into()));
    assert_eq!((&line["local_qp"], &line["vendor_err"]), (&5121.into(), &"0x81".into()));
    assert_eq!((&line["peer"], &line["level"]), (&"10.0.0.12".into(), &"ERROR".into()));
    assert!(line.get("cause").is_none(), "a log cannot tell: {line}");

    let container = pods.join("ns_pod_uid/trainer");
    fs::create_dir_all(&container).unwrap();
    let log = container.join("0.log");
    append(&log, "2026-11-29T12:00:00.5Z stderr F rank 0: local protection error");
    let line = told(&daemon, log.to_str().unwrap());
    assert_eq!(line["cause"], "protection_error");
    assert_eq!(line["time"], "2026-11-29T12:00:00.500000000Z");

    // Written by the user, so it says nothing about a real device.
    fs::write("/dev/kmsg", "rdma_rxe: qp#17 moved to error state (a test)\n").unwrap();
    let line = told(&daemon, "kmsg");
    assert_eq!((&line["event"], &line["local_qp"]), (&"qp_error".into(), &17.into()));

    fs::rename(&job, folder.path().join("job.log.1")).unwrap();
    append(&job, "nothing of interest");
    let rotated = "roce_log_source_events_total{event=\"rotation\"} 1";
    let start = Instant::now();
    loop {
        let metrics = daemon.get("/metrics").unwrap().ok().unwrap();
        if metrics.lines().any(|line| line == rotated) {
            break;
        }
        assert!(start.elapsed() < PATIENCE, "{metrics}");
        thread::sleep(Duration::from_millis(100));
    }
    assert!(!daemon.output().contains("long ago"), "what was there before is not read");

    // What has just begun is told before the end.
    append(
        &job,
        "UCX ERROR Transport retry count exceeded on mlx5_0:1/RoCE (synd 0x15 vend 0x81 hw_synd 0/0)",
    );
    thread::sleep(Duration::from_millis(600));
    let output = daemon.output();
    assert!(daemon.stop().unwrap().success(), "{output}");
}
