//! Files of tcpdump, Wireshark and this project, with the figures other tools give for them.

use std::collections::BTreeMap;
use std::fs;

use roce_collector::capture::{Format, LinkType, NetworkStart, network_layer};

use crate::{Owned, bytes, capture, frames, open, reader};

/// Packets as `capinfos -c` counts them.
const COUNTS: [(&str, usize); 20] = [
    ("derived/ce_then_cnp.pcap", 22),
    ("derived/dscp_one_direction.pcap", 20),
    ("derived/gbn_one_loss_psn_wrap.pcap", 14),
    ("derived/hns_scrubbed.pcap", 105),
    ("derived/hns_scrubbed.pcapng", 105),
    ("derived/hns_scrubbed_ns.pcap", 105),
    ("derived/pfc_frames.pcap", 5),
    ("derived/rnr_exhausted.pcap", 16),
    ("derived/timeout_retransmit_then_ack.pcap", 5),
    ("lossless/bidir_lossless.pcap", 80),
    ("lossless/read_lossless.pcap", 25),
    ("tcpdump/dcb_ets.pcap", 67),
    ("tcpdump/dcb_pfc.pcap", 5),
    ("tcpdump/dcb_qcn.pcap", 19),
    ("tcpdump/lldp_app_priority.pcap", 1),
    ("variants/hns_ns.pcapng.gz", 105),
    ("variants/hns_raw.pcap.gz", 105),
    ("variants/hns_sll.pcap.gz", 105),
    ("variants/hns_sll2.pcap.gz", 105),
    ("vectors/roce_frames.pcap", 22),
];

#[test]
fn every_file_has_the_packets_other_tools_count() {
    for (name, packets) in COUNTS {
        let mut reader = open(name);
        assert_eq!(frames(&mut reader).len(), packets, "{name}");
        assert_eq!(reader.packets(), packets as u64);
        let size = fs::metadata(capture(name)).unwrap().len();
        assert_eq!(reader.total_bytes(), Some(size));
        assert_eq!(reader.bytes_read(), size, "{name}: the progress ends at 100 %");
    }
}

#[test]
fn lab_files_have_the_frames_of_their_truth() {
    let truth = fs::read(capture("lab/expected.json")).unwrap();
    let truth: BTreeMap<String, serde_json::Value> = serde_json::from_slice(&truth).unwrap();
    assert_eq!(truth.len(), 51);
    for (name, expected) in truth {
        let frames = frames(&mut open(&format!("lab/{name}")));
        assert_eq!(Some(frames.len() as u64), expected["frames"].as_u64(), "{name}");
    }
}

#[test]
fn info_tells_format_link_type_and_snaplen() {
    let info = |name| {
        let info = open(name).info();
        (info.format, info.link_type, info.snaplen)
    };
    let ethernet = Some(LinkType::Ethernet);
    assert_eq!(info("derived/hns_scrubbed.pcap"), (Format::Pcap, ethernet, Some(262_144)));
    assert_eq!(info("variants/hns_snap64.pcap.gz"), (Format::Pcap, ethernet, Some(64)));
    assert_eq!(info("variants/hns_raw.pcap.gz").1, Some(LinkType::Raw));
    assert_eq!(info("variants/hns_sll.pcap.gz").1, Some(LinkType::LinuxSll));
    assert_eq!(info("variants/hns_sll2.pcap.gz").1, Some(LinkType::LinuxSll2));
    assert_eq!(info("derived/hns_scrubbed.pcapng").0, Format::PcapNg);

    let json = serde_json::to_string(&open("variants/hns_sll.pcap.gz").info()).unwrap();
    assert_eq!(json, r#"{"format":"pcap","link_type":"LINUX_SLL","snaplen":262144}"#);
}

/// The packet from its network layer on.
fn packet(frame: &Owned) -> &[u8] {
    match network_layer(frame.link_type, &frame.data).expect("a link type we read") {
        NetworkStart::Ethernet => &frame.data[14..],
        NetworkStart::Payload { ether_type: 0x0800, offset } => &frame.data[offset..],
        other @ NetworkStart::Payload { .. } => panic!("{other:?}"),
    }
}

#[test]
fn every_variant_holds_the_same_packets_at_the_same_times() {
    let original = frames(&mut open("derived/hns_scrubbed.pcap"));
    let time = original[0].time.unwrap();
    assert_eq!(time.to_string(), "2022-04-26T10:49:50.668808000Z");
    for (name, tolerance) in [
        ("derived/hns_scrubbed.pcapng", 0),
        ("derived/hns_scrubbed_ns.pcap", 999),
        ("variants/hns_ns.pcapng.gz", 999),
        ("variants/hns_raw.pcap.gz", 0),
        ("variants/hns_sll.pcap.gz", 0),
        ("variants/hns_sll2.pcap.gz", 0),
    ] {
        let variant = frames(&mut open(name));
        assert_eq!(variant.len(), original.len(), "{name}");
        for (ours, theirs) in variant.iter().zip(&original) {
            assert_eq!(packet(ours), packet(theirs), "{name}");
            assert_eq!(ours.wire_len as usize, ours.data.len(), "{name}");
            let (ours, theirs) = (ours.time.unwrap(), theirs.time.unwrap());
            assert!(ours.as_nanos().abs_diff(theirs.as_nanos()) <= tolerance, "{name}: {ours}");
        }
    }
    let nanoseconds = frames(&mut open("derived/hns_scrubbed_ns.pcap"))[0].time.unwrap();
    assert_eq!(nanoseconds.to_string(), "2022-04-26T10:49:50.668807983Z");
}

#[test]
fn a_merged_file_keeps_link_type_and_clock_per_interface() {
    let merged = frames(&mut open("variants/hns_mixed.pcapng.gz"));
    assert_eq!(merged.len(), 420);
    for (interface, source) in [
        "variants/hns_sll2.pcap.gz",
        "variants/hns_raw.pcap.gz",
        "variants/hns_ns.pcapng.gz",
        "variants/hns_sll.pcap.gz",
    ]
    .into_iter()
    .enumerate()
    {
        let of_interface: Vec<_> = merged
            .iter()
            .filter(|frame| frame.interface as usize == interface)
            .map(|frame| Owned { interface: 0, ..frame.clone() })
            .collect();
        assert_eq!(of_interface, frames(&mut open(source)), "{source}");
    }
}

#[test]
fn a_cut_packet_keeps_its_length_on_the_wire() {
    let whole = frames(&mut open("derived/hns_scrubbed.pcap"));
    let cut = frames(&mut open("variants/hns_snap64.pcap.gz"));
    for (cut, whole) in cut.iter().zip(&whole) {
        assert_eq!(cut.wire_len, whole.wire_len);
        assert_eq!(cut.data, whole.data[..whole.data.len().min(64)]);
    }
    assert!(cut.iter().any(|frame| frame.wire_len > 1000));
}

#[test]
fn gzip_changes_nothing() {
    for name in ["variants/hns_mixed.pcapng.gz", "lab/hole-stream-v4.va.pcap.gz"] {
        let unpacked = frames(&mut reader(&bytes(name)).unwrap());
        assert_eq!(frames(&mut open(name)), unpacked, "{name}");
    }
}

#[test]
fn gzip_members_in_a_row_are_one_file() {
    let raw = bytes("derived/hns_scrubbed.pcap");
    let (head, tail) = raw.split_at(raw.len() / 3);
    let joined = [crate::damage::gzip(head), crate::damage::gzip(tail)].concat();
    assert_eq!(frames(&mut reader(&joined).unwrap()), frames(&mut reader(&raw).unwrap()));
}
