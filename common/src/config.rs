//! Names and sizes that user space and the kernel programs agree on.

/// Read-only settings of the datapath, set before it is loaded; the verifier sees them as constants.
pub mod setting {
    /// `u64` mixed into every hash, so that nobody outside can aim at one slot.
    pub const HASH_SEED: &str = "HASH_SEED";
    /// `u32`: home slots of the IPv4 table.
    pub const NARROW_LEN: &str = "NARROW_LEN";
    /// `u32`: home slots of the table for IPv6, UD and `RoCEv1`.
    pub const WIDE_LEN: &str = "WIDE_LEN";
    /// `u32`: CPUs that counters are kept for.
    pub const CPUS: &str = "CPUS";
    /// `u32`: 1 when all programs belong to one interface, whose taps are 0 and 1, so that no list is read.
    pub const SINGLE_INTERFACE: &str = "SINGLE_INTERFACE";
    /// `u32`: 1 where a plain store may overtake earlier ones (not on x86), so that a slot is released by an exchange.
    pub const WEAK_MEMORY_ORDER: &str = "WEAK_MEMORY_ORDER";
    /// `u32`: side states of the PSN engine that may go to records for timing alone.
    pub const TIMED_SEQUENCES: &str = "TIMED_SEQUENCES";
    /// `u32`: recorders of the last packets of connections in trouble; 0 when there are none.
    pub const RECORDERS: &str = "RECORDERS";
    /// `u32`: microseconds of a jiffy.
    pub const JIFFY_US: &str = "JIFFY_US";
    /// [`crate::marking::MarkingPolicy`]: expected marking.
    pub const MARKING: &str = "MARKING";
}

/// Slots that are looked at for one packet. At a load of two thirds one flow in 30,000 finds none; with 16
/// it would be one in 200. All but new flows stand in the first few.
pub const MAX_PROBES: u32 = 64;

/// Home slots for `max_flows` records, which then fill two thirds of them.
pub const fn home_slots(max_flows: u32) -> u32 {
    max_flows.saturating_add(max_flows / 2)
}

/// Slots to allocate for `home_slots`: the search from the last one never wraps around.
pub const fn allocated_slots(home_slots: u32) -> u32 {
    home_slots.saturating_add(MAX_PROBES)
}

/// Bytes at the start of a frame that hold every header the parser reads.
pub const HEADER_BYTES: usize = 192;
