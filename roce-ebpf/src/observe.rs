//! From one frame to counters.
//!
//! The usual packet is done in the program itself: IPv4, all headers in the first buffer, its slot
//! free to take, its PSN the one that is due. Everything else takes three steps in global functions, which have a stack of their
//! own and which the verifier checks once, for any arguments: `roce_defer_*` parse the frame again,
//! gathered from its buffers if need be, and put the packet down in [`DEFERRED`];
//! [`roce_count_deferred`] counts it; then [`roce_take_turn`] hands it to the PSN engine, or
//! [`roce_spill_deferred`] takes what finds no slot. None calls the other, for their stacks add up.

use crate::frame::{GatheredFrame, LinearFrame};
use crate::maps::DEFERRED;
use crate::record::{is_recording, roce_record_gathered, roce_record_linear};
use crate::sequence::{
    roce_restart_opened, roce_run_engine, roce_take_turn, roce_tell_peers, tell,
};
use crate::store::{self, Counted};
use crate::tap::{Direction, Tap};
use aya_ebpf::bindings::{__sk_buff, xdp_md};
use aya_ebpf::helpers::generated::{bpf_jiffies64, bpf_xdp_get_buff_len};
use aya_ebpf::programs::{TcContext, XdpContext};
use roce_common::flow::{FlowKey, NarrowKey, Observation, WideKey};
use roce_common::wire::{
    PacketRead, ParseReason, Parsed, RocePacket, opened_qp, parse_ethernet, parse_usual,
};

/// A packet that the program itself does not finish.
///
/// There are some hundred ways through the parser: tags, families, extension headers, opcodes. Each
/// leaves constants behind, and the verifier would follow everything after it once for each. What
/// comes out of a map is unknown to it, so it follows the rest once.
#[derive(Clone, Copy)]
pub(crate) struct Deferred {
    pub(crate) packet: RocePacket,
    /// Its key, at tap 0 until it is counted.
    pub(crate) key: WideKey,
    /// QP of its sender that it opens, or 0.
    pub(crate) opened_qp: u32,
}

/// What is left to do with a frame.
#[derive(Clone, Copy, PartialEq)]
#[repr(u32)]
enum Todo {
    Nothing,
    /// Count it everywhere.
    Count,
    /// Count it in its record; it is counted node-wide.
    CountRecord,
    /// It is the PSN engine's turn.
    Turn,
    /// It opens a QP.
    Restart,
    /// Put it in the fallback: the table is full.
    SpillFull,
    /// Put it in the fallback: its slot is held for too long.
    SpillBusy,
}

impl Todo {
    #[inline(always)]
    fn after(counted: Counted) -> Self {
        match counted {
            Counted::Done => Self::Nothing,
            Counted::Unusual => Self::CountRecord,
            Counted::Turn => Self::Turn,
            Counted::TableFull => Self::SpillFull,
            Counted::SlotBusy => Self::SpillBusy,
        }
    }
}

#[inline(always)]
pub(crate) fn observe_xdp(context: &XdpContext, can_gather: bool) {
    let frame = LinearFrame::of_xdp(context);
    let interface = || xdp_interface(context.ctx);
    let todo = usual(&frame, interface, Direction::Ingress as u32) as u32;
    if todo != Todo::Nothing as u32 {
        let todo = if can_gather {
            roce_defer_frags(context.ctx, todo)
        } else {
            roce_defer_linear(context.ctx, todo)
        };
        finish(todo, xdp_interface(context.ctx), Direction::Ingress, || {
            if can_gather {
                roce_record_gathered(xdp_frame_len(context.ctx));
            } else {
                roce_record_linear(context.ctx);
            }
        });
    }
}

#[inline(always)]
pub(crate) fn observe_tc(context: &TcContext, direction: Direction) {
    let frame = LinearFrame::of_tc(context);
    let interface = || tc_interface(context.skb.skb);
    let todo = usual(&frame, interface, direction as u32) as u32;
    if todo != Todo::Nothing as u32 {
        let todo = roce_defer_tc(context.skb.skb, todo, direction as u32);
        finish(todo, tc_interface(context.skb.skb), direction, || {
            roce_record_gathered(context.len());
        });
    }
}

/// In the program itself, though it takes a third of the stack: a call costs seven nanoseconds.
#[inline(always)]
fn usual<R: PacketRead>(frame: &R, interface: impl FnOnce() -> u32, direction: u32) -> Todo {
    let packet = match parse_usual(frame) {
        Some(Parsed::NotRoce) => return Todo::Nothing,
        Some(Parsed::Roce(packet)) => packet,
        None | Some(Parsed::Malformed(_)) => return Todo::Count,
    };
    // The key is read first: after that no packet pointer is alive for the verifier to follow.
    let Some(key) = NarrowKey::of(frame, &packet) else { return Todo::Count };
    let Some(tap) = Tap::of(interface(), direction) else { return Todo::Nothing };
    tap.counters.count(&packet);
    Todo::after(store::count_usual(&key.at_tap(tap.id), &observation(&packet)))
}

/// Parses a frame in one buffer and puts its packet down; what is left to do.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn roce_defer_linear(context: *mut xdp_md, todo: u32) -> u32 {
    let interface = xdp_interface(context);
    let found = parse_and_defer(&LinearFrame::of_xdp(&XdpContext::new(context)));
    settle(found, todo, interface, Direction::Ingress as u32)
}

