//! Builds published frames from their fields and compares every byte.

use super::*;

fn vector(id: &str) -> Vec<u8> {
    const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/vectors/roce_frames.json");
    let text = std::fs::read_to_string(PATH).unwrap();
    let vectors: serde_json::Value = serde_json::from_str(&text).unwrap();
    let found = vectors.as_array().unwrap().iter().find(|row| row["id"] == id).unwrap();
    let hex = found["hex"].as_str().unwrap();
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn ip(text: &str) -> std::net::IpAddr {
    text.parse().unwrap()
}

const UC_PAYLOAD: [u8; 18] = [
    0x46, 0x30, 0x81, 0x8b, 0xe2, 0x89, 0x35, 0xd9, 0x0e, 0x9a, 0x95, 0x50, 0x54, 0x01, 0xbe, 0x88,
    0x5e, 0x50,
];

fn uc_send_only() -> Packet {
    let mac = [0x24, 0x8a, 0x07, 0xa8, 0xfa, 0x22];
    Packet::new(Opcode::UC_SEND_ONLY)
        .macs(mac, mac)
        .dest_qp(211)
        .psn(13_571_856)
        .payload(UC_PAYLOAD.to_vec())
}

#[test]
fn v01_uc_send_only_over_ipv4() {
    let frame = uc_send_only()
        .ip(ip("192.168.0.7"), ip("192.168.0.7"))
        .ecn(Ecn::Ect1)
        .ip_id(0x0478)
        .udp_checksum(0xaca2)
        .build();
    assert_eq!(frame, vector("V01"));
}

#[test]
fn v02_cnp() {
    let frame = Packet::new(Opcode::CNP)
        .macs([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2])
        .ip(ip("22.22.22.8"), ip("22.22.22.7"))
        .dscp(34)
        .ecn(Ecn::Ect1)
        .ttl(0x20)
        .ip_id(0x98c6)
        .udp_source(56238)
        .dest_qp(210)
        .build();
    assert_eq!(frame, vector("V02"));
}

#[test]
fn v04_roce_v1_write_only() {
    let mac = [0x7c, 0xfe, 0x90, 0x75, 0x3c, 0xd8];
    let gid = "::ffff:15.0.0.2".parse().unwrap();
    let frame = Packet::new(Opcode::RC_RDMA_WRITE_ONLY)
        .macs(mac, mac)
        .roce_v1(gid, gid)
        .ecn(Ecn::Ect0)
        .dest_qp(266)
        .psn(10_979_516)
        .ack_req(true)
        .reth(Reth { va: 0x55d4_c072_6000, rkey: 0x47b3, dma_len: 5 })
        .payload(vec![0, 0, 0, 0, 1])
        .build();
    assert_eq!(frame, vector("V04"));
}

#[test]
fn v05_roce_v1_acknowledge() {
    let mac = [0x7c, 0xfe, 0x90, 0x75, 0x3c, 0xd8];
    let gid = "::ffff:15.0.0.2".parse().unwrap();
    let frame = Packet::new(Opcode::RC_ACKNOWLEDGE)
        .macs(mac, mac)
        .roce_v1(gid, gid)
        .ecn(Ecn::Ect0)
        .dest_qp(265)
        .psn(10_979_520)
        .aeth(Aeth { syndrome: 0, msn: 5 })
        .build();
    assert_eq!(frame, vector("V05"));
}

#[test]
fn v06_uc_send_only_over_ipv6() {
    let frame = uc_send_only()
        .ip(ip("2022::1023"), ip("2023::1024"))
        .dscp(56)
        .ecn(Ecn::Ect0)
        .flow_label(0x1face)
        .ttl(0xff)
        .udp_checksum(0xe7c5)
        .build();
    assert_eq!(frame, vector("V06"));
}

#[test]
fn v07_read_request() {
    let frame = Packet::new(Opcode::RC_RDMA_READ_REQUEST)
        .macs([0x00, 0x0c, 0x29, 0x89, 0xa2, 0xe5], [0x00, 0x0c, 0x29, 0xae, 0x1c, 0xa4])
        .ip(ip("192.168.56.129"), ip("192.168.56.131"))
        .ip_id(0xbe10)
        .udp_source(57236)
        .migrated(false)
        .dest_qp(17)
        .psn(5_557_091)
        .ack_req(true)
        .reth(Reth { va: 0x7fee_260f_b000, rkey: 0x2b8, dma_len: 65536 })
        .build();
    assert_eq!(frame, vector("V07"));
}

#[test]
fn d02_rnr_nak() {
    let frame = Packet::new(Opcode::RC_ACKNOWLEDGE)
        .macs([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2])
        .ip(ip("10.0.0.2"), ip("10.0.0.1"))
        .dscp(26)
        .ecn(Ecn::Ect0)
        .udp_source(55001)
        .dest_qp(0x1a2)
        .psn(1000)
        .aeth(Aeth::rnr(14, 7))
        .build();
    assert_eq!(frame, vector("D02"));
}

#[test]
fn d04_qinq_and_ce() {
    let frame = Packet::new(Opcode::RC_SEND_ONLY)
        .macs([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2])
        .vlan(VlanTag::service(10, 5))
        .vlan(VlanTag::customer(100, 3))
        .ip(ip("10.0.0.1"), ip("10.0.0.2"))
        .dscp(26)
        .ecn(Ecn::Ce)
        .udp_source(55002)
        .dest_qp(0x1a2)
        .ack_req(true)
        .psn(5)
        .payload(b"hi!!".to_vec())
        .build();
    assert_eq!(frame, vector("D04"));
}

#[test]
fn every_opcode_has_its_header_length() {
    // Total of BTH and extended headers, from `length` in Linux rxe_opcode.c and ib_pack.h.
    let transport = |info: &OpcodeInfo| match info.code.0 & 0x1f {
        3 | 5 | 9 | 0x16 | 0x17 | 0x0d | 0x0f | 0x10 | 0x11 => 16,
        6 | 0x0a | 0x0c | 0x1d => 28,
        0x0b | 0x1c => 32,
        0x12 => 24,
        0x13 | 0x14 => 40,
        _ => 12,
    };
    for info in all_opcodes() {
        let datagram = match info.code.0 >> 5 {
            2 if info.code.is_response() => 4,
            2 => 12,
            3 => 8,
            5 if !info.code.is_response() => 4,
            _ => 0,
        };
        let expected = if info.code == Opcode::CNP { 28 } else { transport(info) + datagram };
        let frame = Packet::new(info.code).payload_len(5).build();
        assert_eq!(frame.len(), 14 + 20 + 8 + expected + 8 + 4, "{}", info.name);
        assert_eq!(frame[42], info.code.0);
        assert_eq!(frame[43] >> 4 & 3, 3, "pad of {}", info.name);
        assert_eq!(internet_checksum(&frame[14..34]), 0, "{}", info.name);
        assert_eq!(info.headers_len() + 12, if info.code == Opcode::CNP { 12 } else { expected });
    }
}

#[test]
fn remarking_on_the_way_keeps_the_icrc() {
    let packet = uc_send_only().ip(ip("2001:db8::1"), ip("2001:db8::2"));
    let icrc = |packet: Packet| packet.build()[packet.build().len() - 4..].to_vec();
    let sent = icrc(packet.clone());
    assert_eq!(sent, icrc(packet.clone().ecn(Ecn::Ce).dscp(8).ttl(3).flow_label(7).fecn(true)));
    assert_ne!(sent, icrc(packet.psn(1)));
}

#[test]
fn options_and_extension_headers_move_what_follows() {
    let options = uc_send_only().ip_options(vec![1, 1, 1, 1, 0]).build();
    assert_eq!(options[14], 0x47);
    assert_eq!(options[14 + 28 + 8], Opcode::UC_SEND_ONLY.0);
    assert_eq!(internet_checksum(&options[14..42]), 0);

    let chained = uc_send_only()
        .ip(ip("2001:db8::1"), ip("2001:db8::2"))
        .ipv6_ext(Ipv6Ext::hop_by_hop(0))
        .ipv6_ext(Ipv6Ext::routing())
        .ipv6_ext(Ipv6Ext::destination_options(1))
        .ipv6_ext(Ipv6Ext::fragment(0, false, 9))
        .build();
    let [_, high, low] = [chained[17], chained[18], chained[19]];
    assert_eq!(usize::from(u16::from_be_bytes([high, low])), chained.len() - 54);
    let next = |at: usize| chained[at];
    assert_eq!([next(20), next(54), next(62), next(70), next(86)], [0, 43, 60, 44, 17]);
    assert_eq!(chained[94 + 8], Opcode::UC_SEND_ONLY.0);
}
