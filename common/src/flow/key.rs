//! Identity of a flow record.

use super::RecordPlace;
use crate::wire::{
    AddressFamily, Addresses, Opcode, OpcodeKind, PacketRead, RocePacket, RoceVersion, Transport,
};

/// Requests and answers that go to one QP have PSNs of different sequences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PsnSpace {
    /// The sender's own requests.
    Request,
    /// READ responses and atomic acknowledges, with the PSNs of the requests that went the other way: of
    /// one READ, they come without a gap.
    Response,
    /// ACKs and NAKs, with such PSNs, too: each answers all requests up to its own.
    Acknowledge,
}

/// Transport and PSN space in four bits; never 0, so that no tag is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
enum RecordKind {
    Rc = 1,
    Uc = 2,
    Ud = 3,
    Cnp = 4,
    Xrc = 5,
    Other = 6,
    RcResponse = 7,
    XrcResponse = 8,
    RcAcknowledge = 9,
    XrcAcknowledge = 10,
}

/// The byte beside the QP number in a key: what the record is of.
///
/// ```text
/// 7 6 5 4 | 3 2 1 0
/// tap     | transport and PSN space
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RecordTag(u8);

/// Key of a record in the IPv4 table. Addresses are in network order.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NarrowKey {
    /// Sender.
    pub source: u32,
    /// Receiver.
    pub destination: u32,
    /// Destination QP with the [`RecordTag`] in the upper byte.
    pub tagged_qp: u32,
}

/// Key of a record in the table for IPv6, UD and `RoCEv1`. IPv4 stands as a mapped address.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WideKey {
    /// Sender, network order.
    pub source: [u32; 4],
    /// Receiver, network order.
    pub destination: [u32; 4],
    /// Destination QP with the [`RecordTag`] in the upper byte.
    pub tagged_qp: u32,
    /// Source QP of UD, else 0; bit 31 is set for `RoCEv1`.
    pub source_qp: u32,
    /// Zero.
    pub reserved: u32,
}

/// Operations that the flow table needs of both kinds of key.
pub trait FlowKey: Copy + PartialEq {
    /// Word that says whether a slot is taken: see the constants.
    fn tagged_qp(&self) -> u32;

    /// Marks a slot that was never used: a search ends here.
    const EMPTY: u32 = 0;
    /// Marks a slot whose record was removed: a search goes on.
    const REMOVED: u32 = 1;

    /// Tag of a taken slot; `None` for an empty or removed one.
    #[inline(always)]
    fn tag(&self) -> Option<RecordTag> {
        let tag = (self.tagged_qp() >> 24) as u8;
        if tag == 0 { None } else { Some(RecordTag(tag)) }
    }

    /// Key of a slot that holds no record: [`Self::EMPTY`] or [`Self::REMOVED`].
    fn vacant(tagged_qp: u32) -> Self;

    /// Equality without a branch for each word: fewer mispredictions, and fewer paths to verify.
    fn is_same(&self, other: &Self) -> bool;

    /// The same flow at `tap`, when `self` is at tap 0.
    #[must_use]
    fn at_tap(self, tap: u8) -> Self;

    /// Slot `index` of the table for such keys.
    fn place(index: u32) -> RecordPlace;

    /// Destination QP.
    #[inline(always)]
    fn dest_qp(&self) -> u32 {
        self.tagged_qp() & 0x00ff_ffff
    }
}

impl FlowKey for NarrowKey {
    fn vacant(tagged_qp: u32) -> Self {
        Self { source: 0, destination: 0, tagged_qp }
    }

    #[inline(always)]
    fn is_same(&self, other: &Self) -> bool {
        self.addresses() == other.addresses() && self.tagged_qp == other.tagged_qp
    }

    #[inline(always)]
    fn at_tap(self, tap: u8) -> Self {
        Self { tagged_qp: self.tagged_qp | (tap as u32) << 28, ..self }
    }

    #[inline(always)]
    fn place(index: u32) -> RecordPlace {
        RecordPlace::narrow(index)
    }

    #[inline(always)]
    fn tagged_qp(&self) -> u32 {
        self.tagged_qp
    }
}

impl FlowKey for WideKey {
    fn vacant(tagged_qp: u32) -> Self {
        Self { source: [0; 4], destination: [0; 4], tagged_qp, source_qp: 0, reserved: 0 }
    }

    #[inline(always)]
    fn is_same(&self, other: &Self) -> bool {
        let [s0, s1, s2, s3] = self.source;
        let [t0, t1, t2, t3] = other.source;
        let [d0, d1, d2, d3] = self.destination;
        let [e0, e1, e2, e3] = other.destination;
        let source = (s0 ^ t0) | (s1 ^ t1) | (s2 ^ t2) | (s3 ^ t3);
        let destination = (d0 ^ e0) | (d1 ^ e1) | (d2 ^ e2) | (d3 ^ e3);
        let qps = (self.tagged_qp ^ other.tagged_qp) | (self.source_qp ^ other.source_qp);
        source | destination | qps == 0
    }

