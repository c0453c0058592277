//! From one frame to counters.
//!
//! The usual packet is done in the program itself: IPv4, all headers in the first buffer, its slot
//! free to take. Everything else goes on in a function that has its own stack and parses again:
//! `rest_*` for packets of the wide table and for the fallback, `scattered_*` for frames whose headers
//! lie in several buffers.

use crate::frame::{GatheredFrame, TcFrame, XdpFrame};
use crate::settings::XDP_LOAD_BYTES;
use crate::store::{self, Missed};
use crate::tap::{Direction, Tap};
use aya_ebpf::bindings::{__sk_buff, xdp_md};
use aya_ebpf::helpers::generated::bpf_jiffies64;
use aya_ebpf::programs::{TcContext, XdpContext};
use roce_common::flow::{NarrowKey, Observation};
use roce_common::wire::{PacketRead, Parsed, RocePacket, parse_ethernet};

/// What the program itself leaves to do.
#[derive(Clone, Copy, PartialEq)]
#[repr(u32)]
enum Todo {
    Nothing,
    /// The record is in the wide table.
    WideTable,
    /// The table is full.
    SpillFull,
    /// The slot is held for too long.
    SpillBusy,
    /// The headers are not all in the first buffer.
    Gather,
}

#[inline(always)]
pub(crate) fn observe_xdp(context: &XdpContext) {
    let can_gather = XDP_LOAD_BYTES.load() != 0;
    let interface = || xdp_interface(context);
    match usual(&XdpFrame(context), interface, Direction::Ingress, can_gather) {
        Todo::Nothing => {}
        Todo::Gather => scattered_xdp(context.ctx),
        todo => rest_xdp(context.ctx, todo),
    }
}

#[inline(always)]
pub(crate) fn observe_tc(context: &TcContext, direction: Direction) {
    match usual(&TcFrame(context), || tc_interface(context), direction, true) {
        Todo::Nothing => {}
        Todo::Gather => scattered_tc(context.skb.skb, direction),
        todo => rest_tc(context.skb.skb, direction, todo),
    }
}

#[inline(always)]
fn usual<R: PacketRead>(
    frame: &R,
    interface: impl FnOnce() -> u32,
    direction: Direction,
    can_gather: bool,
) -> Todo {
    match parse_ethernet(frame) {
        Parsed::NotRoce => Todo::Nothing,
        Parsed::Malformed(reason) => {
            if can_gather && reason.is_truncation() {
                return Todo::Gather;
            }
            if let Some(tap) = Tap::of(interface(), direction) {
                tap.counters.count_reason(reason);
            }
            Todo::Nothing
        }
        Parsed::Roce(packet) => {
            if can_gather && packet.lacks_headers() {
                return Todo::Gather;
            }
            let Some(tap) = Tap::of(interface(), direction) else { return Todo::Nothing };
            tap.counters.count(&packet);
            if !NarrowKey::fits(&packet) {
                return Todo::WideTable;
            }
            match store::count_narrow(frame, &packet, tap.id, &observation(&packet)) {
                None => Todo::Nothing,
                Some(Missed::TableFull) => Todo::SpillFull,
                Some(Missed::SlotBusy) => Todo::SpillBusy,
            }
        }
    }
}

#[inline(never)]
fn rest_xdp(context: *mut xdp_md, todo: Todo) {
    let context = XdpContext::new(context);
    rest(&XdpFrame(&context), xdp_interface(&context), Direction::Ingress, todo);
}

#[inline(never)]
fn rest_tc(skb: *mut __sk_buff, direction: Direction, todo: Todo) {
    let context = TcContext::new(skb);
    rest(&TcFrame(&context), tc_interface(&context), direction, todo);
}

#[inline(always)]
fn rest<R: PacketRead>(frame: &R, interface: u32, direction: Direction, todo: Todo) {
    let Parsed::Roce(packet) = parse_ethernet(frame) else { return };
    let Some(tap) = Tap::of(interface, direction) else { return };
    let missed = match todo {
        Todo::WideTable => store::count_wide(frame, &packet, tap.id, &observation(&packet)),
        Todo::SpillBusy => Some(Missed::SlotBusy),
        _ => Some(Missed::TableFull),
    };
    if let Some(missed) = missed {
        store::spill(frame, &packet, tap, missed);
    }
}

#[inline(never)]
fn scattered_xdp(context: *mut xdp_md) {
    let context = XdpContext::new(context);
    if let Some(frame) = GatheredFrame::from_xdp(&context) {
        scattered(&frame, xdp_interface(&context), Direction::Ingress);
    }
}

#[inline(never)]
fn scattered_tc(skb: *mut __sk_buff, direction: Direction) {
    let context = TcContext::new(skb);
    if let Some(frame) = GatheredFrame::from_tc(&context) {
        scattered(&frame, tc_interface(&context), direction);
    }
}

#[inline(always)]
fn scattered(frame: &GatheredFrame, interface: u32, direction: Direction) {
    let Some(tap) = Tap::of(interface, direction) else { return };
    match parse_ethernet(frame) {
        Parsed::NotRoce => {}
        Parsed::Malformed(reason) => tap.counters.count_reason(reason),
        Parsed::Roce(packet) => {
            tap.counters.count(&packet);
            let seen = observation(&packet);
            let missed = if NarrowKey::fits(&packet) {
                store::count_narrow(frame, &packet, tap.id, &seen)
            } else {
                store::count_wide(frame, &packet, tap.id, &seen)
            };
            if let Some(missed) = missed {
                store::spill(frame, &packet, tap, missed);
            }
        }
    }
}

#[inline(always)]
fn observation(packet: &RocePacket) -> Observation {
    /// A tick is 256 jiffies: a quarter of a second to two and a half.
    const TICK_SHIFT: u32 = 8;
    // SAFETY: the helper takes no arguments and always succeeds.
    Observation::of(packet, (unsafe { bpf_jiffies64() } >> TICK_SHIFT) as u8)
}

#[inline(always)]
fn xdp_interface(context: &XdpContext) -> u32 {
    // SAFETY: the context of a running program is valid, and the verifier checks each field.
    unsafe { (*context.ctx).ingress_ifindex }
}

#[inline(always)]
fn tc_interface(context: &TcContext) -> u32 {
    // SAFETY: the context of a running program is valid, and the verifier checks each field.
    unsafe { (*context.skb.skb).ifindex }
}
