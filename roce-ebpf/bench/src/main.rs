//! What the product's XDP program is compared with, and the wrapper that all of them run in.
//!
//! `cargo xtask bench` builds this object, puts one program after the other behind `bench_rotate`,
//! and subtracts `bench_empty` from what each takes. The product does not contain it.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]
#![expect(clippy::needless_pass_by_value, reason = "the macros hand a context over by value")]

mod floor;
mod frame;
mod rotate;

use aya_ebpf::bindings::xdp_action::XDP_PASS;
use aya_ebpf::macros::xdp;
use aya_ebpf::programs::XdpContext;
use frame::{Frame, opaque};
use roce_common::wire::{Parsed, parse_usual};

/// Makes each packet the next one of another flow and goes on in the program under test.
#[xdp]
fn bench_rotate(context: XdpContext) -> u32 {
    rotate::next(&Frame::of(&context));
    rotate::go_on(&context);
    XDP_PASS
}

/// Nothing: what the test loop, the wrapper and the tail call take.
#[xdp]
fn bench_empty(_context: XdpContext) -> u32 {
    XDP_PASS
}

/// The product's parser, and nothing done with what it finds.
#[xdp]
fn bench_parse(context: XdpContext) -> u32 {
    if let Some(Parsed::Roce(packet)) = parse_usual(&Frame::of(&context)) {
        let transport =
            packet.bth.dest_qp() ^ packet.bth.psn().get() ^ packet.bth.opcode().0 as u32;
        let network = packet.source_port as u32 ^ packet.traffic_class.0 as u32;
        opaque((transport ^ network ^ packet.wire_bytes ^ packet.payload_bytes) as usize);
    }
    XDP_PASS
}

/// The least a program can do for one flow: fixed offsets, one lookup in a hash map, two counters.
#[xdp]
fn bench_floor(context: XdpContext) -> u32 {
    floor::count(&Frame::of(&context), &floor::SHARED);
    XDP_PASS
}

/// The same with one set of counters for each CPU.
#[xdp]
fn bench_floor_percpu(context: XdpContext) -> u32 {
    floor::count(&Frame::of(&context), &floor::PER_CPU);
    XDP_PASS
}

// The verifier refuses a program that can reach this.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

/// As in the product.
#[unsafe(link_section = "license")]
#[unsafe(no_mangle)]
static LICENSE: [u8; 13] = *b"Dual MIT/GPL\0";
