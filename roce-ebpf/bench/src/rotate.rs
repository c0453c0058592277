//! Turns one frame into the packets of many flows.

use crate::frame::Frame;
use aya_ebpf::macros::map;
use aya_ebpf::maps::{Array, ProgramArray};
use aya_ebpf::programs::XdpContext;

/// Where the rotation stands. User space keeps one for each program under test.
#[repr(C)]
#[derive(Clone, Copy)]
struct Rotation {
    /// Number of flows.
    flows: u32,
    /// Distance to the next packet's flow: coprime to `flows`, so that all get their turn.
    step: u32,
    /// Flow of the last packet.
    flow: u32,
    /// Packets in this round over all flows.
    packet: u32,
    /// PSN of this round's packets: in order in each flow.
    psn: u32,
}

#[map]
static ROTATION: Array<Rotation> = Array::with_max_entries(1, 0);

/// The program under test.
#[map]
static TARGET: ProgramArray = ProgramArray::with_max_entries(1, 0);

/// Source and destination address of the IPv4 header.
const ADDRESSES: usize = 26;
/// The first eight bytes of the BTH, the last four of which are the destination QP.
const DEST_QP: usize = 42;
/// The last four bytes of the BTH.
const PSN: usize = 50;
/// QP of the first flow: not 0 or 1, which are for management.
const FIRST_QP: u32 = 0x100;

/// Makes the frame the next packet.
///
/// Eight bytes are written at a time where a program reads eight: a load that finds half of its bytes in
/// a store not yet done waits for it, which no frame from a network card makes it do.
#[inline(always)]
pub(crate) fn next(frame: &Frame) {
    let Some(rotation) = ROTATION.get_ptr_mut(0) else { return };
    // SAFETY: one benchmark at a time runs on one CPU.
    let rotation = unsafe { &mut *rotation };
    let (Some(addresses), Some(dest_qp), Some(psn)) =
        (frame.place::<8>(ADDRESSES), frame.place::<8>(DEST_QP), frame.place::<4>(PSN))
    else {
        return;
    };
    rotation.flow += rotation.step;
    if rotation.flow >= rotation.flows {
        rotation.flow -= rotation.flows;
    }
    rotation.packet += 1;
    if rotation.packet >= rotation.flows {
        rotation.packet = 0;
        rotation.psn = (rotation.psn + 1) & 0x00ff_ffff;
    }
    let flow = rotation.flow;
    // SAFETY: `place` has checked each of them.
    unsafe {
        let [_, _, _, _, destination @ ..] = addresses.read_unaligned();
        addresses.write_unaligned(eight_bytes(0x0a00_0000 | flow, u32::from_be_bytes(destination)));
        let [begin @ .., _, _, _, _] = dest_qp.read_unaligned();
        dest_qp.write_unaligned(eight_bytes(u32::from_be_bytes(begin), FIRST_QP + flow));
        psn.write_unaligned(rotation.psn.to_be_bytes());
    }
}

/// Two words in network order.
#[inline(always)]
fn eight_bytes(first: u32, second: u32) -> [u8; 8] {
    ((first as u64) << 32 | second as u64).to_be_bytes()
}

/// Goes on in the program under test; comes back only when there is none.
#[inline(always)]
pub(crate) fn go_on(context: &XdpContext) {
    // SAFETY: nothing here needs to be dropped.
    unsafe { TARGET.tail_call(context, 0) };
}
