//! A capture that ends early says less, never something else.

use crate::build::spec;
use crate::round_trip::{expected_headers, roce};
use proptest::prelude::*;
use roce_common::wire::{
    ExtendedHeaders, IcrcCheck, Parsed, RocePacket, SliceReader, check_icrc, parse_ethernet,
};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn every_length(spec in spec(40)) {
        let frame = spec.packet().build();
        let whole = roce(&frame);
        let readable = spec.bth_offset() + 12;
        for len in 0..frame.len() {
            let cut = SliceReader(&frame[..len]);
            let packet = match parse_ethernet(&cut) {
                Parsed::Roce(packet) => packet,
                Parsed::Malformed(reason) => {
                    prop_assert!(reason.is_truncation(), "{reason} at {len}");
                    prop_assert!(len < readable, "{reason} at {len}");
                    continue;
                }
                // Nothing says yet what it is.
                Parsed::NotRoce => return Err(TestCaseError::fail(format!("not RoCE at {len}"))),
            };
            prop_assert!(len >= readable);
            let headers = expected_headers(&spec, len);
            prop_assert_eq!(packet.aeth(), headers.aeth, "at {}", len);
            prop_assert_eq!(packet.dma_len(), headers.reth.map(|reth| reth.dma_len));
            prop_assert_eq!(packet.source_qp(), headers.deth.map(|deth| deth.source_qp));
            let rest = RocePacket { extended: whole.extended, ..packet };
            prop_assert_eq!(rest, whole, "at {}", len);
            prop_assert_eq!(ExtendedHeaders::read(&cut, &packet), headers, "at {}", len);
            prop_assert_eq!(check_icrc(cut.0, &packet), IcrcCheck::NotCheckable);
        }
    }
}
