//! Telling user space, so often and no oftener.

use crate::call::Call;
use crate::maps::{BUDGETS, LOST, RECORDS};
use crate::process;
use crate::qp::Qp;
use aya_ebpf::helpers::generated::{
    bpf_get_current_comm, bpf_ktime_get_ns, bpf_probe_read_kernel_str,
};
use core::ffi::c_void;
use roce_common::qp_watch::{
    COMM_BYTES, DEVICE_NAME_BYTES, LostRecords, QpKnown, QpRecord, QpRecordKind,
};

/// Records of one kind in one second. CPUs do not wait for each other to count, so it may be a few more.
const LIMIT: u64 = 2000;
const SECOND_NS: u64 = 1_000_000_000;

/// What was told of one kind in a second.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Budget {
    second: u64,
    told: u64,
}

/// Sends a record. `is_call` says that somebody called for it, so that the current process did.
#[inline(always)]
pub(crate) fn tell(
    call: &Call<'_>,
    kind: QpRecordKind,
    detail: u32,
    qp: &Qp,
    known: QpKnown,
    is_call: bool,
) {
    // SAFETY: the helper takes no arguments and always succeeds.
    let time_ns = unsafe { bpf_ktime_get_ns() };
    if !may_tell(kind, time_ns) {
        return count(|lost| lost.limited += 1);
    }
    let pid = if is_call { process::current(call) } else { 0 };
    let Some(mut entry) = RECORDS.reserve::<QpRecord>(0) else {
        return count(|lost| lost.ring_full += 1);
    };
    // Filled in place: the compiler would carry an array on the stack around byte by byte.
    let record = entry.as_mut_ptr();
    // SAFETY: the ring gave room for one record. Bytes behind the zero that ends a name are what was there
    // before, and user space does not look at them.
    let is_named = unsafe {
        (&raw mut (*record).time_ns).write(time_ns);
        (&raw mut (*record).kind).write(kind as u32);
        (&raw mut (*record).detail).write(detail);
        (&raw mut (*record).lqpn).write(qp.number());
        (&raw mut (*record).pid).write(pid);
        (&raw mut (*record).known).write(known);
        let comm = &raw mut (*record).comm;
        if pid == 0 || bpf_get_current_comm(comm.cast(), COMM_BYTES as u32) != 0 {
            comm.cast::<u8>().write(0);
        }
        let name = (qp.device() + u64::from(call.layout.device_name)) as *const c_void;
        let device = &raw mut (*record).device;
        bpf_probe_read_kernel_str(device.cast(), DEVICE_NAME_BYTES as u32, name) > 0
    };
    if is_named {
        entry.submit(0);
    } else {
        entry.discard(0);
        count_unreadable();
    }
}

/// Counts a call whose memory could not be read.
#[inline(always)]
pub(crate) fn count_unreadable() {
    count(|lost| lost.unreadable += 1);
}

/// Each kind has a budget of its own: a large job that ends in good order must not hide what fails meanwhile.
#[inline(always)]
fn may_tell(kind: QpRecordKind, time_ns: u64) -> bool {
    let Some(budget) = BUDGETS.get_ptr_mut(kind as u32) else { return false };
    let second = time_ns / SECOND_NS;
    // SAFETY: the verifier bounds the value. Other CPUs may write it at the same time: then a few more or
    // less are told in this second.
    unsafe {
        if (*budget).second != second {
            *budget = Budget { second, told: 0 };
        }
        (*budget).told += 1;
        (*budget).told <= LIMIT
    }
}

#[inline(always)]
fn count(add: impl Fn(&mut LostRecords)) {
    if let Some(lost) = LOST.get_ptr_mut(0) {
        // SAFETY: this CPU alone writes it; a probe that interrupts another may cost one count.
        add(unsafe { &mut *lost });
    }
}
