//! Namespaces, veth pairs and senders on the real kernel. Needs root and iproute2: fails without.

use std::fs;
use std::path::Path;
use std::process;
use std::time::Duration;

use anyhow::{Context, Result};
use roce_testkit::netns::{Namespace, VethConfig, VethEnd, VethPair, remove_stale};
use roce_testkit::packet::{Opcode, Packet};
use roce_testkit::replay::{replay, replay_timed};
use roce_testkit::scenario::{self, ManyFlows};
use roce_testkit::send::{Pace, Sender, allowed_cpus, send_on_cpus};

/// Received packets and drops of `interface`, as the namespace's own `net/dev` says.
fn received(namespace: &Namespace, interface: &str) -> Result<(u64, u64)> {
    let text = namespace.run(|| fs::read_to_string("/proc/thread-self/net/dev"))??;
    let (_, columns) = text
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.trim() == interface)
        .with_context(|| format!("{interface} is not in {text}"))?;
    let columns: Vec<u64> = columns.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    Ok((columns[1], columns[3]))
}

fn namespaces() -> Result<(Namespace, Namespace)> {
    Ok((Namespace::create("left")?, Namespace::create("right")?))
}

fn frame(psn: u32) -> Vec<u8> {
    Packet::new(Opcode::RC_RDMA_WRITE_MIDDLE).dest_qp(0x45).psn(psn).payload_len(256).build()
}

#[test]
fn root_a_namespace_is_its_own_network_and_goes_away() {
    let namespace = Namespace::create("alone").unwrap();
    let path = namespace.path();
    assert!(path.exists());
    let output = namespace.command("ip").args(["-br", "link"]).output().unwrap();
    let links = String::from_utf8(output.stdout).unwrap();
    assert_eq!(links.lines().count(), 1, "{links}");
    assert!(links.starts_with("lo "), "{links}");
    assert!(namespace.spawn(process::id).join().unwrap().unwrap() == process::id());
    drop(namespace);
    assert!(!path.exists());
}

#[test]
fn root_a_panic_inside_is_passed_on_and_cleaned_up() {
    let outcome = std::panic::catch_unwind(|| {
        let namespace = Namespace::create("panics").unwrap();
        let name = namespace.name().to_owned();
        namespace.run(|| std::panic::panic_any(name)).unwrap();
    });
    let name = *outcome.unwrap_err().downcast::<String>().unwrap();
    assert!(name.starts_with("rocetk-panics-"), "{name}");
    assert!(!Path::new("/run/netns").join(name).exists());
}

#[test]
fn root_namespaces_of_dead_processes_are_removed() {
    let mut child = process::Command::new("true").spawn().unwrap();
    let dead = child.id();
    child.wait().unwrap();
    let stale = format!("rocetk-gone-{dead}-0");
    assert!(process::Command::new("ip").args(["netns", "add", &stale]).status().unwrap().success());
    let alive = Namespace::create("alive").unwrap();
    assert!(remove_stale().unwrap().contains(&stale));
    assert!(!Path::new("/run/netns").join(stale).exists());
    assert!(alive.path().exists());
}

#[test]
fn root_a_veth_pair_is_silent_and_carries_what_is_sent() {
    let (left, right) = namespaces().unwrap();
    let config = VethConfig { mtu: 9000, queues: 2, ..VethConfig::default() };
    let veth = VethPair::create(&left, &right, &config).unwrap();
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(received(&right, veth.right_name()).unwrap(), (0, 0));
    assert_eq!(received(&left, veth.left_name()).unwrap(), (0, 0));

    let sent = replay(&left, veth.left_name(), (0..1000).map(frame), Pace::Unlimited).unwrap();
    assert_eq!((sent.frames, sent.dropped), (1000, 0));
    assert_eq!(sent.bytes, 1000 * frame(0).len() as u64);
    assert_eq!(received(&right, veth.right_name()).unwrap().0, 1000);
}

