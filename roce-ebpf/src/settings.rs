//! Constants that user space sets before load; names and meaning in `roce_common::config::setting`.

use aya_ebpf::Global;
use roce_common::marking::MarkingPolicy;

#[unsafe(no_mangle)]
pub(crate) static HASH_SEED: Global<u64> = Global::new(0);
#[unsafe(no_mangle)]
pub(crate) static NARROW_LEN: Global<u32> = Global::new(1);
#[unsafe(no_mangle)]
pub(crate) static WIDE_LEN: Global<u32> = Global::new(1);
#[unsafe(no_mangle)]
pub(crate) static CPUS: Global<u32> = Global::new(1);
#[unsafe(no_mangle)]
pub(crate) static SINGLE_INTERFACE: Global<u32> = Global::new(1);
#[unsafe(no_mangle)]
pub(crate) static WEAK_MEMORY_ORDER: Global<u32> = Global::new(0);
#[unsafe(no_mangle)]
pub(crate) static MARKING: Global<MarkingPolicy> = Global::new(MarkingPolicy::DEFAULT);
#[unsafe(no_mangle)]
pub(crate) static TIMED_SEQUENCES: Global<u32> = Global::new(0);
#[unsafe(no_mangle)]
pub(crate) static RECORDERS: Global<u32> = Global::new(0);
#[unsafe(no_mangle)]
pub(crate) static JIFFY_US: Global<u32> = Global::new(4000);
