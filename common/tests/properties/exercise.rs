//! Everything that is done with one frame, and what must hold for any bytes at all.
//!
//! The property tests, the regression inputs and the fuzz target run this same function.

use roce_common::flow::{
    FlowCold, FlowKey, FlowSlot, NarrowKey, Observation, RecordTag, WideKey, account,
};
use roce_common::marking::MarkingPolicy;
use roce_common::tap::TapCounters;
use roce_common::wire::{
    Bth, EtherType, ExtendedHeaders, IcrcCheck, PacketRead, Parsed, RocePacket, SliceReader,
    VlanTag, VlanTags, check_icrc, parse_ethernet, parse_network, parse_usual,
};

/// Ethernet addresses, which the parser never reads.
const ADDRESSES_LEN: usize = 12;
const ICRC_LEN: usize = 4;
/// Two VLAN tags and the largest packet that an IPv6 length can say.
const MAX_WIRE_BYTES: u32 = 14 + 2 * 4 + 40 + 0xffff;

/// Parses and accounts `frame` in every way there is.
///
/// # Panics
/// When something that holds for all bytes does not hold for these.
pub(crate) fn exercise(frame: &[u8]) {
    let parsed = parse_ethernet(&SliceReader(frame));
    match parsed {
        Parsed::NotRoce => {}
        Parsed::Malformed(reason) => {
            let mut counters = TapCounters::default();
            counters.count_reason(reason);
            assert_eq!(counters.reason[reason as usize], 1);
            assert_eq!(counters.packets(), 0, "a frame that cannot be read is no packet");
        }
        Parsed::Roce(packet) => {
            lengths(frame, &packet);
            extended_headers(frame, &packet);
            records(frame, &packet);
        }
    }
    more_bytes_change_nothing_known(frame, &parsed);
    for piece in [1, 3, 64] {
        assert_eq!(parse_ethernet(&Pieces::new(frame, piece)), parsed, "pieces of {piece}");
    }
    a_usual_frame_is_read_alike(&SliceReader(frame));
    a_usual_frame_is_read_alike(&Stripped { frame, tag: VlanTag(0x6064) });
    a_stripped_tag_is_a_tag(frame);
    any_link_layer_is_read_alike(frame);
}

fn lengths(frame: &[u8], packet: &RocePacket) {
    let bth: [u8; Bth::LEN] = SliceReader(frame).read(packet.bth_offset).expect("it was parsed");
    assert_eq!(packet.bth, Bth::from_bytes(bth));
    assert!(packet.wire_bytes <= MAX_WIRE_BYTES, "{packet:?}");

    let headers = packet.bth_offset - packet.network_offset + Bth::LEN + extended_len(packet);
    let around = if packet.is_first_fragment { headers } else { headers + tail_len(packet) };
    let link = packet.wire_bytes as usize - packet.payload_bytes as usize;
    assert!(link >= EtherType::HEADER_LEN + around, "payload beyond the IP packet: {packet:?}");

    let end = packet.bth_offset
        + Bth::LEN
        + extended_len(packet)
        + packet.payload_bytes as usize
        + tail_len(packet);
    let is_checkable = !packet.is_first_fragment && frame.len() >= end;
    assert_eq!(check_icrc(frame, packet) != IcrcCheck::NotCheckable, is_checkable, "{packet:?}");
}

fn extended_len(packet: &RocePacket) -> usize {
    packet.bth.opcode().extended_len()
}

fn tail_len(packet: &RocePacket) -> usize {
    packet.bth.pad_count() as usize + ICRC_LEN
}

fn extended_headers(frame: &[u8], packet: &RocePacket) {
    let headers = ExtendedHeaders::read(&SliceReader(frame), packet);
    assert_eq!(headers.aeth, packet.aeth());
    assert_eq!(headers.reth.map(|reth| reth.dma_len), packet.dma_len());
    assert_eq!(headers.deth.map(|deth| deth.source_qp), packet.source_qp());
    assert_eq!(headers, ExtendedHeaders::read(&Pieces::new(frame, 5), packet));
    if frame.len() >= packet.bth_offset + Bth::LEN + extended_len(packet) {
        assert!(!packet.lacks_headers(), "{packet:?}");
    }
}

fn records(frame: &[u8], packet: &RocePacket) {
    let reader = SliceReader(frame);
    let wide = WideKey::of(&reader, packet).expect("the addresses were passed").at_tap(3);
    assert_eq!(wide.dest_qp(), packet.bth.dest_qp());
    assert_eq!(wide.tag().map(RecordTag::tap), Some(3));
    account_twice(wide, packet);
    let narrow = NarrowKey::of(&reader, packet).map(|key| key.at_tap(3));
    if NarrowKey::fits(packet) {
        let narrow = narrow.expect("an IPv4 packet has a narrow key");
        assert_eq!(WideKey::from(narrow), wide);
        assert_eq!(NarrowKey::of_wide(&wide, packet), Some(narrow));
        assert!(narrow.is_same(&narrow) && wide.is_same(&wide));
        account_twice(narrow, packet);
    }

    let mut counters = TapCounters::default();
    counters.count(packet);
    assert_eq!(counters.packets(), 1);
    assert_eq!(counters.wire_bytes, u64::from(packet.wire_bytes));
    assert_eq!(counters.marking.as_flattened().iter().sum::<u64>(), 1);
    let mut sum = counters;
    sum.merge(&counters);
    assert_eq!(sum.packets(), 2);
}