#[test]
fn root_addresses_are_reachable_without_discovery() {
    let (left, right) = namespaces().unwrap();
    let mut config = VethConfig::default();
    config.left.addresses =
        vec![("10.9.0.1".parse().unwrap(), 24), ("2001:db8::1".parse().unwrap(), 64)];
    config.right.addresses =
        vec![("10.9.0.2".parse().unwrap(), 24), ("2001:db8::2".parse().unwrap(), 64)];
    let _veth = VethPair::create(&left, &right, &config).unwrap();
    let server = right.run(|| std::net::UdpSocket::bind("[::]:7000")).unwrap().unwrap();
    server.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    for target in ["10.9.0.2:7000", "[2001:db8::2]:7000"] {
        let sent = left.run(|| {
            let any = if target.starts_with('[') { "[::]:0" } else { "0.0.0.0:0" };
            std::net::UdpSocket::bind(any)?.send_to(b"hello", target)
        });
        assert_eq!(sent.unwrap().unwrap(), 5);
        let mut buffer = [0; 16];
        let (length, _) = server.recv_from(&mut buffer).unwrap();
        assert_eq!(&buffer[..length], b"hello");
    }
    let neighbours = left.command("ip").args(["neigh"]).output().unwrap();
    let neighbours = String::from_utf8(neighbours.stdout).unwrap();
    assert_eq!(neighbours.matches("PERMANENT").count(), 2, "{neighbours}");
}

#[test]
fn root_two_cpus_send_every_flow_and_every_frame_once() {
    let cpus = allowed_cpus().unwrap();
    let (left, right) = namespaces().unwrap();
    let config = VethConfig { queues: 2, ..VethConfig::default() };
    let veth = VethPair::create(&left, &right, &config).unwrap();
    let flows = ManyFlows::new(1000, 200_000, 64);
    let threads = cpus.len().min(2);
    let parts = cpus.into_iter().zip(flows.split_every_flow(threads as u32)).collect();
    let sent =
        left.run(|| send_on_cpus(veth.left_name(), parts, Pace::Unlimited)).unwrap().unwrap();
    println!("{:.0} frames/s, refused {}, dropped {}", sent.rate(), sent.refused, sent.dropped);
    assert_eq!(sent.frames, flows.truth().totals().packets);
    assert_eq!(received(&right, veth.right_name()).unwrap().0, sent.delivered());
    assert_eq!(sent.dropped, 0);
}

#[test]
fn root_a_scenario_arrives_whole() {
    let (left, right) = namespaces().unwrap();
    let veth = VethPair::create(&left, &right, &VethConfig::default()).unwrap();
    let scenario = scenario::Scenario::together("all", scenario::all());
    let sent = replay(&left, veth.left_name(), &scenario.frames, Pace::Unlimited).unwrap();
    assert_eq!(sent.frames, scenario.truth.totals().packets);
    assert_eq!(sent.bytes, scenario.truth.totals().wire_bytes);
    assert_eq!(received(&right, veth.right_name()).unwrap().0, sent.frames);
}

#[test]
fn root_pace_and_times_are_kept() {
    let (left, right) = namespaces().unwrap();
    let veth = VethPair::create(&left, &right, &VethConfig::default()).unwrap();
    let paced =
        replay(&left, veth.left_name(), (0..200).map(frame), Pace::FramesPerSecond(1000)).unwrap();
    assert_eq!(paced.frames, 200);
    assert!(paced.elapsed >= Duration::from_millis(195), "{:?}", paced.elapsed);

    let timed = [0, 10, 400].map(|millis| (Duration::from_millis(5000 + millis), frame(1)));
    let timed = replay_timed(&left, veth.left_name(), timed, 2.0).unwrap();
    assert_eq!(timed.frames, 3);
    assert!(timed.elapsed >= Duration::from_millis(200), "{:?}", timed.elapsed);
    assert_eq!(received(&right, veth.right_name()).unwrap().0, 203);
}

#[test]
fn root_what_cannot_be_sent_is_an_error_that_says_why() {
    let (left, right) = namespaces().unwrap();
    let veth = VethPair::create(&left, &right, &VethConfig::default()).unwrap();
    let long = Packet::new(Opcode::RC_SEND_ONLY).payload_len(4096).build();
    let message =
        replay(&left, veth.left_name(), [frame(0), long], Pace::Unlimited).unwrap_err().to_string();
    assert!(message.contains("frame 1 ("), "{message}");

    let missing = left.run(|| Sender::open("nosuch0")).unwrap().unwrap_err();
    assert!(format!("{missing:#}").contains("nosuch0"), "{missing:#}");

    assert!(
        right.command("ip").args(["link", "set", "right0", "down"]).status().unwrap().success()
    );
    let refused = replay(&left, veth.left_name(), [frame(0)], Pace::Unlimited).unwrap_err();
    assert!(format!("{refused:#}").contains("left0"), "{refused:#}");
    println!("{refused:#}");

    let twice = VethConfig {
        left: VethEnd { name: "a".into(), ..VethConfig::default().left },
        right: VethEnd { name: "a".into(), ..VethConfig::default().right },
        ..VethConfig::default()
    };
    let refused = VethPair::create(&left, &left, &twice).unwrap_err().to_string();
    assert!(refused.contains("ip -n"), "{refused}");
}
