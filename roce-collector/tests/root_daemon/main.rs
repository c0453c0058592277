//! The real daemon on a veth in a namespace. Needs root and BPF: fails without.

#![expect(clippy::unwrap_used, reason = "a test fails by it")]

mod lab;
mod psns;

use std::fs;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use roce_collector::flow::FlowReport;
use roce_testkit::netns::{VethConfig, VethPair};

use lab::{INTERFACE, Lab, PATIENCE, capture, flows, frames, is, metrics, read, sum, wait_for};

/// Real traffic, replayed: the wire, the flow list and the capture file say the same.
#[test]
fn root_a_replayed_capture_is_counted_exactly() {
    for hook in ["xdp", "xdp-generic", "tc"] {
        let lab = Lab::new();
        let daemon = lab.start(&["--hook", hook, "--direction", "ingress"]);
        lab.replay(&frames());
        wait_for(&daemon, 105.0).unwrap();
        let answer = flows(&daemon).unwrap();
        let expected = read(&capture());
        assert_eq!((answer.matching, expected.len()), (2, 2));
        for (live, read) in answer.flows.iter().zip(&expected) {
            assert_eq!(live.device.as_deref(), Some(INTERFACE));
            assert_eq!(live.direction.as_deref(), Some("ingress"));
            assert!(live.last_seen.is_some());
            // Frames that follow each other at once have other round trips, and the kernel times few. Nor
            // does it look into every answer.
            let live = FlowReport {
                device: None,
                direction: None,
                last_seen: read.last_seen,
                rtt_us: read.rtt_us,
                acknowledged: read.acknowledged,
                ..live.clone()
            };
            assert_eq!(&live, read, "--hook {hook}");
        }
        let expected_opcodes =
            [("ACKNOWLEDGE", 37), ("SEND_FIRST", 33), ("SEND_LAST_IMM", 33), ("SEND_ONLY_IMM", 2)];
        for (name, packets) in expected_opcodes {
            let sum: u64 = answer.flows.iter().filter_map(|flow| flow.opcodes.get(name)).sum();
            assert_eq!(sum, packets, "{name}: {answer:?}");
        }

        let metrics = metrics(&daemon).unwrap();
        let bytes: u64 = expected.iter().map(|flow| flow.wire_bytes).sum();
        is(sum(&metrics, "roce_packets_total", "version=\"v2\""), 105);
        is(sum(&metrics, "roce_packets_total", "version=\"v1\""), 0);
        is(sum(&metrics, "roce_bytes_total", ""), bytes);
        is(sum(&metrics, "roce_peer_packets_total", ""), 105);
        is(sum(&metrics, "roce_peer_bytes_total", ""), bytes);
        is(sum(&metrics, "roce_dscp_packets_total", "dscp=\"0\""), 105);
        is(sum(&metrics, "roce_nak_packets_total", ""), 0);
        is(sum(&metrics, "roce_flows", "}"), 2);
        for flow in &expected {
            let qp = format!("dst_qp=\"{}\"", flow.dst_qp);
            is(sum(&metrics, "roce_qp_packets_total", &qp), flow.packets);
            is(sum(&metrics, "roce_qp_bytes_total", &qp), flow.wire_bytes);
        }
        assert!(!metrics.keys().any(|name| name.contains("egress")), "egress is not attached");
        assert!(daemon.stop().unwrap().success());
        assert_eq!(lab.programs(), "", "--hook {hook}");
    }
}

#[test]
fn root_idle_flows_leave_and_their_packets_stay() {
    let lab = Lab::new();
    let daemon = lab.start(&["--flow-idle", "2s"]);
    lab.replay(&frames());
    wait_for(&daemon, 105.0).unwrap();
    let start = Instant::now();
    while sum(&metrics(&daemon).unwrap(), "roce_flows_evicted_total", "") < 2.0 {
        assert!(start.elapsed() < PATIENCE, "{}", daemon.output());
        thread::sleep(Duration::from_millis(200));
    }
    assert_eq!(flows(&daemon).unwrap().matching, 0);
    lab.replay(&frames());
    wait_for(&daemon, 210.0).unwrap();
    let metrics = metrics(&daemon).unwrap();
    is(sum(&metrics, "roce_peer_packets_total", ""), 210);
    is(sum(&metrics, "roce_qp_packets_total", ""), 105);
}

#[test]
fn root_a_killed_daemon_leaves_nothing_behind_and_starts_again() {
    let lab = Lab::new();
    for _ in 0..2 {
        let daemon = lab.start(&[]);
        assert_ne!(lab.programs(), "");
        let killed = Command::new("kill").args(["-9", &daemon.id().to_string()]).status().unwrap();
        assert!(killed.success());
        drop(daemon);
        let start = Instant::now();
        // The kernel lets go of the programs when it has cleaned the process up. With TC before Linux
        // 6.6 filters stay, and the next start removes them.
        while lab.programs().contains("prog/xdp") {
            assert!(start.elapsed() < PATIENCE, "{}", lab.programs());
            thread::sleep(Duration::from_millis(100));
        }
    }
    let daemon = lab.start(&[]);
    lab.replay(&frames());
    wait_for(&daemon, 105.0).unwrap();
}

