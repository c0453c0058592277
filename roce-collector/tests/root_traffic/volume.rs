//! Many packets, many flows.

use std::fs;
use std::thread;
use std::time::Duration;

use roce_testkit::scenario::ManyFlows;
use roce_testkit::send::{Pace, Sent, allowed_cpus, send_on_cpus};

use super::lab::{Lab, Place, Tap};

/// Of each sender, so that no queue of the veth pair runs over.
const PACE: Pace = Pace::FramesPerSecond(200_000);

/// Sends every flow from two CPUs at once while the tables are swept.
fn send_from_two_cpus(lab: &Lab, traffic: &ManyFlows, tap: &mut Tap) -> Sent {
    let cpus = allowed_cpus().unwrap();
    assert!(cpus.len() >= 2, "this test needs two CPUs, and may use {cpus:?}");
    let parts = cpus.into_iter().zip(traffic.split_every_flow(2)).collect();
    let sent = thread::scope(|scope| {
        let sender = scope.spawn(|| lab.left.run(|| send_on_cpus("left0", parts, PACE)));
        while !sender.is_finished() {
            tap.sweep();
            thread::sleep(Duration::from_millis(100));
        }
        sender.join().unwrap().unwrap().unwrap()
    });
    println!("{:.0} frames/s, refused {}, dropped {}", sent.rate(), sent.refused, sent.dropped);
    assert_eq!(sent.dropped, 0, "the veth pair dropped frames that the hook should have seen");
    sent
}

#[test]
fn root_two_million_packets_of_ten_thousand_flows_on_two_cpus_are_counted_flow_by_flow() {
    let traffic = ManyFlows::new(10_000, 2_000_000, 64);
    let truth = traffic.truth();
    let lab = Lab::new(1500);
    let mut tap = lab.tap(Place::XDP_INGRESS, 131_072);
    assert_eq!(tap.mode, "native");

    let sent = send_from_two_cpus(&lab, &traffic, &mut tap);
    assert_eq!(sent.frames, 2_000_000);
    tap.expect_packets(sent.frames);

    let flows = tap.flows();
    assert_eq!(flows.len(), truth.flows.len());
    for (key, sent) in &truth.flows {
        let flow = flows.get(key).unwrap_or_else(|| panic!("no flow {key:?}"));
        let counted = (flow.packets, flow.wire_bytes, flow.payload_bytes);
        assert_eq!(counted, (sent.packets, sent.wire_bytes, sent.payload_bytes), "{key:?}");
        assert_eq!(flow.opcodes["RDMA_WRITE_ONLY"], sent.packets, "{key:?}");
        assert_eq!((flow.ecn.ect0, flow.dscp[&26]), (sent.packets, sent.packets), "{key:?}");
    }
    let counters = tap.counters();
    println!("busy slots {}", counters.slot_busy);
    assert_eq!(counters.wire_bytes, truth.totals().wire_bytes);
    assert_eq!((counters.table_full, counters.other_packets, counters.unknown_tap), (0, 0, 0));
}

/// Kernel memory of the BPF maps that this process has open.
fn map_bytes() -> u64 {
    let files = fs::read_dir("/proc/self/fdinfo").unwrap();
    let texts = files.filter_map(|file| fs::read_to_string(file.ok()?.path()).ok());
    let maps = texts.filter(|text| text.contains("map_type:"));
    let memory = maps.map(|text| field(&text, "memlock:"));
    memory.sum()
}

/// Resident memory of this process in KiB.
fn resident() -> u64 {
    field(&fs::read_to_string("/proc/self/status").unwrap(), "VmRSS:")
}

fn field(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name)).expect("the kernel says it");
    line.split_whitespace().next().expect("a value").parse().expect("a number")
}

#[test]
fn root_two_hundred_thousand_flows_in_a_smaller_table_are_all_in_some_counter() {
    const FLOWS: u32 = 200_000;
    let lab = Lab::new(1500);
    let mut tap = lab.tap(Place::XDP_INGRESS, 131_072);
    let (maps, slots) = (map_bytes(), tap.datapath.narrow.len());
    assert!(maps > 32 << 20, "{maps} bytes of maps are too few to be all of them");
    println!("{:.1} MiB of maps", maps as f64 / f64::from(1 << 20));
    assert!(maps <= 64 << 20, "{maps} bytes of maps");

    let mut resident_before = None;
    for round in 1..=3 {
        let traffic = ManyFlows::new(FLOWS, u64::from(FLOWS), 64);
        send_from_two_cpus(&lab, &traffic, &mut tap);
        let sent = round * u64::from(FLOWS);
        tap.expect_packets(sent);

        // Flows that are idle for long make room in a full table; their hosts keep what they counted.
        let (view, counters) = (tap.view(), tap.counters());
        let packets: u64 = view.peers.iter().map(|(_, counts)| counts.packets).sum();
        let bytes: u64 = view.peers.iter().map(|(_, counts)| counts.bytes).sum();
        assert_eq!(packets + counters.other_packets, sent, "packets of flows and beside them");
        assert_eq!(bytes + counters.other_bytes, counters.wire_bytes);
        assert_eq!(counters.wire_bytes, sent * traffic.bytes_per_packet().0);
        let flows = view.devices[0].flows + view.devices[0].evicted;
        assert!(flows > 131_072, "a table for 131072 held {flows}");
        assert!(counters.table_full > 0, "so many flows have no slot");
        assert!(counters.table_full >= counters.other_packets);

        assert_eq!((map_bytes(), tap.datapath.narrow.len()), (maps, slots), "memory grew");
        let resident = resident();
        let (full, other) = (counters.table_full, counters.other_packets);
        println!(
            "round {round}: {full} without a slot, {other} in no flow, {resident} KiB resident"
        );
        let before = *resident_before.get_or_insert(resident);
        assert!(resident < before + (16 << 10), "{before} KiB became {resident} KiB");
    }
}
