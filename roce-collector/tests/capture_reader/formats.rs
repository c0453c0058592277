//! Corners of the formats that the files at hand do not show: both byte orders, several sections,
//! odd clocks, rare blocks, drop counters.

use roce_collector::capture::{CaptureError, LinkType, Timestamp};

use crate::build::{Order, Pcap, PcapNg, option};
use crate::{Owned, bytes, frames, reader};

const ORDERS: [Order; 2] = [Order::Little, Order::Big];

fn nanos(frames: &[Owned]) -> Vec<Option<u64>> {
    frames.iter().map(|frame| frame.time.map(Timestamp::as_nanos)).collect()
}

#[test]
fn pcap_in_both_byte_orders_and_resolutions() {
    for order in ORDERS {
        for (magic, expected) in [(0xa1b2_c3d4, 7_000_005_000), (0xa1b2_3c4d, 7_000_000_005)] {
            let file = Pcap::new(order, magic, 1).packet(7, 5, 90, b"frame");
            let frames = frames(&mut reader(&file.bytes).unwrap());
            assert_eq!(nanos(&frames), [Some(expected)]);
            assert_eq!((frames[0].wire_len, &frames[0].data[..]), (90, &b"frame"[..]));
        }
    }
}

#[test]
fn frame_check_sequence_bits_are_no_link_type() {
    // 4-byte FCS present, LINKTYPE_ETHERNET.
    let file = Pcap::new(Order::Little, 0xa1b2_c3d4, 0x2400_0001);
    assert_eq!(reader(&file.bytes).unwrap().info().link_type, Some(LinkType::Ethernet));
}

#[test]
fn a_file_without_packets_is_sound() {
    for order in ORDERS {
        let pcap = Pcap::new(order, 0xa1b2_c3d4, 1).bytes;
        assert_eq!(frames(&mut reader(&pcap).unwrap()), []);
        let mut pcapng = reader(&PcapNg::default().section(order).bytes).unwrap();
        assert_eq!(pcapng.info().link_type, None);
        assert_eq!(pcapng.capture_dropped(), None);
        assert_eq!(frames(&mut pcapng), []);
    }
}

#[test]
fn pcapng_clocks_are_per_interface() {
    for order in ORDERS {
        let resolution = |exponent: u8| option(order, 9, &[exponent]);
        let offset = option(order, 14, &order.u64((-10_i64).cast_unsigned()));
        let half_second = [resolution(0x81), option(order, 0, &[])].concat();
        let file = PcapNg::default()
            .section(order)
            .interface(order, 1, 0, &[])
            .interface(order, 1, 0, &resolution(9))
            .interface(order, 113, 0, &half_second)
            .interface(order, 276, 0, &[resolution(0), offset].concat())
            .packet(order, 0, 5_000_001, b"a")
            .packet(order, 1, (1 << 32) + 7, b"bb")
            .packet(order, 2, 3, b"ccc")
            .packet(order, 3, 15, b"dddd")
            .packet(order, 3, 5, b"before 1970");
        let frames = frames(&mut reader(&file.bytes).unwrap());
        let expected =
            [5_000_001_000, 4_294_967_303, 1_500_000_000, 5_000_000_000].map(Some).into_iter();
        assert_eq!(nanos(&frames), expected.chain([None]).collect::<Vec<_>>());
        let data: Vec<_> = frames.iter().map(|frame| &frame.data[..]).collect();
        assert_eq!(data, [&b"a"[..], b"bb", b"ccc", b"dddd", b"before 1970"]);
        let links = frames.iter().map(|frame| frame.link_type.number());
        assert_eq!(links.collect::<Vec<_>>(), [1, 1, 113, 276, 276]);
    }
}

#[test]
fn a_new_section_has_its_own_byte_order_and_interfaces() {
    let file = PcapNg::default()
        .section(Order::Big)
        .interface(Order::Big, 1, 96, &[])
        .packet(Order::Big, 0, 1, b"one")
        .section(Order::Little)
        .interface(Order::Little, 101, 0, &option(Order::Little, 9, &[9]))
        .packet(Order::Little, 0, 2, b"two");
    let mut reader = reader(&file.bytes).unwrap();
    assert_eq!(reader.info().snaplen, Some(96));
    let frames = frames(&mut reader);
    assert_eq!(nanos(&frames), [Some(1000), Some(2)]);
    assert_eq!(frames[1].link_type, LinkType::Raw);
}

#[test]
fn two_files_in_a_row_are_two_sections() {
    let once = bytes("derived/hns_scrubbed.pcapng");
    let twice = frames(&mut reader(&once.repeat(2)).unwrap());
    let once = frames(&mut reader(&once).unwrap());
    assert_eq!(twice, [once.clone(), once].concat());
}

