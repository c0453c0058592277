//! The daemon and the kernel's queue pairs, on a machine with or without RDMA. Needs root and BPF.

#![expect(clippy::unwrap_used, reason = "what fails in a helper fails its test")]

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use roce_collector::http::QpsAnswer;
use roce_testkit::daemon::Daemon;
use roce_testkit::netns::{Namespace, VethConfig, VethPair};

const PATIENCE: Duration = Duration::from_secs(15);

/// Starts the daemon with more arguments, and asks it until it has looked.
fn ask(arguments: &[&str]) -> (QpsAnswer, String, String) {
    let (left, right) = (Namespace::create("left").unwrap(), Namespace::create("right").unwrap());
    let up = right.command("ip").args(["link", "set", "lo", "up"]).status().unwrap();
    assert!(up.success());
    let _veth = VethPair::create(&left, &right, &VethConfig::default()).unwrap();
    let mut command = right.command(env!("CARGO_BIN_EXE_roce-collector"));
    command.args(["--iface", "right0"]).args(arguments);
    let address: SocketAddr = "127.0.0.1:9977".parse().unwrap();
    let daemon = Daemon::start(&right, command, address, "/readyz").unwrap();
    let start = Instant::now();
    loop {
        let body = daemon.get("/api/v1/qps").unwrap().ok().unwrap();
        let answer: QpsAnswer = serde_json::from_str(&body).unwrap();
        if answer.status != "waiting" {
            let metrics = daemon.get("/metrics").unwrap().ok().unwrap();
            return (answer, metrics, daemon.output());
        }
        assert!(start.elapsed() < PATIENCE, "{}", daemon.output());
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_host_without_rdma_is_nothing_wrong() {
    let (answer, metrics, output) = ask(&[]);
    if Path::new("/sys/class/infiniband").exists() {
        // A machine of a developer with RDMA: whatever it has, it can be asked for.
        assert!(matches!(&*answer.status, "ok" | "no_rdma"), "{output}");
        return;
    }
    assert_eq!((&*answer.status, &*answer.message), ("no_rdma", "no RDMA on this host"));
    assert!(output.contains("no RDMA on this host"), "{output}");
    assert!(!metrics.contains("roce_rdma"), "no series says 0: {metrics}");
    assert!(!output.contains("WARN"), "{output}");
}

/// As if the RDMA core were there: the kernel itself is asked.
#[test]
fn the_kernel_of_this_machine_answers_or_has_no_rdma() {
    let sysfs = tempfile::tempdir().unwrap();
    fs::create_dir_all(sysfs.path().join("class/infiniband")).unwrap();
    let root = format!("--sysfs-root={}", sysfs.path().display());
    let (answer, _, output) = ask(&[&root, "--qp-inventory-interval=100ms"]);
    assert!(matches!(&*answer.status, "ok" | "no_rdma"), "{answer:?}\n{output}");
}

#[test]
fn it_can_be_turned_off() {
    let (answer, metrics, output) = ask(&["--qp-inventory-interval=0"]);
    assert_eq!((&*answer.status, answer.qps.len()), ("off", 0));
    assert!(!metrics.contains("roce_rdma") && !output.contains("RDMA on this host"), "{output}");
}
