//! Time.

use aya_ebpf::helpers::generated::bpf_ktime_get_ns;

/// Microseconds since boot, wrapping.
#[inline(always)]
pub(crate) fn now_us() -> u32 {
    // SAFETY: the helper takes no arguments and always succeeds.
    (unsafe { bpf_ktime_get_ns() } / 1000) as u32
}
