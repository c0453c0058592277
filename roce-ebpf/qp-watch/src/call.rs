//! A call of a kernel function: its arguments, and the memory behind them.

use crate::maps::LAYOUT;
use aya_ebpf::EbpfContext;
use aya_ebpf::helpers::bpf_probe_read_kernel;
use aya_ebpf::programs::ProbeContext;
use core::marker::PhantomData;
use roce_common::qp_watch::KernelLayout;

/// The kernel's memory could not be read there.
pub(crate) struct Unreadable;

/// A call that a probe was run for.
pub(crate) struct Call<'a> {
    registers: u64,
    pub(crate) layout: &'static KernelLayout,
    of: PhantomData<&'a ProbeContext>,
}

impl<'a> Call<'a> {
    #[inline(always)]
    pub(crate) fn of(context: &'a ProbeContext) -> Option<Self> {
        let layout = LAYOUT.get(0)?;
        Some(Self { registers: context.as_ptr() as u64, layout, of: PhantomData })
    }

    /// One of the first three arguments. The registers are read as memory: their place is another one for
    /// each processor, and one object serves all.
    #[inline(always)]
    pub(crate) fn argument(&self, place: usize) -> Result<u64, Unreadable> {
        read(self.registers, *self.layout.arguments.get(place).ok_or(Unreadable)?)
    }
}

/// What stands `offset` bytes behind the kernel's `address`.
#[inline(always)]
pub(crate) fn read<T>(address: u64, offset: u32) -> Result<T, Unreadable> {
    let source = (address + u64::from(offset)) as *const T;
    // SAFETY: the helper checks the address itself, and every bit pattern is valid for the integers that are
    // read here.
    unsafe { bpf_probe_read_kernel(source) }.ok().ok_or(Unreadable)
}
