//! What matters of connection manager messages (IBTA 12.6): MADs to QP 1.

use super::{Bth, Deth, Opcode, PacketRead, RocePacket, Transport};

const QP_1: u32 = 1;
/// Length of the MAD header.
pub const MAD_LEN: usize = 24;
/// Where it has its class.
pub const CLASS_OFFSET: usize = 1;
/// Class of connection management.
pub const CM_CLASS: u8 = 0x07;
/// Where the MAD header has the attribute, which says what the message is.
pub const ATTRIBUTE_OFFSET: usize = 16;
/// Attribute of a REQ.
pub const REQUEST: u16 = 0x10;
/// Attribute of a REP.
pub const REPLY: u16 = 0x13;
/// Local QPN in a REQ, behind the MAD header; a byte of other things follows.
pub const REQUEST_QP_OFFSET: usize = 32;
/// Local QPN in a REP.
pub const REPLY_QP_OFFSET: usize = 12;

/// QP of the sender that a REQ or REP opens, so that it starts anew; 0 for any other packet.
#[inline(always)]
pub fn opened_qp<R: PacketRead>(frame: &R, packet: &RocePacket) -> u32 {
    if !may_open(packet.bth.opcode(), packet.bth.dest_qp()) {
        return 0;
    }
    let mad = packet.bth_offset + Bth::LEN + Deth::LEN;
    let (Some([class]), Some(attribute)) =
        (frame.read::<1>(mad + CLASS_OFFSET), frame.read::<2>(mad + ATTRIBUTE_OFFSET))
    else {
        return 0;
    };
    let offset = match u16::from_be_bytes(attribute) {
        REQUEST => REQUEST_QP_OFFSET,
        REPLY => REPLY_QP_OFFSET,
        _ => return 0,
    };
    match frame.read::<4>(mad + MAD_LEN + offset) {
        Some(word) if class == CM_CLASS => u32::from_be_bytes(word) >> 8,
        _ => 0,
    }
}

#[inline(always)]
const fn may_open(opcode: Opcode, dest_qp: u32) -> bool {
    matches!(opcode.transport(), Transport::Ud) && dest_qp == QP_1
}
