//! Probes on what the kernel does to queue pairs: their states, their errors, their end.
//!
//! An object of its own: a kernel that refuses it costs nothing of the packet path. The probes change
//! nothing, and they know the kernel's structs only by the offsets that user space found for them.
#![no_std]
#![no_main]
#![expect(clippy::needless_pass_by_value, reason = "the macros hand a context over by value")]

mod call;
mod maps;
mod process;
mod qp;
mod tell;

use aya_ebpf::macros::kprobe;
use aya_ebpf::programs::ProbeContext;
use call::{Call, Unreadable, read};
use qp::{IB_QPS_ERR, Modification, Qp, is_failure, leaves_err};
use roce_common::qp_watch::{QpKnown, QpRecordKind};
use tell::{count_unreadable, tell};

/// `ib_modify_qp_with_udata(ib_qp *, ib_qp_attr *, int attr_mask, ...)` and `ib_modify_qp`, which begins so.
#[kprobe]
fn qp_modify(context: ProbeContext) -> u32 {
    watch(&context, modify)
}

/// `ib_destroy_qp_user(ib_qp *, ...)`
#[kprobe]
fn qp_destroy(context: ProbeContext) -> u32 {
    watch(&context, destroy)
}

/// `__ib_qp_event_handler(ib_event *, ...)` or `ib_uverbs_qp_event_handler`, which begins so.
#[kprobe]
fn qp_async_event(context: ProbeContext) -> u32 {
    watch(&context, async_event)
}

/// `rxe_qp_error(rxe_qp *)`
#[kprobe]
fn qp_rxe_error(context: ProbeContext) -> u32 {
    watch(&context, rxe_error)
}

#[inline(always)]
fn watch(context: &ProbeContext, probe: fn(&Call<'_>) -> Result<(), Unreadable>) -> u32 {
    if let Some(call) = Call::of(context)
        && probe(&call).is_err()
    {
        count_unreadable();
    }
    0
}

#[inline(always)]
fn modify(call: &Call<'_>) -> Result<(), Unreadable> {
    let Some(change) = Modification::read(call)? else { return Ok(()) };
    let qp = Qp::at(call, call.argument(0)?)?;
    let before = qp.known();
    qp.remember(change.applied_to(before));
    if change.state == IB_QPS_ERR && before.state != IB_QPS_ERR {
        tell(call, QpRecordKind::ModifiedToErr, 0, &qp, before, true);
    }
    Ok(())
}

#[inline(always)]
fn destroy(call: &Call<'_>) -> Result<(), Unreadable> {
    let address = call.argument(0)?;
    // A handle of a shared XRC queue pair goes without the queue pair itself.
    let real: u64 = read(address, call.layout.qp_real)?;
    if real != address {
        return Ok(());
    }
    let qp = Qp::at(call, address)?;
    tell(call, QpRecordKind::Destroyed, 0, &qp, qp.known(), true);
    qp.forget();
    Ok(())
}

#[inline(always)]
fn async_event(call: &Call<'_>) -> Result<(), Unreadable> {
    let event = call.argument(0)?;
    let code: u32 = read(event, call.layout.event_type)?;
    if !is_failure(code) {
        return Ok(());
    }
    let qp = Qp::at(call, read(event, call.layout.event_qp)?)?;
    let before = qp.known();
    if leaves_err(code) {
        qp.remember(QpKnown { state: IB_QPS_ERR, ..before });
    }
    tell(call, QpRecordKind::AsyncEvent, code, &qp, before, false);
    Ok(())
}

#[inline(always)]
fn rxe_error(call: &Call<'_>) -> Result<(), Unreadable> {
    let qp = Qp::at(call, call.argument(0)? + u64::from(call.layout.rxe_qp))?;
    let before = qp.known();
    // The driver comes here also when somebody asks for ERR, and more than once.
    if before.state != IB_QPS_ERR {
        qp.remember(QpKnown { state: IB_QPS_ERR, ..before });
        tell(call, QpRecordKind::DriverError, 0, &qp, before, false);
    }
    Ok(())
}

// The verifier refuses a program that can reach this.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

/// Reading the kernel's memory is for GPL-compatible programs only.
#[unsafe(link_section = "license")]
#[unsafe(no_mangle)]
static LICENSE: [u8; 13] = *b"Dual MIT/GPL\0";
