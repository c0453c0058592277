//! What the engine is told of a packet, and what it answers.

use crate::psn::Psn;
use crate::wire::{Opcode, OpcodeKind, Transport};

/// What a packet is to its PSN space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum SequenceKind {
    /// RC or XRC request that starts a message: First, Only, atomic.
    Start,
    /// RC or XRC request inside a message: Middle, Last.
    More,
    /// READ request.
    Read,
    /// READ response First.
    ResponseFirst,
    /// READ response Middle.
    ResponseMiddle,
    /// READ response Last.
    ResponseLast,
    /// READ response Only, or an atomic acknowledge.
    ResponseOnly,
    /// ACK, NAK or RNR NAK: its PSN may jump, for ACKs are coalesced.
    Acknowledge,
    /// UC First or Only.
    UnreliableStart,
    /// UC Middle or Last.
    UnreliableMore,
    /// Without an order: UD, CNP, unknown opcodes.
    Untracked,
}

/// What the engine needs of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SequencePacket {
    /// Its PSN.
    pub psn: Psn,
    /// PSNs it takes: 1, of a READ request see [`read_span`]; 0 when that is not known.
    pub span: u32,
    /// What it is.
    pub kind: SequenceKind,
    /// Payload bytes; of a READ request, the bytes that it asks for, 0 when they were not captured.
    pub payload: u32,
    /// Time in microseconds, wrapping; a coarse clock will do.
    pub time_us: u32,
    /// Microseconds since the packet before it in this record, saturating; 0 when not known.
    pub idle: u32,
    /// The tap delivered this very packet before.
    pub is_copy: bool,
}

/// What a packet turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum PacketClass {
    /// The one that was due, or the first of a sequence.
    InOrder,
    /// It came before others that were due.
    GapOpener,
    /// It filled a hole. Whether it was late by itself or sent again shows later, in the counters.
    Fill,
    /// It was late by itself.
    Reordered,
    /// The tap had seen its PSN before.
    Retransmission,
    /// A copy that the tap made.
    TapDuplicate,
    /// Without an order, or older than the first packet seen.
    NotTracked,
}

impl PacketClass {
    /// The class with this discriminant.
    #[inline(always)]
    pub(super) const fn of_code(code: u32) -> Self {
        match code {
            0 => Self::InOrder,
            1 => Self::GapOpener,
            2 => Self::Fill,
            3 => Self::Reordered,
            4 => Self::Retransmission,
            5 => Self::TapDuplicate,
            _ => Self::NotTracked,
        }
    }
}

/// What the usual packet needs to know of its [`SequenceKind`], as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SequenceTraits(u8);

impl SequenceTraits {
    const HAS_ORDER: u8 = 1 << 0;
    const OPENS_RESPONSE: u8 = 1 << 1;
    const IS_READ: u8 = 1 << 2;
    const IS_UNTRACKED: u8 = 1 << 3;

    /// Traits of packets with this opcode.
    #[inline(always)]
    pub fn of_opcode(opcode: Opcode) -> Self {
        match TRAITS.get(opcode.0 as usize) {
            Some(traits) => *traits,
            None => Self(Self::IS_UNTRACKED),
        }
    }

    const fn of_kind(kind: SequenceKind) -> Self {
        let order = if kind.has_order() { Self::HAS_ORDER } else { 0 };
        let opens = if kind.opens_response() { Self::OPENS_RESPONSE } else { 0 };
        let read = if matches!(kind, SequenceKind::Read) { Self::IS_READ } else { 0 };
        let untracked =
            if matches!(kind, SequenceKind::Untracked) { Self::IS_UNTRACKED } else { 0 };
        Self(order | opens | read | untracked)
    }

    /// [`SequenceKind::has_order`].
    #[inline(always)]
    pub const fn has_order(self) -> bool {
        self.0 & Self::HAS_ORDER != 0
    }

    /// Whether it is a READ request.
    #[inline(always)]
    pub const fn is_read(self) -> bool {
        self.0 & Self::IS_READ != 0
    }

    /// Whether its PSN says nothing at all.
    #[inline(always)]
    pub const fn is_untracked(self) -> bool {
        self.0 & Self::IS_UNTRACKED != 0
    }

    /// 1 when a READ response with the next PSN must follow, else 0.
    #[inline(always)]
    pub(super) const fn opens_response(self) -> u32 {
        (self.0 & Self::OPENS_RESPONSE) as u32 / Self::OPENS_RESPONSE as u32
    }
}