fn account_twice<K: FlowKey>(key: K, packet: &RocePacket) {
    let mut slot = FlowSlot::new(key);
    let mut cold = FlowCold::default();
    let policy = MarkingPolicy::DEFAULT;
    for tick in 0..2 {
        let seen = Observation::of(packet, tick);
        account(&mut slot, &seen, &policy, &mut cold);
    }
    cold.book(slot.open_run(&cold), key.dest_qp(), &policy);
    let wire = 2 * u64::from(packet.wire_bytes);
    assert_eq!(slot.packets, 2);
    assert_eq!(slot.wire_bytes(), wire);
    let payload = 2 * u64::from(packet.payload_bytes);
    assert_eq!(Some(payload), wire.checked_sub(cold.header_bytes.into()), "{packet:?}");
}

/// A longer capture of the same packet can add headers that were cut off, and nothing else.
fn more_bytes_change_nothing_known(frame: &[u8], parsed: &Parsed) {
    let longer = [frame, &[0xa5; 64]].concat();
    let longer = parse_ethernet(&SliceReader(&longer));
    match (parsed, longer) {
        (Parsed::Malformed(reason), _) if reason.is_truncation() => {}
        (Parsed::Roce(known), Parsed::Roce(mut longer)) => {
            if known.lacks_headers() {
                longer.extended = known.extended;
            }
            assert_eq!(longer, *known);
        }
        (known, longer) => assert_eq!(longer, *known),
    }
}

/// The short way leaves a frame alone or finds what the long one finds.
fn a_usual_frame_is_read_alike(frame: &impl PacketRead) {
    let Some(usual) = parse_usual(frame) else { return };
    assert_eq!(usual, parse_ethernet(frame));
    if let Parsed::Roce(packet) = usual {
        assert!(NarrowKey::fits(&packet) && !packet.lacks_headers(), "{packet:?}");
    }
}

/// A tag that the kernel took out means what it meant in the frame.
fn a_stripped_tag_is_a_tag(frame: &[u8]) {
    let Some((addresses, rest)) = frame.split_at_checked(ADDRESSES_LEN) else { return };
    let tag = VlanTag(0x6064);
    let [t0, t1] = tag.0.to_be_bytes();
    let tagged = [addresses, &[0x81, 0x00, t0, t1], rest].concat();
    let tagged = parse_ethernet(&SliceReader(&tagged));
    match (parse_ethernet(&Stripped { frame, tag }), tagged) {
        // Three tags are refused before the third is read, whether or not it is all there.
        (Parsed::Malformed(_), Parsed::Malformed(_)) => {}
        (stripped, tagged) => assert_eq!(moved(stripped, VlanTag::LEN), tagged),
    }
}

/// Without an Ethernet header the same packet gives the same fields.
fn any_link_layer_is_read_alike(packet: &[u8]) {
    for ether_type in [EtherType::IPV4, EtherType::IPV6, EtherType::ROCE_V1, EtherType::VLAN] {
        let bare = parse_network(&SliceReader(packet), ether_type, 0);
        let header = [&[0; ADDRESSES_LEN][..], &ether_type.0.to_be_bytes()].concat();
        let framed = parse_ethernet(&SliceReader(&[&header[..], packet].concat()));
        assert_eq!(moved(bare, EtherType::HEADER_LEN), framed);
    }
}

/// The same packet, `by` bytes further back in its frame.
fn moved(parsed: Parsed, by: usize) -> Parsed {
    match parsed {
        Parsed::Roce(packet) => Parsed::Roce(RocePacket {
            network_offset: packet.network_offset + by,
            bth_offset: packet.bth_offset + by,
            ..packet
        }),
        other => other,
    }
}

/// A frame in pieces of one size, as a driver's fragments are.
struct Pieces<'a> {
    pieces: Vec<&'a [u8]>,
    size: usize,
}

impl<'a> Pieces<'a> {
    fn new(frame: &'a [u8], size: usize) -> Self {
        Self { pieces: frame.chunks(size).collect(), size }
    }
}

impl PacketRead for Pieces<'_> {
    fn read<const N: usize>(&self, offset: usize) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        for (at, byte) in (offset..offset.checked_add(N)?).zip(&mut bytes) {
            *byte = *self.pieces.get(at / self.size)?.get(at % self.size)?;
        }
        Some(bytes)
    }
}

/// A frame whose outer tag is in the packet's metadata.
struct Stripped<'a> {
    frame: &'a [u8],
    tag: VlanTag,
}

impl PacketRead for Stripped<'_> {
    fn read<const N: usize>(&self, offset: usize) -> Option<[u8; N]> {
        SliceReader(self.frame).read(offset)
    }

    fn stripped_vlan(&self) -> VlanTags {
        let mut tags = VlanTags::UNTAGGED;
        tags.push(self.tag);
        tags
    }
}
