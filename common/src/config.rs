//! What user space tells the kernel programs before they are loaded.

use crate::marking::MarkingPolicy;

/// Read-only settings of the datapath. The verifier sees them as constants.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DatapathConfig {
    /// Mixed into every hash, so that nobody outside can aim at one slot.
    pub hash_seed: u64,
    /// Slots of the IPv4 table.
    pub narrow_slots: u32,
    /// Slots of the table for IPv6, UD and `RoCEv1`.
    pub wide_slots: u32,
    /// CPUs that counters are kept for.
    pub cpus: u32,
    /// 1 when all programs belong to one interface, whose taps are 0 and 1: then no tap list is read.
    pub single_interface: u32,
    /// 1 where a plain store may overtake earlier ones (not on x86), so that a slot is released by an exchange.
    pub weak_memory_order: u32,
    /// 1 where the kernel has `bpf_xdp_load_bytes` (5.18).
    pub xdp_load_bytes: u32,
    /// Expected marking.
    pub marking: MarkingPolicy,
}

/// Records that fit at a load of two thirds; the slots that are allocated for it.
pub const fn slots_for(max_flows: u32) -> u32 {
    max_flows.saturating_add(max_flows / 2)
}