/// A table keeps the kernel path free of branches.
static KINDS: [SequenceKind; 256] = kinds_table();
static TRAITS: [SequenceTraits; 256] = traits_table();

impl SequenceKind {
    /// What packets with this opcode are.
    #[inline(always)]
    pub fn of_opcode(opcode: Opcode) -> Self {
        match KINDS.get(opcode.0 as usize) {
            Some(kind) => *kind,
            None => Self::Untracked,
        }
    }

    const fn classify(opcode: Opcode) -> Self {
        let is_unreliable = match opcode.transport() {
            Transport::Rc | Transport::Xrc => false,
            Transport::Uc => true,
            _ => return Self::Untracked,
        };
        if matches!(opcode.classify(), OpcodeKind::Unknown) {
            return Self::Untracked;
        }
        match opcode.0 & 0x1f {
            0x0c => Self::Read,
            0x0d => Self::ResponseFirst,
            0x0e => Self::ResponseMiddle,
            0x0f => Self::ResponseLast,
            0x10 | 0x12 => Self::ResponseOnly,
            0x11 => Self::Acknowledge,
            // First and Only of SEND and WRITE, atomics, FLUSH, ATOMIC WRITE.
            0x00 | 0x04..=0x06 | 0x0a | 0x0b | 0x13 | 0x14 | 0x17 | 0x1c | 0x1d => {
                if is_unreliable { Self::UnreliableStart } else { Self::Start }
            }
            _ if is_unreliable => Self::UnreliableMore,
            _ => Self::More,
        }
    }

    /// Whether its PSN has a place among others.
    #[inline(always)]
    pub const fn has_order(self) -> bool {
        !matches!(self, Self::Acknowledge | Self::Untracked)
    }

    #[inline(always)]
    pub(super) const fn starts_message(self) -> bool {
        matches!(self, Self::Start | Self::Read | Self::UnreliableStart | Self::ResponseFirst)
    }

    /// Whether it is the response to a READ or an atomic, whose PSN has a place among others.
    #[inline(always)]
    pub const fn is_response(self) -> bool {
        self.opens_response() || self.continues_response() || matches!(self, Self::ResponseOnly)
    }

    /// Whether a READ response with the next PSN must follow.
    #[inline(always)]
    pub(super) const fn opens_response(self) -> bool {
        matches!(self, Self::ResponseFirst | Self::ResponseMiddle)
    }

    /// Whether a READ response must be before it.
    #[inline(always)]
    pub(super) const fn continues_response(self) -> bool {
        matches!(self, Self::ResponseMiddle | Self::ResponseLast)
    }

    #[inline(always)]
    pub(super) const fn is_unreliable(self) -> bool {
        matches!(self, Self::UnreliableStart | Self::UnreliableMore)
    }
}

#[expect(clippy::indexing_slicing, reason = "evaluated at compile time")]
const fn traits_table() -> [SequenceTraits; 256] {
    let mut table = [SequenceTraits(0); 256];
    let mut opcode = 0;
    while opcode < 256 {
        table[opcode] = SequenceTraits::of_kind(SequenceKind::classify(Opcode(opcode as u8)));
        opcode += 1;
    }
    table
}

#[expect(clippy::indexing_slicing, reason = "evaluated at compile time")]
const fn kinds_table() -> [SequenceKind; 256] {
    let mut table = [SequenceKind::Untracked; 256];
    let mut opcode = 0;
    while opcode < 256 {
        table[opcode] = SequenceKind::classify(Opcode(opcode as u8));
        opcode += 1;
    }
    table
}

/// PSNs that a READ of `dma_len` bytes takes; 0 when the path MTU is needed and not known.
///
/// `largest_payload` is the largest payload seen between the two QPs: a READ no longer takes one PSN,
/// whatever the path MTU. Source: Linux `rxe_requester` (`update_wqe_psn`).
#[inline(always)]
pub const fn read_span(dma_len: u32, path_mtu: u32, largest_payload: u32) -> u32 {
    const SMALLEST_MTU: u32 = 256;
    if dma_len <= SMALLEST_MTU || dma_len <= largest_payload {
        1
    } else if path_mtu.is_power_of_two() {
        let packets = dma_len >> path_mtu.trailing_zeros();
        if dma_len & (path_mtu - 1) == 0 { packets } else { packets + 1 }
    } else {
        0
    }
}
