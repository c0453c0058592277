//! What was built is what is read.

use crate::build::{Network, Spec, spec};
use proptest::prelude::*;
use roce_common::wire::{
    AddressFamily, Addresses, Aeth, AtomicAckEth, AtomicEth, Deth, ExtendedHeaders, IcrcCheck,
    Ieth, ImmDt, Parsed, Reth, RocePacket, RoceVersion, SliceReader, VlanTag, XrcEth, check_icrc,
    parse_ethernet,
};
use roce_testkit::packet::{ExtHeader, Opcode, Packet, all_opcodes};
use std::net::IpAddr;

/// The packet in a frame that has to be one.
pub(crate) fn roce(frame: &[u8]) -> RocePacket {
    match parse_ethernet(&SliceReader(frame)) {
        Parsed::Roce(packet) => packet,
        other => panic!("{other:?}"),
    }
}

fn below_the_bth(spec: &Spec, frame: &[u8], packet: &RocePacket) {
    let (version, family) = match spec.network {
        Network::V4 { .. } => (RoceVersion::V2, AddressFamily::V4),
        Network::V6 { .. } => (RoceVersion::V2, AddressFamily::V6),
        Network::V1 { .. } => (RoceVersion::V1, AddressFamily::V6),
    };
    assert_eq!((packet.version, packet.family), (version, family));
    let facts = spec.packet().facts();
    let (source, destination) = match packet.addresses(&SliceReader(frame)).expect("its own frame")
    {
        Addresses::V4 { source, destination } => (source.into(), destination.into()),
        Addresses::V6 { source, destination } => (IpAddr::from(source), IpAddr::from(destination)),
    };
    assert_eq!((source, destination), (facts.src, facts.dst));
    let tags = [packet.vlans.outer(), packet.vlans.inner()];
    let tags: Vec<_> = tags.iter().flatten().map(|tag| (tag.id(), tag.pcp())).collect();
    let expected: Vec<_> = spec.tags.iter().map(|tag| (tag.vid, tag.pcp)).collect();
    assert_eq!(tags, expected);
    assert_eq!(packet.traffic_class.0, spec.traffic_class);
    let port = if version == RoceVersion::V1 { 0 } else { spec.source_port };
    assert_eq!(packet.source_port, port);
    assert_eq!(packet.network_offset, spec.network_offset());
    assert_eq!(packet.bth_offset, spec.bth_offset());
    assert_eq!(u64::from(packet.wire_bytes), facts.wire_bytes);
    assert_eq!(u64::from(packet.payload_bytes), facts.payload_bytes);
    assert!(!packet.is_first_fragment);
}

fn bth(spec: &Spec, packet: &RocePacket) {
    let (bth, built) = (packet.bth, spec.bth);
    assert_eq!(bth.opcode().0, spec.opcode.0);
    assert_eq!(bth.opcode().is_response(), spec.opcode.is_response());
    assert_eq!(usize::from(bth.pad_count()), spec.payload.len().wrapping_neg() & 3);
    assert_eq!(bth.transport_version(), 0);
    assert_eq!(bth.partition_key(), built.partition_key);
    assert_eq!(bth.dest_qp(), built.dest_qp);
    assert_eq!(bth.psn().get(), built.psn);
    assert_eq!(bth.ack_req(), built.ack_req);
    assert_eq!(bth.solicited_event(), built.solicited);
    assert_eq!(bth.mig_req(), built.migrated);
    assert_eq!((bth.fecn(), bth.becn()), (built.fecn, built.becn));
}

