//! Time.

use aya_ebpf::helpers::generated::bpf_ktime_get_ns;

/// Nanoseconds since boot, without the time that the machine slept.
#[inline(always)]
pub(crate) fn now_ns() -> u64 {
    // SAFETY: the helper takes no arguments and always succeeds.
    unsafe { bpf_ktime_get_ns() }
}

/// Microseconds since boot, wrapping.
#[inline(always)]
pub(crate) fn now_us() -> u32 {
    (now_ns() / 1000) as u32
}
