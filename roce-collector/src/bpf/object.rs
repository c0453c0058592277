//! Loading the eBPF object: sizes, settings, tables.

use super::{DatapathError, EventRing, FlowTable, RecorderTable, SequencePool, SpillMap, TapTable};
use aya::maps::{Array, Map, MapData};
use aya::{Ebpf, EbpfLoader};
use roce_common::config::{allocated_slots, home_slots, setting};
use roce_common::flow::{NarrowKey, WideKey};
use roce_common::marking::MarkingPolicy;
use roce_common::recording::allocated_recorders;
use roce_common::tap::MAX_TAPS;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

/// The object that the build script put there.
static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/roce.bpf.o"));

/// Entries of the fallback map.
const SPILL_ENTRIES: u32 = 8192;
/// Wide flows for each narrow one: IPv6 fabrics of that size are rare, and their slots are large.
const NARROW_PER_WIDE: u32 = 6;
/// Flow records for each side state of the PSN engine, which few need at a time.
const FLOWS_PER_SEQUENCE: u32 = 6;
/// The same for each entry by which answers find their requests: one connection has two to four records.
const FLOWS_PER_LINK: u32 = 8;

/// What the datapath is made for.
#[derive(Clone, Copy, Debug)]
pub struct DatapathOptions {
    /// IPv4 flow records it has room for; a sixth as many of IPv6, UD and `RoCEv1`.
    pub max_flows: u32,
    /// Interfaces it will be attached to.
    pub interfaces: u32,
    /// Expected marking.
    pub marking: MarkingPolicy,
    /// Connections in trouble whose last packets are kept at a time; 0 to keep none.
    pub recorders: u32,
}

/// The loaded object. Dropping it detaches its programs.
pub struct Datapath {
    pub(crate) ebpf: Ebpf,
    /// Records of IPv4 flows.
    pub narrow: FlowTable<NarrowKey>,
    /// Records of IPv6, UD and `RoCEv1` flows.
    pub wide: FlowTable<WideKey>,
    /// Side states of the PSN engine, free or not.
    pub sequence_states: u32,
    /// Node-wide counters.
    pub taps: TapTable,
    /// What found no place in the tables.
    pub spill: SpillMap,
    /// Events of the programs.
    pub events: EventRing,
    /// The last packets of connections in trouble.
    pub recorders: RecorderTable,
    interfaces: Array<MapData, u32>,
}

impl fmt::Debug for Datapath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Datapath")
            .field("narrow_slots", &self.narrow.len())
            .field("wide_slots", &self.wide.len())
            .field("taps", &self.taps.len())
            .finish_non_exhaustive()
    }
}

impl DatapathOptions {
    /// Smallest table.
    pub const MIN_FLOWS: u32 = 64;
    /// Largest table: 4.5 GiB of slots.
    pub const MAX_FLOWS: u32 = 1 << 24;
    /// Most recorders: 0.5 GiB.
    pub const MAX_RECORDERS: u32 = 1 << 16;

    fn check(&self) -> Result<(), DatapathError> {
        let bounds = [
            ("max-flows", self.max_flows, Self::MIN_FLOWS, Self::MAX_FLOWS),
            ("number of interfaces", self.interfaces, 1, MAX_TAPS / 2),
            ("record-qps", self.recorders, 0, Self::MAX_RECORDERS),
        ];
        for (what, value, min, max) in bounds {
            if value < min || value > max {
                return Err(DatapathError::Option { what, value, min, max });
            }
        }
        Ok(())
    }
}

