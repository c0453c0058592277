//! No bytes break anything.

use crate::build::spec;
use crate::exercise::exercise;
use proptest::collection::vec;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn noise(frame in vec(any::<u8>(), 0..200)) {
        exercise(&frame);
    }

    #[test]
    fn noise_behind_an_ether_type(
        ether_type in prop::sample::select(vec![0x0800_u16, 0x86dd, 0x8915, 0x8100, 0x88a8]),
        rest in vec(any::<u8>(), 0..200),
    ) {
        exercise(&[&[0; 12][..], &ether_type.to_be_bytes(), &rest].concat());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn damaged_packets(
        spec in spec(64),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in any::<prop::sample::Index>(),
        is_cut in any::<bool>(),
    ) {
        let mut frame = spec.packet().build();
        // Most fields stand in the headers, so most damage goes there.
        let headers = frame.len().min(spec.bth_offset() + 24);
        for (at, value) in damage {
            frame[at.index(headers)] = value;
        }
        if is_cut {
            frame.truncate(cut.index(frame.len()));
        }
        exercise(&frame);
    }

    #[test]
    fn fragments(spec in spec(64), offset in 0..4u16, more in any::<bool>(), len in 0..200u16) {
        use roce_testkit::packet::Ipv6Ext;
        let packet = spec.packet().ip_fragment(offset, more).force_ip_len(len);
        exercise(&packet.build());
        let packet = packet.ipv6_ext(Ipv6Ext::fragment(offset, more, 1));
        exercise(&packet.build());
    }
}
