//! Frames that the kernel cuts up or strips.

use roce_common::tap::TapCounters;
use roce_testkit::packet::{Opcode, Packet, VlanTag};
use roce_testkit::scenario::{Connection, FlowKey, Scenario, Truth, write_stream};

use super::lab::{Lab, Place, Tap};

/// Both taps counted what was sent, and the same.
fn assert_truth(tap: &mut Tap, truth: &Truth, what: &str) {
    let totals = truth.totals();
    tap.expect_packets(totals.packets);
    let counters = tap.counters();
    assert_eq!(counters.reason.iter().sum::<u64>(), 0, "{what}: frames that cannot be read");
    assert_eq!(counters.wire_bytes, totals.wire_bytes, "{what}");
    let flows = tap.flows();
    let keys: Vec<FlowKey> = truth.flows.keys().copied().collect();
    assert_eq!(flows.keys().copied().collect::<Vec<_>>(), keys, "{what}");
    for (key, sent) in &truth.flows {
        let flow = &flows[key];
        let counted = (flow.packets, flow.wire_bytes, flow.payload_bytes);
        let expected = (sent.packets, sent.wire_bytes, sent.payload_bytes);
        assert_eq!(counted, expected, "{what}: {key:?}");
        let opcodes: Vec<_> = flow.opcodes.iter().map(|(name, n)| (name.as_ref(), *n)).collect();
        let expected: Vec<_> = sent.opcodes.iter().map(|(name, n)| (*name, *n)).collect();
        assert_eq!(opcodes, expected, "{what}: {key:?}");
        assert_eq!(flow.dscp, sent.dscp, "{what}: {key:?}");
    }
}

#[test]
fn root_jumbo_frames_with_headers_outside_the_linear_part_count_at_every_hook() {
    // IPv4, IPv6 and tagged connections; a packet socket puts only the Ethernet header of frames
    // beyond a page into the linear part, so nothing of RoCE can be read there.
    let jumbo = |connection| Connection { pmtu: 8192, ..connection };
    let tagged = Connection { tags: vec![VlanTag::customer(100, 3)], ..Connection::ipv4(3) };
    let connections = [Connection::ipv4(1), Connection::ipv6(2), tagged];
    let streams = connections.map(|connection| write_stream(&jumbo(connection), 20, 8));
    let scenario = Scenario::together("jumbo frames", streams);
    assert!(scenario.frames.iter().any(|frame| frame.bytes.len() > 8192));

    let lab = Lab::new(9000);
    let mut egress = lab.tap(Place::TC_EGRESS, 1024);
    let mut xdp = lab.tap(Place::XDP_INGRESS, 1024);
    let mut ingress = lab.tap(Place::TC_INGRESS, 1024);
    assert_eq!((egress.mode, xdp.mode, ingress.mode), ("tcx", "native", "tcx"));
    lab.send(&scenario.frames);
    for (tap, what) in [
        (&mut egress, "TC egress of the sender"),
        (&mut xdp, "native XDP"),
        (&mut ingress, "TC ingress behind XDP"),
    ] {
        assert_truth(tap, &scenario.truth, what);
    }
}

#[test]
fn root_a_stripped_vlan_tag_counts_as_one_in_the_frame() {
    let tags =
        |tags: &[VlanTag], number| Connection { tags: tags.to_vec(), ..Connection::ipv4(number) };
    let (service, customer) = (VlanTag::service(10, 5), VlanTag::customer(100, 3));
    let connections = [tags(&[customer], 1), tags(&[service, customer], 2), tags(&[], 3)];
    let vlans = [Some(100), Some(10), None];
    let scenario = Scenario::together("tags", connections.iter().map(|it| write_stream(it, 5, 4)));

    let lab = Lab::new(1500);
    let mut xdp = lab.tap(Place::XDP_INGRESS, 1024);
    let mut tc = lab.tap(Place::TC_INGRESS, 1024);
    lab.send(&scenario.frames);
    for (tap, what) in [(&mut xdp, "XDP"), (&mut tc, "TC ingress")] {
        assert_truth(tap, &scenario.truth, what);
        let flows = tap.flows();
        for (connection, vlan) in connections.iter().zip(vlans) {
            for key in [connection.request_flow(), connection.response_flow()] {
                assert_eq!(flows[&key].vlan, vlan, "{what}: {key:?}");
            }
        }
        // Five messages of four data packets each with the outer tag's priority.
        let mut expected = [0; 8];
        (expected[3], expected[5]) = (20, 20);
        assert_eq!(tap.counters().data_pcp, expected, "{what}");
    }
    assert_same(&xdp.counters(), &tc.counters());
}

fn assert_same(xdp: &TapCounters, tc: &TapCounters) {
    assert_eq!(xdp.wire_bytes, tc.wire_bytes);
    assert_eq!(xdp.marking, tc.marking);
    assert_eq!(xdp.opcode, tc.opcode);
}

#[test]
fn root_frames_that_cannot_be_read_count_by_reason_at_every_hook() {
    let good = Packet::new(Opcode::RC_RDMA_WRITE_ONLY).dest_qp(7).payload_len(64);
    let short = good.clone().force_udp_len(19).build();
    let frames = [good.build(), short];
    let lab = Lab::new(1500);
    let taps = [Place::TC_EGRESS, Place::XDP_INGRESS, Place::TC_INGRESS];
    let taps = taps.map(|place| lab.tap(place, 1024));
    lab.send(&frames);
    for tap in &taps {
        tap.expect_packets(1);
        assert_eq!(tap.counters().reason.iter().sum::<u64>(), 1, "{}", tap.mode);
    }
}
