//! A real capture, replayed.

use std::collections::BTreeMap;
use std::path::Path;

use roce_collector::capture::CaptureReader;

use super::lab::{Lab, Place};

/// Traffic of a real NIC, whose payload was zeroed: 105 RoCEv2 packets in two flows.
const HNS: &str = "../testdata/captures/derived/hns_scrubbed.pcap";

#[test]
fn root_a_replayed_capture_counts_as_in_the_file() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(HNS);
    let mut reader = CaptureReader::open(&path).unwrap();
    let mut frames = Vec::new();
    while let Some(frame) = reader.next_frame().unwrap() {
        frames.push(frame.data.to_vec());
    }

    let lab = Lab::new(4200);
    let places = [Place::TC_EGRESS, Place::XDP_INGRESS, Place::TC_INGRESS];
    let taps = places.map(|place| lab.tap(place, 1024));
    lab.send(&frames);
    for mut tap in taps {
        tap.expect_packets(105);
        let flows = tap.flows();
        let found: BTreeMap<_, _> = flows
            .values()
            .map(|flow| {
                let opcodes: Vec<_> =
                    flow.opcodes.iter().map(|(name, count)| (name.as_ref(), *count)).collect();
                (flow.dst_qp, (flow.packets, opcodes))
            })
            .collect();
        let expected = [
            (
                0x45,
                (
                    68,
                    vec![
                        ("ACKNOWLEDGE", 1),
                        ("SEND_FIRST", 33),
                        ("SEND_LAST_IMM", 33),
                        ("SEND_ONLY_IMM", 1),
                    ],
                ),
            ),
            (0x48, (37, vec![("ACKNOWLEDGE", 36), ("SEND_ONLY_IMM", 1)])),
        ];
        assert_eq!(found, expected.into(), "{}", tap.mode);
        for flow in flows.values() {
            assert_eq!(flow.naks.map(|naks| naks.total()), Some(0));
            assert_eq!((flow.cnps, flow.rnr_naks), (0, Some(0)));
            assert_eq!((flow.ecn.ect0, flow.dscp[&0]), (flow.packets, flow.packets));
        }
        let bytes: u64 = flows.values().map(|flow| flow.wire_bytes).sum();
        assert_eq!(tap.counters().wire_bytes, bytes);
    }
}
