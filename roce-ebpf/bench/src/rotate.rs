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

/// TTL, protocol and checksum of the IPv4 header, then the source address.
const SOURCE: usize = 22;
/// The first eight bytes of the BTH, the last four of which are the destination QP.
const DEST_QP: usize = 42;
/// The last four bytes of the BTH.
const PSN: usize = 50;
/// QP of the first flow: not 0 or 1, which are for management.
const FIRST_QP: u32 = 0x100;

/// Makes the frame the next packet.
///
/// Eight bytes are written at a time where the parser reads eight: a load that finds half of its bytes
/// in a store not yet done waits for it, which no frame from a network card makes it do.
#[inline(always)]
pub(crate) fn next(frame: &Frame) {
    let Some(rotation) = ROTATION.get_ptr_mut(0) else { return };
    // SAFETY: one benchmark at a time runs on one CPU.
    let rotation = unsafe { &mut *rotation };
    let (Some(source), Some(dest_qp), Some(psn)) =
        (frame.place::<8>(SOURCE), frame.place::<8>(DEST_QP), frame.place::<4>(PSN))
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
        write_last_word(source, 0x0a00_0000 | flow);
        write_last_word(dest_qp, FIRST_QP + flow);
        psn.write_unaligned(rotation.psn.to_be_bytes());
    }
}

/// # Safety
///
/// `place` is eight bytes of the frame.
#[inline(always)]
unsafe fn write_last_word(place: *mut [u8; 8], word: u32) {
    // SAFETY: the caller vouches for the place.
    unsafe {
        let before = u64::from_le_bytes(place.read_unaligned()) as u32 as u64;
        let after = before | (word.swap_bytes() as u64) << 32;
        place.write_unaligned(after.to_le_bytes());
    }
}

/// Goes on in the program under test; comes back only when there is none.
#[inline(always)]
pub(crate) fn go_on(context: &XdpContext) {
    // SAFETY: nothing here needs to be dropped.
    unsafe { TARGET.tail_call(context, 0) };
}
