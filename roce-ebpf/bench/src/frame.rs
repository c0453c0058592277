//! The bytes of the packet.

use aya_ebpf::programs::XdpContext;
use core::arch::asm;
use roce_common::wire::PacketRead;

/// A frame in one buffer.
pub(crate) struct Frame {
    data: usize,
    data_end: usize,
}

impl Frame {
    #[inline(always)]
    pub(crate) fn of(context: &XdpContext) -> Self {
        Self { data: opaque(context.data()), data_end: opaque(context.data_end()) }
    }

    /// Where the `N` bytes at `offset` are; `None` when they are not all there.
    #[inline(always)]
    pub(crate) fn place<const N: usize>(&self, offset: usize) -> Option<*mut [u8; N]> {
        let start = self.data + offset;
        (start + N <= self.data_end).then_some(start as *mut [u8; N])
    }
}

impl PacketRead for Frame {
    #[inline(always)]
    fn read<const N: usize>(&self, offset: usize) -> Option<[u8; N]> {
        // SAFETY: all N bytes lie in the frame.
        self.place(offset).map(|place| unsafe { place.read_unaligned() })
    }
}

/// `value`, which the compiler may neither look into nor leave out.
#[inline(always)]
pub(crate) fn opaque(value: usize) -> usize {
    let hidden;
    // SAFETY: moves a register to itself.
    unsafe {
        asm!("{0} = {0}", inout(reg) value => hidden, options(nomem, nostack, preserves_flags));
    }
    hidden
}
