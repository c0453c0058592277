//! One lookup in a hash map of the kernel and two counters.

use crate::frame::{Frame, opaque};
use aya_ebpf::macros::map;
use aya_ebpf::maps::{HashMap, PerCpuHashMap};

const MAX_FLOWS: u32 = 131_072;

/// Source, destination and destination QP.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Key {
    source: u32,
    destination: u32,
    dest_qp: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Counters {
    packets: u64,
    bytes: u64,
}

#[map]
pub(crate) static SHARED: HashMap<Key, Counters> = HashMap::with_max_entries(MAX_FLOWS, 0);

#[map]
pub(crate) static PER_CPU: PerCpuHashMap<Key, Counters> =
    PerCpuHashMap::with_max_entries(MAX_FLOWS, 0);

/// Both kinds of map.
pub(crate) trait Flows {
    fn place(&self, key: &Key) -> Option<*mut Counters>;
    fn insert(&self, key: &Key, counters: Counters);
}

impl Flows for HashMap<Key, Counters> {
    #[inline(always)]
    fn place(&self, key: &Key) -> Option<*mut Counters> {
        self.get_ptr_mut(key)
    }

    #[inline(always)]
    fn insert(&self, key: &Key, counters: Counters) {
        // A full map leaves the flow uncounted; the benchmark does not fill it.
        let _ = self.insert(key, counters, 0);
    }
}

impl Flows for PerCpuHashMap<Key, Counters> {
    #[inline(always)]
    fn place(&self, key: &Key) -> Option<*mut Counters> {
        self.get_ptr_mut(key)
    }

    #[inline(always)]
    fn insert(&self, key: &Key, counters: Counters) {
        // A full map leaves the flow uncounted; the benchmark does not fill it.
        let _ = self.insert(key, counters, 0);
    }
}

/// Counts an IPv4 packet without VLAN tags and options. Cheaper than any parser that knows those.
#[inline(always)]
pub(crate) fn count(frame: &Frame, flows: &impl Flows) {
    const ETHER_TYPE: usize = 12;
    const BTH_END: usize = 54;
    let Some(place) = frame.place::<BTH_END>(0) else { return };
    // SAFETY: `place` has checked all bytes to the end of the BTH, and so have the constant offsets.
    let at = |offset: usize| unsafe { place.cast::<u8>().add(offset) };
    // SAFETY: as above.
    let half = |offset| u16::from_be(unsafe { at(offset).cast::<u16>().read_unaligned() });
    // SAFETY: as above.
    let word = |offset| unsafe { at(offset).cast::<u32>().read_unaligned() };
    // SAFETY: as above.
    let byte = |offset| unsafe { at(offset).read() };
    if half(ETHER_TYPE) != 0x0800 || byte(14) != 0x45 || byte(23) != 17 || half(36) != 4791 {
        return;
    }
    // Hidden, or both addresses go to the stack in one store, which is not aligned to its size there.
    let destination = opaque(word(30) as usize) as u32;
    let key = Key { source: word(26), destination, dest_qp: word(46) };
    let bytes = 14 + half(16) as u64;
    match flows.place(&key) {
        Some(counters) => {
            // SAFETY: the benchmark runs on one CPU, so nobody else counts meanwhile.
            let counters = unsafe { &mut *counters };
            counters.packets += 1;
            counters.bytes += bytes;
        }
        None => flows.insert(&key, Counters { packets: 1, bytes }),
    }
}