    #[inline(always)]
    fn at_tap(self, tap: u8) -> Self {
        Self { tagged_qp: self.tagged_qp | (tap as u32) << 28, ..self }
    }

    #[inline(always)]
    fn place(index: u32) -> RecordPlace {
        RecordPlace::wide(index)
    }

    #[inline(always)]
    fn tagged_qp(&self) -> u32 {
        self.tagged_qp
    }
}

impl RecordTag {
    /// Tag of a packet seen at `tap`.
    #[inline(always)]
    pub fn new(tap: u8, opcode: Opcode) -> Self {
        let at_tap_0 = match AT_TAP_0.get(opcode.0 as usize) {
            Some(tag) => *tag,
            None => RecordKind::Other as u8,
        };
        Self(tap << 4 | at_tap_0)
    }

    const fn at_tap_0(opcode: Opcode) -> u8 {
        let is_acknowledge = matches!(opcode.classify(), OpcodeKind::Acknowledge);
        let is_response = matches!(opcode.classify(), OpcodeKind::Response);
        let kind = match opcode.transport() {
            Transport::Rc if is_acknowledge => RecordKind::RcAcknowledge,
            Transport::Rc if is_response => RecordKind::RcResponse,
            Transport::Rc => RecordKind::Rc,
            Transport::Uc => RecordKind::Uc,
            Transport::Ud => RecordKind::Ud,
            Transport::Cnp => RecordKind::Cnp,
            Transport::Xrc if is_acknowledge => RecordKind::XrcAcknowledge,
            Transport::Xrc if is_response => RecordKind::XrcResponse,
            Transport::Xrc => RecordKind::Xrc,
            Transport::Rd | Transport::Manufacturer => RecordKind::Other,
        };
        kind as u8
    }

    /// Kinds of records that belong to a connection.
    pub const CONNECTED: [u8; 6] = [
        RecordKind::Rc as u8,
        RecordKind::RcResponse as u8,
        RecordKind::RcAcknowledge as u8,
        RecordKind::Xrc as u8,
        RecordKind::XrcResponse as u8,
        RecordKind::XrcAcknowledge as u8,
    ];

    /// The byte of the tag of kind number `kind` of [`Self::CONNECTED`] at a tap.
    #[inline(always)]
    pub fn connected(kind: u32, tap: u32) -> u32 {
        let kind = match Self::CONNECTED.get(kind as usize) {
            Some(kind) => *kind as u32,
            None => RecordKind::Other as u32,
        };
        tap << 4 | kind
    }

    /// The tag in `tagged_qp`, if that is the word of a taken slot.
    pub const fn from_tagged_qp(tagged_qp: u32) -> Option<Self> {
        match (tagged_qp >> 24) as u8 {
            0 => None,
            tag => Some(Self(tag)),
        }
    }

    /// The tap.
    pub const fn tap(self) -> u8 {
        self.0 >> 4
    }

    /// The PSN space.
    #[inline(always)]
    pub const fn space(self) -> PsnSpace {
        match self.kind() {
            7 | 8 => PsnSpace::Response,
            9 | 10 => PsnSpace::Acknowledge,
            _ => PsnSpace::Request,
        }
    }

    /// Whether the PSNs of its packets come in an order that tells what is missing.
    pub const fn has_psn_order(self) -> bool {
        !matches!(self.space(), PsnSpace::Acknowledge)
            && matches!(self.transport(), Transport::Rc | Transport::Uc | Transport::Xrc)
    }

    /// The transport; opcodes that no standard defines are [`Transport::Manufacturer`].
    pub const fn transport(self) -> Transport {
        match self.kind() {
            1 | 7 | 9 => Transport::Rc,
            2 => Transport::Uc,
            3 => Transport::Ud,
            4 => Transport::Cnp,
            5 | 8 | 10 => Transport::Xrc,
            _ => Transport::Manufacturer,
        }
    }

    const fn kind(self) -> u8 {
        self.0 & 0x0f
    }

    #[inline(always)]
    const fn with_qp(self, dest_qp: u32) -> u32 {
        (self.0 as u32) << 24 | dest_qp
    }
}

/// Tag at tap 0 of every opcode byte: one load for each packet.
static AT_TAP_0: [u8; 256] = tags_at_tap_0();

#[expect(clippy::indexing_slicing, reason = "evaluated at compile time")]
const fn tags_at_tap_0() -> [u8; 256] {
    let mut tags = [0; 256];
    let mut opcode = 0;
    while opcode < 256 {
        tags[opcode] = RecordTag::at_tap_0(Opcode(opcode as u8));
        opcode += 1;
    }
    tags
}

impl NarrowKey {
    /// Both addresses in one word: one load and one comparison.
    #[inline(always)]
    pub(super) const fn addresses(&self) -> u64 {
        self.source as u64 | (self.destination as u64) << 32
    }

    /// Whether a packet's record is in the narrow table.
    #[inline(always)]
    pub fn fits(packet: &RocePacket) -> bool {
        packet.family == AddressFamily::V4
            && !matches!(packet.bth.opcode().transport(), Transport::Ud)
    }