#[test]
fn simple_packets_have_no_time_and_are_cut_at_the_snaplen() {
    for order in ORDERS {
        let file = PcapNg::default()
            .section(order)
            .interface(order, 1, 6, &[])
            .block(order, 3, &[&order.u32(5), b"whole"])
            .block(order, 3, &[&order.u32(1500), b"cut..."]);
        let frames = frames(&mut reader(&file.bytes).unwrap());
        assert_eq!(nanos(&frames), [None, None]);
        assert_eq!((&frames[0].data[..], frames[0].wire_len), (&b"whole"[..], 5));
        assert_eq!((&frames[1].data[..], frames[1].wire_len), (&b"cut..."[..], 1500));
    }
}

#[test]
fn blocks_of_other_types_are_skipped_whatever_their_size() {
    let order = Order::Little;
    let file = PcapNg::default()
        .section(order)
        .block(order, 0x0bad, &[&vec![0xff; 3_000_000]])
        .interface(order, 1, 0, &[])
        .block(order, 4, &[])
        .packet(order, 0, 1, b"behind")
        .block(order, 10, &[b"secrets!"]);
    assert_eq!(frames(&mut reader(&file.bytes).unwrap()).len(), 1);
}

#[test]
fn drops_come_from_the_last_statistics_of_every_interface() {
    for order in ORDERS {
        let drops = |interface: u64, system: u64| {
            [
                option(order, 4, &order.u64(999)),
                option(order, 5, &order.u64(interface)),
                option(order, 7, &order.u64(system)),
            ]
            .concat()
        };
        let file = PcapNg::default()
            .section(order)
            .interface(order, 1, 0, &[])
            .interface(order, 1, 0, &[])
            .packet(order, 0, 1, b"one")
            .statistics(order, 0, &drops(1, 2))
            .packet(order, 0, 2, b"two")
            .statistics(order, 0, &drops(10, 20))
            .statistics(order, 1, &option(order, 7, &order.u64(400)))
            .section(order)
            .interface(order, 1, 0, &[])
            .statistics(order, 0, &drops(5000, 0));
        let mut reader = reader(&file.bytes).unwrap();
        assert_eq!(reader.capture_dropped(), None, "not read so far");
        assert_eq!(frames(&mut reader).len(), 2);
        assert_eq!(reader.capture_dropped(), Some(5430));
    }
}

#[test]
fn drops_of_packet_blocks_add_up_where_there_are_no_statistics() {
    for order in ORDERS {
        let dropped = option(order, 4, &order.u64(3));
        let file = PcapNg::default()
            .section(order)
            .interface(order, 1, 0, &[])
            .old_packet(order, 0, 0xffff, 1)
            .old_packet(order, 0, 2, 2)
            .packet_with(order, 0, 3, b"x", &dropped);
        let mut reader = reader(&file.bytes).unwrap();
        let frames = frames(&mut reader);
        assert_eq!(nanos(&frames), [Some(1000), Some(2000), Some(3000)]);
        assert_eq!(frames[0].data, b"old");
        assert_eq!(reader.capture_dropped(), Some(5));

        let counted = file.statistics(order, 0, &option(order, 5, &order.u64(0)));
        let mut reader = crate::reader(&counted.bytes).unwrap();
        crate::frames(&mut reader);
        assert_eq!(reader.capture_dropped(), Some(0), "statistics count everything");
    }
}

#[test]
fn a_pcap_file_says_nothing_about_drops() {
    let mut reader = reader(&bytes("derived/hns_scrubbed.pcap")).unwrap();
    frames(&mut reader);
    assert_eq!(reader.capture_dropped(), None);
}

#[test]
fn link_types_that_cannot_be_read() {
    let message = "link type 105 (IEEE802_11) cannot be read; \
                   capture on an Ethernet, raw IP or \"any\" (SLL) interface";
    let order = Order::Little;
    let pcap = Pcap::new(order, 0xa1b2_c3d4, 105).bytes;
    assert_eq!(reader(&pcap).unwrap_err().to_string(), message);

    let wireless = PcapNg::default().section(order).interface(order, 105, 0, &[]);
    let error = reader(&wireless.bytes).unwrap_err();
    assert!(matches!(error, CaptureError::UnsupportedLinkType(LinkType::Other(105))));
    assert_eq!(error.to_string(), message);

    // Next to one that can, its frames are handed out as what they are.
    let mixed = wireless
        .interface(order, 1, 0, &[])
        .packet(order, 0, 1, b"beacon")
        .packet(order, 1, 2, b"frame");
    let links = frames(&mut reader(&mixed.bytes).unwrap());
    let links: Vec<_> = links.iter().map(|frame| frame.link_type).collect();
    assert_eq!(links, [LinkType::Other(105), LinkType::Ethernet]);
}
