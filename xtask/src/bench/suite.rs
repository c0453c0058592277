//! The programs under test, loaded.

use anyhow::{Context, Result, anyhow};
use aya::maps::{Array, MapData, ProgramArray};
use aya::programs::{ProgramFd, TestRun as _, TestRunOptions, Xdp};
use aya::{Ebpf, EbpfLoader};
use roce_common::config::{allocated_slots, home_slots, setting};
use roce_common::recording::allocated_recorders;
use roce_testkit::packet::{Opcode, Packet};

use super::rotation::Rotation;
use crate::verify_ebpf::refusal;

/// What the others are measured from.
pub(super) const EMPTY: &str = "empty";
/// What the product is compared with.
pub(super) const FLOOR: &str = "floor (HASH)";

const WRAPPER: &str = "bench_rotate";
/// Programs of the bench object and the names of their rows.
const BENCH_PROGRAMS: [(&str, &str); 4] = [
    (EMPTY, "bench_empty"),
    ("parser alone", "bench_parse"),
    (FLOOR, "bench_floor"),
    ("floor (PERCPU_HASH)", "bench_floor_percpu"),
];
/// Not the one for several buffers: a tail call must not change that.
const PRODUCT_PROGRAM: &str = "roce_xdp";

/// A program under test.
pub(super) struct Subject {
    pub(super) name: String,
    pub(super) is_product: bool,
    program: ProgramFd,
    rotation: Rotation,
}

pub(super) struct Suite {
    pub(super) subjects: Vec<Subject>,
    pub(super) bench: Ebpf,
    /// One for each object of the product.
    pub(super) products: Vec<Ebpf>,
    target: ProgramArray<MapData>,
    rotation: Array<MapData, Rotation>,
    frame: Vec<u8>,
}

impl Suite {
    pub(super) fn load(
        bench: &[u8],
        products: &[(String, Vec<u8>)],
        max_flows: u32,
        recorders: u32,
    ) -> Result<Self> {
        let mut bench = Ebpf::load(bench).context("cannot load the benchmark's eBPF object")?;
        let target = ProgramArray::try_from(take(&mut bench, "TARGET")?)?;
        let rotation = Array::try_from(take(&mut bench, "ROTATION")?)?;
        load_program(&mut bench, WRAPPER)?;
        let mut subjects = Vec::new();
        for (name, program) in BENCH_PROGRAMS {
            subjects.push(Subject::new(name, load_program(&mut bench, program)?, false));
        }
        let mut loaded = Vec::new();
        for (name, object) in products {
            let mut product = load_product(object, max_flows, recorders)
                .with_context(|| format!("cannot load the eBPF object {name}"))?;
            subjects.push(Subject::new(name, load_program(&mut product, PRODUCT_PROGRAM)?, true));
            loaded.push(product);
        }
        Ok(Self { subjects, bench, products: loaded, target, rotation, frame: frame() })
    }

    /// Lets every program see each of `flows` flows twice, in key order; then scatters the visits.
    pub(super) fn fill(&mut self, flows: u32) -> Result<()> {
        for index in 0..self.subjects.len() {
            self.subject(index)?.rotation = Rotation::in_key_order(flows);
            self.run(index, flows * 2)?;
            let subject = self.subject(index)?;
            subject.rotation = subject.rotation.scattered();
            self.run(index, flows * 2)?;
        }
        Ok(())
    }

    /// Runs one program on `packets` packets, going on where its last run ended.
    pub(super) fn run(&mut self, index: usize, packets: u32) -> Result<()> {
        let subject = self.subjects.get(index).context("no such program")?;
        self.target.set(0, &subject.program, 0)?;
        self.rotation.set(0, subject.rotation, 0)?;
        let options =
            TestRunOptions { data_in: Some(&self.frame), repeat: packets, ..TestRunOptions::new() };
        xdp(&mut self.bench, WRAPPER)?
            .test_run(options)
            .with_context(|| format!("cannot run {}", subject.name))?;
        let rotation = self.rotation.get(&0, 0)?;
        self.subject(index)?.rotation = rotation;
        Ok(())
    }

    fn subject(&mut self, index: usize) -> Result<&mut Subject> {
        self.subjects.get_mut(index).context("no such program")
    }
}

impl Subject {
    fn new(name: &str, program: ProgramFd, is_product: bool) -> Self {
        Self { name: name.to_owned(), is_product, program, rotation: Rotation::default() }
    }
}

/// 1082 bytes: the middle of an RDMA WRITE with a path MTU of 1024.
fn frame() -> Vec<u8> {
    Packet::new(Opcode::RC_RDMA_WRITE_MIDDLE).payload_len(1024).build()
}

fn load_product(object: &[u8], max_flows: u32, recorders: u32) -> Result<Ebpf> {
    let cpus = aya::util::nr_cpus().map_err(|(file, error)| anyhow!("{file}: {error}"))? as u32;
    let homes = home_slots(max_flows);
    let slots = allocated_slots(homes);
    let few = allocated_slots(home_slots(64));
    let loaded = EbpfLoader::new()
        .map_max_entries("NARROW_SLOTS", slots)
        .map_max_entries("NARROW_COLD", slots)
        .map_max_entries("WIDE_SLOTS", few)
        .map_max_entries("WIDE_COLD", few)
        .map_max_entries("SPILL", 8192)
        .map_max_entries("TAPS", 2 * cpus)
        .map_max_entries("FLIGHT_RECORDERS", allocated_recorders(recorders.max(1)))
        .override_global(setting::HASH_SEED, &0x5eed_5eed_5eed_5eed_u64, true)
        .override_global(setting::NARROW_LEN, &homes, true)
        .override_global(setting::WIDE_LEN, &home_slots(64), true)
        .override_global(setting::CPUS, &cpus, true)
        .override_global(setting::SINGLE_INTERFACE, &1_u32, true)
        // An older object that it is compared with has none.
        .override_global(setting::RECORDERS, &recorders, false)
        .override_global(setting::WEAK_MEMORY_ORDER, &weak_memory_order(), true)
        .load(object)?;
    Ok(loaded)
}

/// As the collector sets it.
fn weak_memory_order() -> u32 {
    u32::from(cfg!(not(target_arch = "x86_64")))
}

fn load_program(ebpf: &mut Ebpf, name: &str) -> Result<ProgramFd> {
    let program = xdp(ebpf, name)?;
    program.load().map_err(refusal).with_context(|| name.to_owned())?;
    Ok(program.fd()?.try_clone()?)
}

fn xdp<'a>(ebpf: &'a mut Ebpf, name: &str) -> Result<&'a mut Xdp> {
    let program = ebpf.program_mut(name).with_context(|| format!("no program {name}"))?;
    Ok(program.try_into()?)
}

fn take(ebpf: &mut Ebpf, name: &str) -> Result<aya::maps::Map> {
    ebpf.take_map(name).with_context(|| format!("no map {name}"))
}
