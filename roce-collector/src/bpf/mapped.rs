//! A BPF array map in this process's memory.

use super::DatapathError;
use aya::Ebpf;
use aya::maps::Map;
use memmap2::{MmapOptions, MmapRaw};
use std::marker::PhantomData;
use std::os::fd::{AsFd, AsRawFd};

/// Values of an array map that was created with `BPF_F_MMAPABLE`, shared with the kernel.
#[derive(Debug)]
pub(super) struct MappedArray<T> {
    memory: MmapRaw,
    len: usize,
    values: PhantomData<T>,
}

impl<T: Copy> MappedArray<T> {
    /// Maps `len` values of the map `name`. The map stays in `ebpf`, whose programs need it when they
    /// are loaded.
    pub(super) fn new(ebpf: &Ebpf, name: &'static str, len: usize) -> Result<Self, DatapathError> {
        const { assert!(size_of::<T>().is_multiple_of(8), "array values lie at multiples of 8") };
        let Some(Map::Array(map)) = ebpf.map(name) else {
            return Err(DatapathError::Missing(name));
        };
        let bytes = len * size_of::<T>();
        let memory = MmapOptions::new()
            .len(bytes)
            .map_raw(map.fd().as_fd().as_raw_fd())
            .map_err(|source| DatapathError::Map { map: name, bytes, source })?;
        Ok(Self { memory, len, values: PhantomData })
    }

    /// Number of values.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Where a value lies; `None` past the end. Valid as long as `self`.
    pub(super) fn pointer(&self, index: usize) -> Option<*mut T> {
        if index >= self.len {
            return None;
        }
        // SAFETY: index < len, and the mapping holds len values.
        Some(unsafe { self.memory.as_mut_ptr().cast::<T>().add(index) })
    }
}
