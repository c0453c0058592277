//! The ICRC covers what no router may change, and only that.

use crate::build::{Network, Spec, spec};
use crate::round_trip::roce;
use proptest::prelude::*;
use proptest::sample::Index;
use roce_common::wire::{IcrcCheck, Parsed, SliceReader, check_icrc, parse_ethernet};

/// Bits that a router may change, as a mask of the byte at `at`.
fn variant_bits(spec: &Spec, at: usize) -> u8 {
    let (network, bth) = (spec.network_offset(), spec.bth_offset());
    let has_udp = !matches!(spec.network, Network::V1 { .. });
    let is_v4 = matches!(spec.network, Network::V4 { .. });
    // TOS, TTL and header checksum; or traffic class, flow label and hop limit.
    let of_network = if is_v4 { [1, 8, 10, 11] } else { [1, 2, 3, 7] };
    let is_udp_checksum = has_udp && (bth - 2..bth).contains(&at);
    let is_notification = at == bth + 4;
    if of_network.contains(&(at - network)) || is_udp_checksum || is_notification {
        0xff
    } else if at == network && !is_v4 {
        0x0f
    } else {
        0
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn one_invariant_bit_is_noticed(spec in spec(100), at in any::<Index>(), bit in 0..8u8) {
        let mut frame = spec.packet().build();
        let at = spec.network_offset() + at.index(frame.len() - spec.network_offset());
        prop_assume!(variant_bits(&spec, at) & 1 << bit == 0);
        frame[at] ^= 1 << bit;
        // The bit may also turn it into something else, but never into a good packet.
        if let Parsed::Roce(packet) = parse_ethernet(&SliceReader(&frame)) {
            prop_assert_ne!(check_icrc(&frame, &packet), IcrcCheck::Good);
        }
        if at >= spec.bth_offset() + 12 {
            prop_assert_eq!(check_icrc(&frame, &roce(&frame)), IcrcCheck::Bad);
        }
    }

    #[test]
    fn what_routers_change_is_not(spec in spec(100), noise in any::<[u8; 32]>()) {
        let mut frame = spec.packet().build();
        for (at, byte) in (spec.network_offset()..=spec.bth_offset() + 4).zip(noise.iter().cycle()) {
            frame[at] ^= byte & variant_bits(&spec, at);
        }
        prop_assert_eq!(check_icrc(&frame, &roce(&frame)), IcrcCheck::Good);
    }
}
