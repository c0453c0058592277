//! How long it takes to read all flows of a table.

use std::hint::black_box;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use aya::Ebpf;
use aya::maps::{HashMap, Map};
use memmap2::{MmapOptions, MmapRaw};
use roce_common::flow::{FlowCold, FlowKey, NarrowSlot};
use serde_json::{Value, json};

use super::cpu;
use super::statistics::Spread;
use super::suite::Suite;

const ROUNDS: u32 = 9;

/// Milliseconds to read what the last run left there.
#[derive(Debug)]
pub(super) struct Tables {
    /// Flows in the product's table. Those that found no place there are in its fallback map.
    flows: usize,
    slots: usize,
    /// Flows in the floor's hash map.
    hashed: usize,
    /// Mapped table, no flow has changed: one look at each slot.
    idle: Spread,
    /// Mapped table, all flows have changed: slots and their cold parts.
    active: Spread,
    /// The floor's hash map by aya's iterator.
    hash: Spread,
}

pub(super) fn measure(suite: &mut Suite) -> Result<Tables> {
    let product = suite.products.first().context("no product object")?;
    let slots = mapped::<NarrowSlot>(product, "NARROW_SLOTS")?;
    let cold = mapped::<FlowCold>(product, "NARROW_COLD")?;
    let hash: HashMap<_, [u32; 3], [u64; 2]> =
        HashMap::try_from(suite.bench.map("SHARED").context("no map SHARED")?)?;

    let mut known = vec![0; slots.len];
    let (mut flows, mut hashed) = (0, 0);
    let mut active = Vec::new();
    let mut idle = Vec::new();
    let mut iterated = Vec::new();
    for _ in 0..ROUNDS {
        known.fill(0);
        let (time, read) = cpu::time(|| Ok(sweep(&slots, &cold, &mut known)))?;
        active.push(milliseconds(time));
        flows = read;
        let (time, read) = cpu::time(|| Ok(sweep(&slots, &cold, &mut known)))?;
        idle.push(milliseconds(time));
        if read != 0 {
            bail!("{read} records changed while no program ran");
        }
        let (time, entries) = cpu::time(|| {
            hash.iter().try_fold(0, |count, entry| {
                black_box(entry?);
                Ok(count + 1)
            })
        })?;
        iterated.push(milliseconds(time));
        hashed = entries;
    }
    let [idle, active, hash] = [idle, active, iterated].map(Spread::of);
    Ok(Tables { flows, hashed, slots: slots.len, idle, active, hash })
}

/// Reads each record whose packet counter is not the known one; how many.
fn sweep(slots: &Mapped<NarrowSlot>, cold: &Mapped<FlowCold>, known: &mut [u32]) -> usize {
    let mut read = 0;
    for (index, known) in known.iter_mut().enumerate() {
        let slot = slots.get(index);
        if slot.key.tag().is_some() && slot.packets != *known {
            *known = slot.packets;
            black_box(cold.get(index));
            read += 1;
        }
    }
    read
}

struct Mapped<T> {
    memory: MmapRaw,
    len: usize,
    values: std::marker::PhantomData<T>,
}

impl<T: Copy> Mapped<T> {
    fn get(&self, index: usize) -> T {
        assert!(index < self.len, "{index} is past the end of a table of {}", self.len);
        // SAFETY: the mapping holds `len` values, of which every bit pattern is valid.
        unsafe { self.memory.as_ptr().cast::<T>().add(index).read_volatile() }
    }
}

fn mapped<T>(ebpf: &Ebpf, name: &str) -> Result<Mapped<T>> {
    let Some(Map::Array(map)) = ebpf.map(name) else { bail!("no array map {name}") };
    let len = map.info()?.max_entries() as usize;
    let memory = MmapOptions::new()
        .len(len * size_of::<T>())
        .map_raw(map.fd().as_fd().as_raw_fd())
        .with_context(|| format!("cannot map {name}"))?;
    Ok(Mapped { memory, len, values: std::marker::PhantomData })
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

impl Tables {
    pub(super) fn print(&self) {
        let line = |what: &str, time: &Spread| {
            println!("  {what:34} {:8.2} ms ({:.2} to {:.2})", time.median, time.min, time.max);
        };
        let Self { flows, slots, hashed, .. } = self;
        println!("reading {flows} flows in {slots} slots, and {hashed} in a hash map:");
        line("own table, none has changed", &self.idle);
        line("own table, all have changed", &self.active);
        line("hash map, one call for each", &self.hash);
    }

    pub(super) fn to_json(&self) -> Value {
        json!({
            "flows": self.flows,
            "slots": self.slots,
            "hashed": self.hashed,
            "own_idle_ms": self.idle.to_json(),
            "own_active_ms": self.active.to_json(),
            "hash_iterator_ms": self.hash.to_json(),
        })
    }
}