    /// Key of a packet whose wide key is known; `None` when it does not fit.
    #[inline(always)]
    pub fn of_wide(key: &WideKey, packet: &RocePacket) -> Option<Self> {
        let [_, _, _, source] = key.source;
        let [_, _, _, destination] = key.destination;
        let tagged_qp = key.tagged_qp;
        Self::fits(packet).then_some(Self { source, destination, tagged_qp })
    }

    /// Key at tap 0 of a packet of `frame`; `None` when it does not fit.
    #[inline(always)]
    pub fn of<R: PacketRead>(frame: &R, packet: &RocePacket) -> Option<Self> {
        if !Self::fits(packet) {
            return None;
        }
        let Some(Addresses::V4 { source, destination }) = packet.addresses(frame) else {
            return None;
        };
        Some(Self {
            source: u32::from_ne_bytes(source),
            destination: u32::from_ne_bytes(destination),
            tagged_qp: RecordTag::new(0, packet.bth.opcode()).with_qp(packet.bth.dest_qp()),
        })
    }
}

impl WideKey {
    /// Bit of [`Self::source_qp`] that marks `RoCEv1`.
    pub const ROCE_V1: u32 = 1 << 31;

    /// Key at tap 0 of any packet of `frame`.
    #[inline(always)]
    pub fn of<R: PacketRead>(frame: &R, packet: &RocePacket) -> Option<Self> {
        let opcode = packet.bth.opcode();
        let (source, destination) = match packet.addresses(frame)? {
            Addresses::V4 { source, destination } => (mapped(source), mapped(destination)),
            Addresses::V6 { source, destination } => (words(source), words(destination)),
        };
        let version = if packet.version == RoceVersion::V1 { Self::ROCE_V1 } else { 0 };
        Some(Self {
            source,
            destination,
            tagged_qp: RecordTag::new(0, opcode).with_qp(packet.bth.dest_qp()),
            source_qp: packet.source_qp().unwrap_or(0) | version,
            reserved: 0,
        })
    }
}

impl WideKey {
    /// Puts a key at tap 0 to `tap`, where it is.
    #[inline(always)]
    pub const fn move_to_tap(&mut self, tap: u8) {
        self.tagged_qp |= (tap as u32) << 28;
    }

    /// What the records of one connection's requests and their answers have in common: both ends in the
    /// direction of the requests, interface and transport. No record has such a key.
    #[must_use]
    #[inline(always)]
    pub fn connection(self) -> Self {
        let tag = RecordTag((self.tagged_qp >> 24) as u8);
        let is_request = matches!(tag.space(), PsnSpace::Request);
        let (source, destination) = if is_request {
            (self.source, self.destination)
        } else {
            (self.destination, self.source)
        };
        let is_xrc = matches!(tag.transport(), Transport::Xrc);
        let tagged_qp = (tag.tap() as u32 >> 1) << 1 | is_xrc as u32;
        Self {
            source,
            destination,
            tagged_qp,
            source_qp: self.source_qp & Self::ROCE_V1,
            reserved: 0,
        }
    }
}

impl From<NarrowKey> for WideKey {
    #[inline(always)]
    fn from(key: NarrowKey) -> Self {
        Self {
            source: mapped(key.source.to_ne_bytes()),
            destination: mapped(key.destination.to_ne_bytes()),
            tagged_qp: key.tagged_qp,
            source_qp: 0,
            reserved: 0,
        }
    }
}

/// ::ffff:a.b.c.d
#[inline(always)]
fn mapped(address: [u8; 4]) -> [u32; 4] {
    [0, 0, 0xffff_u32.to_be(), u32::from_ne_bytes(address)]
}

#[inline(always)]
fn words(address: [u8; 16]) -> [u32; 4] {
    let [a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3] = address;
    [
        u32::from_ne_bytes([a0, a1, a2, a3]),
        u32::from_ne_bytes([b0, b1, b2, b3]),
        u32::from_ne_bytes([c0, c1, c2, c3]),
        u32::from_ne_bytes([d0, d1, d2, d3]),
    ]
}

const _: () = assert!(size_of::<NarrowKey>() == 12);
const _: () = assert!(size_of::<WideKey>() == 44);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_never_zero_and_reads_back() {
        for tap in 0..16 {
            for code in 0..=255 {
                let tag = RecordTag::new(tap, Opcode(code));
                assert_ne!(tag.0, 0);
                assert_eq!(tag.tap(), tap);
                assert_eq!(tag.space() != PsnSpace::Request, Opcode(code).is_response());
                let is_acknowledge = Opcode(code).is_acknowledge();
                assert_eq!(tag.space() == PsnSpace::Acknowledge, is_acknowledge);
                assert!(!Opcode(code).is_defined() || tag.transport() == Opcode(code).transport());
            }
        }
        assert_eq!(RecordTag::new(3, Opcode(0xa6)).transport(), Transport::Xrc);
    }

    #[test]
    fn empty_and_removed_words_have_no_tag() {
        assert_eq!(RecordTag::from_tagged_qp(NarrowKey::EMPTY), None);
        assert_eq!(RecordTag::from_tagged_qp(NarrowKey::REMOVED), None);
    }
}