impl Datapath {
    /// Creates the maps and their views. The programs are verified when they are attached.
    ///
    /// # Errors
    ///
    /// When an option is out of bounds, or the kernel refuses a map: see [`DatapathError`].
    pub fn load(options: &DatapathOptions) -> Result<Self, DatapathError> {
        options.check()?;
        let cpus = aya::util::nr_cpus()
            .map_err(|(file, source)| DatapathError::Cpus { file: file.to_owned(), source })?;
        let narrow_homes = home_slots(options.max_flows);
        let wide_homes = home_slots(options.max_flows / NARROW_PER_WIDE);
        let (narrow_len, wide_len) = (allocated_slots(narrow_homes), allocated_slots(wide_homes));
        let sequences = options.max_flows / FLOWS_PER_SEQUENCE;
        let taps = options.interfaces * 2;

        let seed = RandomState::new().hash_one(0_u8);
        let cpu_count = cpus as u32;
        let single = u32::from(options.interfaces == 1);
        let jiffy = jiffy_us();
        let weak_order = u32::from(cfg!(not(target_arch = "x86_64")));
        let marking = marking_bytes(options.marking);
        let mut ebpf = EbpfLoader::new()
            .map_max_entries("NARROW_SLOTS", narrow_len)
            .map_max_entries("NARROW_COLD", narrow_len)
            .map_max_entries("WIDE_SLOTS", wide_len)
            .map_max_entries("WIDE_COLD", wide_len)
            .map_max_entries("SPILL", SPILL_ENTRIES)
            .map_max_entries("SEQUENCES", sequences)
            .map_max_entries("FREE_SEQUENCES", sequences)
            .map_max_entries("LINKS", options.max_flows / FLOWS_PER_LINK)
            .map_max_entries("FLIGHT_RECORDERS", allocated_recorders(options.recorders.max(1)))
            .map_max_entries("TAPS", taps * cpu_count)
            .override_global(setting::HASH_SEED, &seed, true)
            .override_global(setting::NARROW_LEN, &narrow_homes, true)
            .override_global(setting::WIDE_LEN, &wide_homes, true)
            .override_global(setting::CPUS, &cpu_count, true)
            .override_global(setting::SINGLE_INTERFACE, &single, true)
            .override_global(setting::WEAK_MEMORY_ORDER, &weak_order, true)
            .override_global(setting::TIMED_SEQUENCES, &(sequences / 2), true)
            .override_global(setting::RECORDERS, &options.recorders, true)
            .override_global(setting::JIFFY_US, &jiffy, true)
            .override_global(setting::MARKING, &marking, true)
            .load(OBJECT)
            .map_err(DatapathError::Load)?;

        let free = take_map(&mut ebpf, "FREE_SEQUENCES")?;
        let pool = Arc::new(SequencePool::new(&ebpf, free, sequences)?);
        let table = Arc::clone(&pool);
        let narrow =
            FlowTable::new(&ebpf, "NARROW_SLOTS", "NARROW_COLD", narrow_len as usize, table)?;
        let wide = FlowTable::new(&ebpf, "WIDE_SLOTS", "WIDE_COLD", wide_len as usize, pool)?;
        let tap_table = TapTable::new(&ebpf, taps as usize, cpus)?;
        let spill = SpillMap::new(take_map(&mut ebpf, "SPILL")?, SPILL_ENTRIES as usize)?;
        let interfaces = Array::try_from(take_map(&mut ebpf, "INTERFACES")?)
            .map_err(|source| DatapathError::Access { map: "INTERFACES", source })?;
        let recorders = RecorderTable::new(&ebpf, options.recorders)?;
        let events = EventRing::new(take_map(&mut ebpf, "EVENTS")?)?;
        Ok(Self {
            ebpf,
            narrow,
            wide,
            sequence_states: sequences,
            taps: tap_table,
            spill,
            events,
            recorders,
            interfaces,
        })
    }

    /// Says which interface the taps `pair * 2` and `pair * 2 + 1` belong to.
    ///
    /// # Errors
    ///
    /// When there is no such pair.
    pub fn set_interface(&mut self, pair: u32, interface: u32) -> Result<(), DatapathError> {
        self.interfaces
            .set(pair, interface, 0)
            .map_err(|source| DatapathError::Access { map: "INTERFACES", source })
    }
}

fn take_map(ebpf: &mut Ebpf, name: &'static str) -> Result<Map, DatapathError> {
    ebpf.take_map(name).ok_or(DatapathError::Missing(name))
}

/// Microseconds of a jiffy: the coarse clocks tick once in each.
fn jiffy_us() -> u32 {
    const AT_250_HZ: u32 = 4000;
    match rustix::time::clock_getres(rustix::time::ClockId::MonotonicCoarse).tv_nsec {
        0 => AT_250_HZ,
        nanoseconds => (nanoseconds / 1000) as u32,
    }
}

/// The policy as the kernel reads it.
fn marking_bytes(marking: MarkingPolicy) -> [u8; size_of::<MarkingPolicy>()] {
    let MarkingPolicy { data_dscp, ack_dscp, cnp_dscp, data_pcp, ect_required, reserved } = marking;
    let [r0, r1, r2] = reserved;
    [data_dscp, ack_dscp, cnp_dscp, data_pcp, ect_required, r0, r1, r2]
}
