//! XDP and TC programs that count RoCE packets. They never drop or change one.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]
#![expect(clippy::needless_pass_by_value, reason = "the macros hand a context over by value")]

mod atomic;
mod clock;
mod frame;
mod maps;
mod observe;
mod opaque;
mod record;
mod sequence;
mod settings;
mod store;
mod tap;

use aya_ebpf::bindings::{TC_ACT_UNSPEC, xdp_action::XDP_PASS};
use aya_ebpf::macros::{classifier, xdp};
use aya_ebpf::programs::{TcContext, XdpContext};
use observe::{observe_tc, observe_xdp};
use tap::Direction;

/// Ingress of interfaces whose frames may span several buffers (MTU above one page).
#[xdp(frags)]
fn roce_xdp_frags(context: XdpContext) -> u32 {
    observe_xdp(&context, true);
    XDP_PASS
}

/// Ingress on kernels before 5.18 and drivers without multi-buffer XDP.
#[xdp]
fn roce_xdp(context: XdpContext) -> u32 {
    observe_xdp(&context, false);
    XDP_PASS
}

/// Ingress where XDP is not to be had.
#[classifier]
fn roce_tc_ingress(context: TcContext) -> i32 {
    observe_tc(&context, Direction::Ingress);
    TC_ACT_UNSPEC
}

/// Egress, which XDP does not see.
#[classifier]
fn roce_tc_egress(context: TcContext) -> i32 {
    observe_tc(&context, Direction::Egress);
    TC_ACT_UNSPEC
}

// The verifier refuses a program that can reach this.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

/// Some helpers are for GPL-compatible programs only.
#[unsafe(link_section = "license")]
#[unsafe(no_mangle)]
static LICENSE: [u8; 13] = *b"Dual MIT/GPL\0";
