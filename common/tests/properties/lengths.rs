//! Lengths that lie get a reason; none makes a payload out of other bytes.

use crate::build::{Network, Spec, spec};
use proptest::prelude::*;
use roce_common::wire::{ParseReason, Parsed, SliceReader, parse_ethernet};

/// Payload bytes, or why there are none, by the rules of RFC 791, 8200, 768 and IBTA annex A17.
fn expected(spec: &Spec, ip_len: usize, udp_len: usize, pad: usize) -> Result<usize, ParseReason> {
    let room = match &spec.network {
        Network::V4 { .. } => {
            ip_len.checked_sub(spec.network_len()).ok_or(ParseReason::BadIpv4Header)?
        }
        Network::V6 { .. } => {
            ip_len.checked_sub(spec.network_len() - 40).ok_or(ParseReason::BadIpv6Header)?
        }
        Network::V1 { .. } => ip_len,
    };
    let len = if matches!(spec.network, Network::V1 { .. }) {
        room
    } else {
        if !(8..=room).contains(&udp_len) {
            return Err(ParseReason::BadUdpLength);
        }
        udp_len - 8
    };
    if len < 12 + 4 {
        return Err(ParseReason::ShortBth);
    }
    len.checked_sub(12 + spec.extended_len() + pad + 4).ok_or(ParseReason::ShortExtendedHeader)
}

/// Short lengths, lengths near the right one, and any.
fn length() -> impl Strategy<Value = u16> {
    prop_oneof![0..200u16, any::<u16>()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn forced_lengths(spec in spec(40), ip_len in length(), udp_len in length(), pad in 0..4u8) {
        let packet = spec.packet().force_ip_len(ip_len).force_udp_len(udp_len).force_pad_count(pad);
        let parsed = parse_ethernet(&SliceReader(&packet.build()));
        match (parsed, expected(&spec, ip_len.into(), udp_len.into(), pad.into())) {
            (Parsed::Roce(packet), Ok(payload)) => {
                prop_assert_eq!(packet.payload_bytes as usize, payload);
                let fixed = if matches!(spec.network, Network::V4 { .. }) { 0 } else { 40 };
                let wire = spec.network_offset() + fixed + usize::from(ip_len);
                prop_assert_eq!(packet.wire_bytes as usize, wire);
            }
            (Parsed::Malformed(reason), Err(expected)) => prop_assert_eq!(reason, expected),
            (parsed, expected) => prop_assert!(false, "{parsed:?}, expected {expected:?}"),
        }
    }

    #[test]
    fn padding_without_payload(spec in spec(0), pad in 1..4u8) {
        let frame = spec.packet().force_pad_count(pad).build();
        let parsed = parse_ethernet(&SliceReader(&frame));
        prop_assert_eq!(parsed, Parsed::Malformed(ParseReason::ShortExtendedHeader));
    }
}
