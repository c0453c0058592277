//! Values that the compiler may not reason about.

use core::arch::asm;

/// `value`, of which the compiler knows nothing afterwards. Costs one move: without any instruction the line table would be refused.
#[inline(always)]
pub(crate) fn opaque(value: usize) -> usize {
    let hidden;
    // SAFETY: moves a register to itself.
    unsafe {
        asm!("{0} = {0}", inout(reg) value => hidden, options(pure, nomem, nostack, preserves_flags));
    }
    hidden
}
