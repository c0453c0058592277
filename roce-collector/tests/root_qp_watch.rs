//! The daemon and its probes on queue pairs, on kernels with or without kprobes. Needs root and BPF.

#![expect(clippy::unwrap_used, reason = "what fails in a helper fails its test")]

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use roce_testkit::daemon::Daemon;
use roce_testkit::netns::{Namespace, VethConfig, VethPair};

const PATIENCE: Duration = Duration::from_secs(20);
const ADDRESS: &str = "127.0.0.1:9977";

/// What a daemon with more arguments exports once it has looked, and what it wrote.
fn run(arguments: &[&str], has_looked: fn(&str) -> bool) -> (String, String) {
    let (left, right) = (Namespace::create("left").unwrap(), Namespace::create("right").unwrap());
    let up = right.command("ip").args(["link", "set", "lo", "up"]).status().unwrap();
    assert!(up.success());
    let _veth = VethPair::create(&left, &right, &VethConfig::default()).unwrap();
    let mut command = right.command(env!("CARGO_BIN_EXE_roce-collector"));
    command.args(["--iface", "right0"]).args(arguments);
    let address: SocketAddr = ADDRESS.parse().unwrap();
    let daemon = Daemon::start(&right, command, address, "/readyz").unwrap();
    let start = Instant::now();
    loop {
        let metrics = daemon.get("/metrics").unwrap().ok().unwrap();
        if has_looked(&metrics) {
            return (metrics, daemon.output());
        }
        assert!(start.elapsed() < PATIENCE, "{metrics}\n{}", daemon.output());
        thread::sleep(Duration::from_millis(50));
    }
}

fn watched(metrics: &str) -> Vec<(&str, bool)> {
    let lines =
        metrics.lines().filter_map(|line| line.strip_prefix("roce_collector_qp_watch{program=\""));
    lines
        .map(|line| {
            let (program, value) = line.split_once("\"} ").unwrap();
            (program, value == "1")
        })
        .collect()
}

const ALL: [&str; 5] = ["modify", "kernel_modify", "destroy", "async_event", "rxe_error"];

/// As on a kernel without kprobes, whatever this one has.
#[test]
fn without_kprobes_the_absence_is_said_and_the_daemon_runs() {
    let sysfs = tempfile::tempdir().unwrap();
    fs::create_dir_all(sysfs.path().join("class")).unwrap();
    let root = format!("--sysfs-root={}", sysfs.path().display());
    let (metrics, output) = run(&[&root], |metrics| !watched(metrics).is_empty());
    assert_eq!(watched(&metrics), ALL.map(|program| (program, false)), "{metrics}");
    assert!(
        output.contains("no probe watches queue pairs: this kernel has no kprobes"),
        "{output}"
    );
    // Nobody sees anything, so nothing says 0.
    assert!(
        !metrics.contains("qp_watch_events") && !metrics.contains("qp_watch_lost"),
        "{metrics}"
    );
    assert!(metrics.contains("roce_collector_sweep_seconds_count"), "{metrics}");
    assert!(!output.contains("WARN"), "{output}");
}

#[test]
fn this_kernel_is_watched_or_says_why_not() {
    let (metrics, output) = run(&[], |metrics| !watched(metrics).is_empty());
    let has_kprobes = Path::new("/sys/bus/event_source/devices/kprobe").exists();
    let has_rdma = Path::new("/sys/module/ib_core").exists();
    for (program, is_watched) in watched(&metrics) {
        let is_possible = has_kprobes && has_rdma;
        assert!(is_possible || !is_watched, "{program}: {output}");
        let line = if is_watched { "probes watch queue pairs" } else { "no probe watches" };
        assert!(output.contains(line), "{program}: {output}");
    }
}

#[test]
fn it_can_be_turned_off() {
    let has_swept = |metrics: &str| metrics.contains("roce_collector_sweep_seconds_count");
    let (metrics, output) = run(&["--qp-watch=off"], has_swept);
    assert!(!metrics.contains("qp_watch") && !output.contains("probe"), "{output}\n{metrics}");
}
