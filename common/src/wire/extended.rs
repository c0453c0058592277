//! All extended headers of one packet, for tools that show them.

use super::{
    Aeth, AtomicAckEth, AtomicEth, Bth, Deth, Ieth, ImmDt, Opcode, PacketRead, Reth, RocePacket,
    XrcEth,
};

/// The extended headers that the opcode has and that were captured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExtendedHeaders {
    /// XRC requests.
    pub xrc_eth: Option<XrcEth>,
    /// UD.
    pub deth: Option<Deth>,
    /// WRITE FIRST and ONLY, READ request, FLUSH, ATOMIC WRITE.
    pub reth: Option<Reth>,
    /// ACK and READ responses.
    pub aeth: Option<Aeth>,
    /// Compare-and-swap and fetch-and-add.
    pub atomic_eth: Option<AtomicEth>,
    /// Answer to an atomic.
    pub atomic_ack_eth: Option<AtomicAckEth>,
    /// SEND and WRITE with immediate.
    pub imm_dt: Option<ImmDt>,
    /// SEND with invalidate.
    pub ieth: Option<Ieth>,
}

impl ExtendedHeaders {
    /// Reads the extended headers of `packet`, which was parsed from `frame`.
    pub fn read<R: PacketRead>(frame: &R, packet: &RocePacket) -> Self {
        let opcode: Opcode = packet.bth.opcode();
        let mut next = packet.bth_offset + Bth::LEN;
        let mut headers = Self::default();
        if opcode.has_xrc_eth() {
            headers.xrc_eth = take(frame, &mut next).map(XrcEth::from_bytes);
        }
        if opcode.has_deth() {
            headers.deth = take(frame, &mut next).map(Deth::from_bytes);
        }
        if opcode.has_reth() {
            next = packet.bth_offset + Bth::LEN + opcode.reth_offset();
            headers.reth = take(frame, &mut next).map(Reth::from_bytes);
        }
        if opcode.has_aeth() {
            headers.aeth = take(frame, &mut next).map(Aeth::from_bytes);
        }
        if opcode.has_atomic_eth() {
            headers.atomic_eth = take(frame, &mut next).map(AtomicEth::from_bytes);
        }
        if opcode.has_atomic_ack_eth() {
            headers.atomic_ack_eth = take(frame, &mut next).map(AtomicAckEth::from_bytes);
        }
        if opcode.has_imm_dt() {
            headers.imm_dt = take(frame, &mut next).map(ImmDt::from_bytes);
        }
        if opcode.has_ieth() {
            headers.ieth = take(frame, &mut next).map(Ieth::from_bytes);
        }
        headers
    }
}

/// The header at `offset`, which moves on also when the header was cut off: a shorter one that
/// follows is not there either.
fn take<R: PacketRead, const N: usize>(frame: &R, offset: &mut usize) -> Option<[u8; N]> {
    let start = *offset;
    *offset += N;
    frame.read(start)
}
