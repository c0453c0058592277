//! Atomic instructions of BPF (kernel 5.12), which the target's `core::sync::atomic` does not offer.

use core::arch::asm;

/// Exchanges the word at `target` for `value`, fully ordered, and gives what stood there.
///
/// # Safety
///
/// `target` points to an aligned word in a map value.
#[inline(always)]
pub(crate) unsafe fn exchange(target: *mut u32, value: u32) -> u32 {
    let before: u32;
    // SAFETY: the caller vouches for the word; the instruction touches nothing else.
    unsafe {
        asm!(
            "{value} = xchg32_32({target} + 0, {value})",
            value = inout(wreg) value => before,
            target = in(reg) target,
            options(nostack),
        );
    }
    before
}

/// Adds to the word at `target`, fully ordered, and gives what stood there.
///
/// # Safety
///
/// `target` points to an aligned word in a map value.
#[inline(always)]
pub(crate) unsafe fn fetch_add(target: *mut u32, value: u32) -> u32 {
    let before: u32;
    // SAFETY: the caller vouches for the word; the instruction touches nothing else.
    unsafe {
        asm!(
            "{value} = atomic_fetch_add((u32 *)({target} + 0), {value})",
            value = inout(wreg) value => before,
            target = in(reg) target,
            options(nostack),
        );
    }
    before
}

/// Adds to the word at `target`, without an order towards other memory.
///
/// # Safety
///
/// `target` points to an aligned word in a map value.
#[inline(always)]
pub(crate) unsafe fn add(target: *mut u64, value: u64) {
    // SAFETY: the caller vouches for the word; the instruction touches nothing else.
    unsafe {
        asm!(
            "lock *(u64 *)({target} + 0) += {value}",
            value = in(reg) value,
            target = in(reg) target,
            options(nostack),
        );
    }
}

/// Stores to the word at `target` after everything that was stored before it, where the processor
/// keeps stores in order.
///
/// # Safety
///
/// `target` points to an aligned word in a map value.
#[inline(always)]
pub(crate) unsafe fn store(target: *mut u32, value: u32) {
    // SAFETY: the caller vouches for the word. The compiler moves no memory access over an assembly
    // block that may touch memory, as it would over a volatile store.
    unsafe {
        asm!(
            "*(u32 *)({target} + 0) = {value}",
            value = in(wreg) value,
            target = in(reg) target,
            options(nostack),
        );
    }
}
