//! Who made a call.

use crate::call::{Call, read};
use aya_ebpf::helpers::bpf_get_current_pid_tgid;
use aya_ebpf::helpers::generated::bpf_get_current_task;

/// `PF_KTHREAD` of the kernel's task flags.
const PF_KTHREAD: u32 = 0x0020_0000;

/// The current process; 0 in a thread of the kernel. Only for functions that may sleep: interrupts have the
/// process that they interrupt.
#[inline(always)]
pub(crate) fn current(call: &Call<'_>) -> u32 {
    // SAFETY: the helper takes no arguments and always succeeds.
    let task = unsafe { bpf_get_current_task() };
    let flags: u32 = read(task, call.layout.task_flags).unwrap_or(PF_KTHREAD);
    if flags & PF_KTHREAD == 0 { (bpf_get_current_pid_tgid() >> 32) as u32 } else { 0 }
}
