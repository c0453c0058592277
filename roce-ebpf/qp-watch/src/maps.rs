//! Every map: 4 MiB in all, most of it for what is known of 32,768 queue pairs.

use crate::qp::QpKey;
use crate::tell::Budget;
use aya_ebpf::macros::map;
use aya_ebpf::maps::{Array, LruHashMap, PerCpuArray, RingBuf};
use roce_common::qp_watch::{KernelLayout, LostRecords, QpKnown};

/// Where things are in the kernel's structs. Written before a probe is attached that needs it.
#[map]
pub(crate) static LAYOUT: Array<KernelLayout> = Array::with_max_entries(1, 0);

/// What the latest calls said. Of queue pairs that nothing happened to since the probes began, nothing.
#[map]
pub(crate) static KNOWN: LruHashMap<QpKey, QpKnown> = LruHashMap::with_max_entries(32_768, 0);

/// What was told in this second, by the number of the kind.
#[map]
pub(crate) static BUDGETS: Array<Budget> = Array::with_max_entries(5, 0);

/// What nobody will see.
#[map]
pub(crate) static LOST: PerCpuArray<LostRecords> = PerCpuArray::with_max_entries(1, 0);

/// Records for user space: some 8,700, more than the budgets of a second.
#[map]
pub(crate) static RECORDS: RingBuf = RingBuf::with_byte_size(1 << 20, 0);
