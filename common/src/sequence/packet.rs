//! What the engine is told of a packet, and what it answers.

use crate::psn::Psn;

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
    /// Payload bytes.
    pub payload: u32,
    /// Coarse time in milliseconds, wrapping.
    pub time_ms: u16,
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

impl SequenceKind {
    pub(super) const fn starts_message(self) -> bool {
        matches!(self, Self::Start | Self::Read | Self::UnreliableStart | Self::ResponseFirst)
    }

    pub(super) const fn is_response(self) -> bool {
        self.opens_response() || self.continues_response() || matches!(self, Self::ResponseOnly)
    }

    /// Whether a READ response with the next PSN must follow.
    pub(super) const fn opens_response(self) -> bool {
        matches!(self, Self::ResponseFirst | Self::ResponseMiddle)
    }

    /// Whether a READ response must be before it.
    pub(super) const fn continues_response(self) -> bool {
        matches!(self, Self::ResponseMiddle | Self::ResponseLast)
    }

    pub(super) const fn is_unreliable(self) -> bool {
        matches!(self, Self::UnreliableStart | Self::UnreliableMore)
    }
}

/// PSNs that a READ of `dma_len` bytes takes; 0 when the path MTU is needed and not known.
///
/// `largest_payload` is the largest payload seen between the two QPs: a READ no longer takes one PSN,
/// whatever the path MTU. Source: Linux `rxe_requester` (`update_wqe_psn`).
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