/// The same of a frame that may be in several buffers. It is gathered without a look at its first one:
/// a second parser would be as much for the verifier again.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn roce_defer_frags(context: *mut xdp_md, todo: u32) -> u32 {
    let interface = xdp_interface(context);
    let Some(frame) = GatheredFrame::from_xdp(&XdpContext::new(context)) else {
        return Todo::Nothing as u32;
    };
    settle(parse_and_defer(&frame), todo, interface, Direction::Ingress as u32)
}

/// The same for TC, where often only the Ethernet header is in the linear part.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn roce_defer_tc(skb: *mut __sk_buff, todo: u32, direction: u32) -> u32 {
    let interface = tc_interface(skb);
    let Some(frame) = GatheredFrame::from_tc(&TcContext::new(skb)) else {
        return Todo::Nothing as u32;
    };
    settle(parse_and_defer(&frame), todo, interface, direction)
}

/// What a second look at a frame found.
#[derive(Clone, Copy)]
enum Found {
    NotRoce,
    Deferred,
    Malformed(ParseReason),
}

#[inline(always)]
fn parse_and_defer<R: PacketRead>(frame: &R) -> Found {
    match parse_ethernet(frame) {
        Parsed::Malformed(reason) => Found::Malformed(reason),
        Parsed::Roce(packet) if defer(frame, &packet) => Found::Deferred,
        Parsed::Roce(_) | Parsed::NotRoce => Found::NotRoce,
    }
}

#[inline(always)]
fn defer<R: PacketRead>(frame: &R, packet: &RocePacket) -> bool {
    let Some(place) = DEFERRED.get_ptr_mut(0) else { return false };
    let Some(key) = WideKey::of(frame, packet) else { return false };
    // SAFETY: the place is this CPU's own.
    let place = unsafe { &mut *place };
    place.packet = *packet;
    place.key = key;
    place.opened_qp = opened_qp(frame, packet);
    true
}

#[inline(always)]
fn settle(found: Found, todo: u32, interface: u32, direction: u32) -> u32 {
    match found {
        Found::NotRoce => Todo::Nothing as u32,
        Found::Deferred => todo,
        Found::Malformed(reason) => {
            if let Some(tap) = Tap::of(interface, direction) {
                tap.counters.count_reason(reason);
            }
            Todo::Nothing as u32
        }
    }
}

#[inline(always)]
fn finish(mut todo: u32, interface: u32, direction: Direction, record: impl FnOnce()) {
    if todo == Todo::Count as u32 || todo == Todo::CountRecord as u32 {
        todo = roce_count_deferred(todo, interface, direction as u32);
    }
    if todo == Todo::Turn as u32 {
        let mut tell = roce_take_turn();
        if tell == tell::RUN {
            tell = roce_run_engine();
        }
        if tell != 0 {
            roce_tell_peers(tell);
        }
        if is_recording() {
            record();
        }
    }
    if todo == Todo::Restart as u32 {
        roce_restart_opened();
    }
    if todo == Todo::SpillFull as u32 || todo == Todo::SpillBusy as u32 {
        roce_spill_deferred(todo, interface, direction as u32);
    }
}

/// Counts the deferred packet; what is left to do.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn roce_count_deferred(todo: u32, interface: u32, direction: u32) -> u32 {
    let Some(Deferred { packet, key, opened_qp }) = deferred() else {
        return Todo::Nothing as u32;
    };
    let opens = *opened_qp != 0;
    let Some(tap) = Tap::of(interface, direction) else { return Todo::Nothing as u32 };
    // Where it lies: a copy would take a tenth of the stack.
    key.move_to_tap(tap.id);
    if todo == Todo::Count as u32 {
        tap.counters.count(packet);
    }
    let seen = observation(packet);
    let counted = match NarrowKey::of_wide(key, packet) {
        Some(narrow) => store::count_narrow(&narrow, &seen),
        None => store::count_wide(key, &seen),
    };
    let todo = Todo::after(counted);
    let is_done = todo == Todo::Nothing;
    if is_done && opens { Todo::Restart as u32 } else { todo as u32 }
}

/// Counts the deferred packet in the fallback. Always 0.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn roce_spill_deferred(todo: u32, interface: u32, direction: u32) -> u32 {
    let Some(Deferred { packet, key, .. }) = deferred() else { return 0 };
    let Some(tap) = Tap::of(interface, direction) else { return 0 };
    store::spill(*key, packet, tap, todo == Todo::SpillFull as u32);
    0
}

#[inline(always)]
pub(crate) fn deferred<'a>() -> Option<&'a mut Deferred> {
    let place = DEFERRED.get_ptr_mut(0)?;
    // SAFETY: the place is this CPU's own and was written by this run of the program, which changes it
    // only while no other of its functions looks at it.
    Some(unsafe { &mut *place })
}

#[inline(always)]
fn observation(packet: &RocePacket) -> Observation {
    // SAFETY: the helper takes no arguments and always succeeds.
    Observation::of(packet, (unsafe { bpf_jiffies64() }) as u16)
}

#[inline(always)]
fn xdp_interface(context: *mut xdp_md) -> u32 {
    // SAFETY: the context of a running program is valid, and the verifier checks each field.
    unsafe { (*context).ingress_ifindex }
}

#[inline(always)]
fn xdp_frame_len(context: *mut xdp_md) -> u32 {
    // SAFETY: the context is that of the running program.
    unsafe { bpf_xdp_get_buff_len(context) as u32 }
}

#[inline(always)]
fn tc_interface(skb: *mut __sk_buff) -> u32 {
    // SAFETY: the context of a running program is valid, and the verifier checks each field.
    unsafe { (*skb).ifindex }
}
