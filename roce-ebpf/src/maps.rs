//! Every map. User space sets the sizes that say 1 here before it loads the object.
//!
//! With the default of 131072 flows: 6 MiB of narrow slots and 36 MiB of their cold parts; for a
//! sixth as many wide flows 2 MiB and 6 MiB; 1 MiB of fallback; 7 MiB for the PSN engine. Only the tap counters grow with the
//! number of CPUs: 11 KiB for each tap and CPU.

use crate::observe::Deferred;
use crate::sequence::Turn;
use aya_ebpf::bindings::BPF_F_MMAPABLE;
use aya_ebpf::macros::map;
use aya_ebpf::maps::{Array, HashMap, LruHashMap, PerCpuArray, RingBuf, Stack};
use roce_common::config::HEADER_BYTES;
use roce_common::flow::{FlowCold, NarrowSlot, SequenceRecord, SpillCount, SpillKey, WideSlot};
use roce_common::recording::Recorder;
use roce_common::tap::{MAX_TAPS, TapCounters};

/// Slots of IPv4 flows; user space reads them by mmap.
#[map]
pub(crate) static NARROW_SLOTS: Array<NarrowSlot> = Array::with_max_entries(1, BPF_F_MMAPABLE);

/// Cold parts of [`NARROW_SLOTS`], at the same index.
#[map]
pub(crate) static NARROW_COLD: Array<FlowCold> = Array::with_max_entries(1, BPF_F_MMAPABLE);

/// Slots of IPv6, UD and RoCEv1 flows.
#[map]
pub(crate) static WIDE_SLOTS: Array<WideSlot> = Array::with_max_entries(1, BPF_F_MMAPABLE);

/// Cold parts of [`WIDE_SLOTS`], at the same index.
#[map]
pub(crate) static WIDE_COLD: Array<FlowCold> = Array::with_max_entries(1, BPF_F_MMAPABLE);

/// Packets that found no slot, or found theirs busy for too long.
#[map]
pub(crate) static SPILL: HashMap<SpillKey, SpillCount> = HashMap::with_max_entries(1, 0);

/// Node-wide counters at index `tap * cpus + cpu`. An array in own layout and not a per-CPU array:
/// the lookup is inlined on every kernel, and user space reads it by mmap.
#[map]
pub(crate) static TAPS: Array<TapCounters> = Array::with_max_entries(1, BPF_F_MMAPABLE);

/// Interface index of each tap pair, written when an interface is attached; 0 where there is none.
#[map]
pub(crate) static INTERFACES: Array<u32> = Array::with_max_entries(MAX_TAPS / 2, 0);

/// Where the headers of a frame in several buffers are gathered.
#[map]
pub(crate) static HEADERS: PerCpuArray<[u8; HEADER_BYTES]> = PerCpuArray::with_max_entries(1, 0);

/// The packet that a program run hands on to its other functions.
#[map]
pub(crate) static DEFERRED: PerCpuArray<Deferred> = PerCpuArray::with_max_entries(1, 0);

/// Side states of the PSN engine, for records where something was not in order or is being timed.
#[map]
pub(crate) static SEQUENCES: Array<SequenceRecord> = Array::with_max_entries(1, BPF_F_MMAPABLE);

/// Indexes of the free ones. User space fills it, and puts back what it has read.
#[map]
pub(crate) static FREE_SEQUENCES: Stack<u32> = Stack::with_max_entries(1, 0);

/// Request records by connection and UDP source port; see `sequence::links`.
#[map]
pub(crate) static LINKS: LruHashMap<u64, u32> = LruHashMap::with_max_entries(1, 0);

/// The packet whose turn it is in the PSN engine.
#[map]
pub(crate) static TURN: PerCpuArray<Turn> = PerCpuArray::with_max_entries(1, 0);

/// The last packets of connections in trouble.
#[map]
pub(crate) static FLIGHT_RECORDERS: Array<Recorder> = Array::with_max_entries(1, BPF_F_MMAPABLE);

/// Events for user space: some 2,900 of 80 bytes.
#[map]
pub(crate) static EVENTS: RingBuf = RingBuf::with_byte_size(1 << 18, 0);