/// The headers that a capture of `len` bytes shows.
pub(crate) fn expected_headers(spec: &Spec, len: usize) -> ExtendedHeaders {
    let is_there = |header| spec.end_of(header).is_some_and(|end| end <= len);
    let built = spec.extended;
    let with = |header, value: u32| is_there(header).then_some(value);
    ExtendedHeaders {
        xrc_eth: with(ExtHeader::Xrceth, built.word & 0x00ff_ffff).map(|srq| XrcEth { srq }),
        deth: is_there(ExtHeader::Deth)
            .then_some(Deth { queue_key: built.deth.qkey, source_qp: built.deth.src_qp }),
        reth: is_there(ExtHeader::Reth).then_some(Reth {
            virtual_address: built.reth.va,
            remote_key: built.reth.rkey,
            dma_len: built.reth.dma_len,
        }),
        aeth: is_there(ExtHeader::Aeth).then(|| {
            let [_, m0, m1, m2] = built.aeth.msn.to_be_bytes();
            Aeth::from_bytes([built.aeth.syndrome, m0, m1, m2])
        }),
        atomic_eth: is_there(ExtHeader::AtomicEth).then_some(AtomicEth {
            virtual_address: built.atomic.va,
            remote_key: built.atomic.rkey,
            swap_or_add: built.atomic.swap_add,
            compare: built.atomic.compare,
        }),
        atomic_ack_eth: is_there(ExtHeader::AtomicAckEth)
            .then_some(AtomicAckEth { original: built.original }),
        imm_dt: with(ExtHeader::ImmDt, built.word).map(ImmDt),
        ieth: with(ExtHeader::Ieth, built.word).map(|remote_key| Ieth { remote_key }),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn every_field_is_read_as_built(spec in spec(4_200)) {
        let frame = spec.packet().build();
        let packet = roce(&frame);
        below_the_bth(&spec, &frame, &packet);
        bth(&spec, &packet);
        let headers = ExtendedHeaders::read(&SliceReader(&frame), &packet);
        prop_assert_eq!(headers, expected_headers(&spec, frame.len()));
        prop_assert_eq!(check_icrc(&frame, &packet), IcrcCheck::Good);
        // Ethernet padding and FCS are no part of it.
        let padded = [&frame[..], &[0; 22]].concat();
        prop_assert_eq!(roce(&padded), packet);
        prop_assert_eq!(check_icrc(&padded, &packet), IcrcCheck::Good);
    }
}

#[test]
fn names_and_headers_of_every_opcode() {
    let mut read = 0;
    for info in all_opcodes().iter().filter(|info| info.code.0 >> 5 != 2) {
        let packet = roce(&Packet::new(info.code).payload_len(9).build());
        let opcode = packet.bth.opcode();
        assert_eq!(opcode.operation().name(), info.code.operation(), "{}", info.name);
        let name = match opcode.transport().name() {
            "CNP" => "CNP".to_owned(),
            transport => format!("{transport}_{}", opcode.operation().name()),
        };
        assert_eq!(name, info.name);
        let has = |header| info.headers.contains(&header);
        assert_eq!(packet.aeth().is_some(), has(ExtHeader::Aeth), "{}", info.name);
        assert_eq!(packet.dma_len().is_some(), has(ExtHeader::Reth), "{}", info.name);
        assert_eq!(packet.source_qp().is_some(), has(ExtHeader::Deth), "{}", info.name);
        read += 1;
    }
    assert_eq!(read, 63, "RC 25, UC 12, UD 2, CNP, XRC 23");
}

#[test]
fn what_no_standard_defines_is_counted_by_its_opcode_byte() {
    for code in (0..=255).filter(|&code| Opcode(code).info().is_none() && code >> 5 != 2) {
        let built = Packet::new(Opcode(code)).payload_len(9);
        let packet = roce(&built.build());
        assert_eq!(packet.bth.opcode().0, code);
        assert_eq!(packet.payload_bytes, 9, "opcode {code:#04x}");
        assert_eq!(packet.bth.opcode().operation().name(), "UNKNOWN");
    }
}

#[test]
fn reliable_datagrams_are_counted_behind_their_first_header() {
    for info in all_opcodes().iter().filter(|info| info.code.0 >> 5 == 2) {
        let packet = roce(&Packet::new(info.code).payload_len(9).build());
        assert_eq!(packet.bth.opcode().transport().name(), "RD");
        assert_eq!(packet.payload_bytes as usize, info.headers_len() - 4 + 9, "{}", info.name);
    }
}

#[test]
fn a_tag_keeps_its_drop_eligible_bit() {
    assert_eq!((VlanTag(0x7064).id(), VlanTag(0x7064).pcp()), (100, 3));
}
