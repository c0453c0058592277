//! Fragments: counted for what they are, with nothing read from behind their end.

use crate::build::spec;
use crate::round_trip::roce;
use proptest::prelude::*;
use roce_common::wire::{
    ExtendedHeaders, IcrcCheck, ParseReason, Parsed, SliceReader, check_icrc, parse_ethernet,
};
use roce_testkit::packet::{Aeth, Ipv6Ext, Opcode, Packet};

fn parse(frame: &[u8]) -> Parsed {
    parse_ethernet(&SliceReader(frame))
}

fn over_ipv6(opcode: Opcode) -> Packet {
    let [source, destination] =
        ["2001:db8::1", "2001:db8::2"].map(|text| text.parse().expect("an address"));
    Packet::new(opcode).ip(source, destination)
}

#[test]
fn a_first_fragment_counts_what_it_holds() {
    // 1024 bytes in fragments of 512: UDP, BTH, RETH and 476 bytes of payload.
    let packet = Packet::new(Opcode::RC_RDMA_WRITE_ONLY).payload_len(1_024).ip_fragment(0, true);
    let mut frame = packet.force_ip_len(20 + 512).build();
    frame.truncate(14 + 20 + 512);
    let fragment = roce(&frame);
    assert!(fragment.is_first_fragment);
    assert_eq!((fragment.wire_bytes, fragment.payload_bytes), (546, 476));
    assert_eq!(fragment.dma_len(), Some(0));
    assert_eq!(check_icrc(&frame, &fragment), IcrcCheck::NotCheckable);
}

#[test]
fn headers_are_not_read_from_behind_a_fragment() {
    let ack = Packet::new(Opcode::RC_ACKNOWLEDGE).aeth(Aeth::nak(0, 1)).ip_fragment(0, true);
    for (held, parsed) in [(0, false), (16, false), (20, false), (23, false), (24, true)] {
        let frame = ack.clone().force_ip_len(20 + held).build();
        match parse(&frame) {
            Parsed::Roce(fragment) => {
                assert!(parsed, "{held} bytes");
                assert!(ExtendedHeaders::read(&SliceReader(&frame), &fragment).aeth.is_some());
            }
            other => {
                assert!(!parsed, "{held} bytes");
                assert_eq!(other, Parsed::Malformed(ParseReason::FirstFragment), "{held} bytes");
            }
        }
    }
}

#[test]
fn later_fragments_of_udp_could_be_roce() {
    let v4 = Packet::new(Opcode::RC_SEND_ONLY).ip_fragment(64, false).build();
    assert_eq!(parse(&v4), Parsed::Malformed(ParseReason::IpFragment));
    let later = Ipv6Ext::fragment(64, false, 7);
    let v6 = over_ipv6(Opcode::RC_SEND_ONLY).ipv6_ext(later.clone());
    assert_eq!(parse(&v6.build()), Parsed::Malformed(ParseReason::IpFragment));
    let options = over_ipv6(Opcode::RC_SEND_ONLY).ipv6_ext(later);
    let options = options.ipv6_ext(Ipv6Ext::destination_options(0)).build();
    assert_eq!(parse(&options), Parsed::Malformed(ParseReason::IpFragment));
}

#[test]
fn later_fragments_of_anything_else_are_not_roce() {
    const ICMPV6: u8 = 58;
    const NEXT_HEADER: usize = 14 + 40;
    let later = Ipv6Ext::fragment(64, false, 7);
    let mut frame = over_ipv6(Opcode::RC_SEND_ONLY).ipv6_ext(later).build();
    frame[NEXT_HEADER] = ICMPV6;
    assert_eq!(parse(&frame), Parsed::NotRoce);
}

proptest! {
    #[test]
    fn a_fragment_header_on_a_whole_packet_changes_no_payload(spec in spec(64)) {
        let whole = roce(&spec.packet().build());
        let fragment = roce(&spec.packet().ip_fragment(0, false).build());
        prop_assert_eq!(fragment, whole, "don't fragment off");
    }
}