#[test]
fn root_only_three_capabilities_are_kept_by_every_thread() {
    let lab = Lab::new();
    let daemon = lab.start(&[]);
    let kept = 1_u64 << 12 | 1 << 38 | 1 << 39; // NET_ADMIN, PERFMON, BPF
    let tasks = fs::read_dir(format!("/proc/{}/task", daemon.id())).unwrap();
    let mut threads = 0;
    for task in tasks {
        let status = fs::read_to_string(task.unwrap().path().join("status")).unwrap();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            u64::from_str_radix(line.trim_start_matches(':').trim(), 16).unwrap()
        };
        assert_eq!(field("CapEff") & !kept, 0, "{status}");
        assert_eq!(field("CapPrm") & !kept, 0, "{status}");
        assert_eq!(field("CapBnd") & !kept, 0, "{status}");
        assert_eq!((field("CapInh"), field("CapAmb"), field("NoNewPrivs")), (0, 0, 1));
        threads += 1;
    }
    assert!(threads >= 3, "{threads}");
}

#[test]
fn root_an_interface_that_comes_back_is_attached_again() {
    let lab = Lab::new();
    let daemon = lab.start(&["--direction", "ingress"]);
    lab.replay(&frames());
    wait_for(&daemon, 105.0).unwrap();
    let Lab { left, right, veth } = &lab;
    let ip = |arguments: &[&str]| {
        assert!(left.command("ip").args(arguments).status().unwrap().success());
    };
    ip(&["link", "del", veth.left_name()]);
    let start = Instant::now();
    while daemon.get("/readyz").unwrap().status != 503 {
        assert!(start.elapsed() < PATIENCE, "{}", daemon.output());
        thread::sleep(Duration::from_millis(100));
    }
    assert!(!metrics(&daemon).unwrap().keys().any(|name| name.starts_with("roce_packets")));
    let again = VethPair::create(left, right, &VethConfig::default()).unwrap();
    while daemon.get("/readyz").unwrap().status != 200 {
        assert!(start.elapsed() < 2 * PATIENCE, "{}", daemon.output());
        thread::sleep(Duration::from_millis(100));
    }
    lab.replay(&frames());
    wait_for(&daemon, 210.0).unwrap();
    drop(again);
}

#[test]
fn root_a_bypass_shows_in_words_and_as_ratio() {
    let sysfs = tempfile::tempdir().unwrap();
    let port = sysfs.path().join("class/infiniband/mlx5_0/ports/1");
    fs::create_dir_all(port.join("gid_attrs/ndevs")).unwrap();
    fs::create_dir_all(port.join("hw_counters")).unwrap();
    fs::write(port.join("link_layer"), "Ethernet\n").unwrap();
    fs::write(port.join("gid_attrs/ndevs/0"), format!("{INTERFACE}\n")).unwrap();
    let requests = port.join("hw_counters/rx_write_requests");
    fs::write(&requests, "0").unwrap();

    let lab = Lab::new();
    let root = sysfs.path().to_str().unwrap();
    let daemon = lab.start(&["--sysfs-root", root]);
    let ratio = format!("roce_capture_visible_ratio{{device=\"{INTERFACE}\"}}");
    assert!(!metrics(&daemon).unwrap().contains_key(&ratio), "not known yet");
    let start = Instant::now();
    let mut count = 0;
    while !daemon.get("/readyz").unwrap().body.contains("blind: ") {
        assert!(start.elapsed() < Duration::from_secs(40), "{}", daemon.output());
        count += 1000;
        fs::write(&requests, count.to_string()).unwrap();
        thread::sleep(Duration::from_millis(500));
    }
    let ready = daemon.get("/readyz").unwrap();
    let words = "RDMA traffic bypasses the kernel on this device: hook sees 0 while hw rx_write_requests grew by";
    assert_eq!(ready.status, 200, "it does its work");
    assert!(ready.body.contains(words), "{}", ready.body);
    assert!(daemon.output().contains(words), "{}", daemon.output());
    assert!(ready.body.contains("so none is exported"), "{}", ready.body);
    let metrics = metrics(&daemon).unwrap();
    is(metrics[&ratio], 0);
    let of_port = metrics.keys().filter(|name| name.contains(INTERFACE));
    let of_packets: Vec<_> = of_port
        .filter(|name| !name.starts_with("roce_capture_") && !name.starts_with("roce_collector_"))
        .collect();
    assert!(of_packets.is_empty(), "no 0 where nothing can be seen: {of_packets:?}");
    assert!(flows(&daemon).unwrap().hooks.iter().all(|hook| hook.seen.is_none()));
}

#[test]
fn root_check_says_what_is_possible_and_detaches() {
    let lab = Lab::new();
    let output = lab.command(&["--check", "--hook", "tc"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    let attached = text.lines().filter(|line| line.ends_with(" attached")).count();
    assert_eq!(attached, 2, "{text}");
    assert_eq!(lab.programs(), "");
}

#[test]
fn root_without_privileges_one_line_says_what_is_missing() {
    let lab = Lab::new();
    let mut command = lab.right.command("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"]);
    command.arg(env!("CARGO_BIN_EXE_roce-collector")).args(["--iface", INTERFACE]);
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), text.lines().count()), (Some(2), 1), "{text}");
    assert!(text.contains("CAP_BPF") && text.contains("root"), "{text}");
}
