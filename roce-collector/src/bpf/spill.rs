//! The fallback map: packets that found no slot, or found theirs busy.

use super::DatapathError;
use aya::Pod;
use aya::maps::{HashMap, Map, MapData, MapError};
use roce_common::flow::{SpillCount, SpillKey};

const NAME: &str = "SPILL";

/// Entries of the fallback map. Reading costs two system calls each, so read it only when the tap
/// counters say that something was put there.
#[derive(Debug)]
pub struct SpillMap {
    map: HashMap<MapData, KeyBytes, CountBytes>,
    capacity: usize,
}

#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
struct KeyBytes(SpillKey);

#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
struct CountBytes(SpillCount);

// SAFETY: twelve words without padding; every bit pattern is a key.
unsafe impl Pod for KeyBytes {}
// SAFETY: three words without padding; every bit pattern is a count.
unsafe impl Pod for CountBytes {}

impl SpillMap {
    pub(super) fn new(map: Map, capacity: usize) -> Result<Self, DatapathError> {
        let map =
            HashMap::try_from(map).map_err(|source| DatapathError::Access { map: NAME, source })?;
        Ok(Self { map, capacity })
    }

    /// All entries with what they have counted so far. Entries that come or go meanwhile may be missed.
    ///
    /// # Errors
    ///
    /// When the kernel refuses to read the map.
    pub fn entries(&self) -> Result<Vec<(SpillKey, SpillCount)>, DatapathError> {
        self.map
            .iter()
            // A walk over a map that changes may start again; it ends all the same.
            .take(self.capacity)
            .map(|entry| match entry {
                Ok((KeyBytes(key), CountBytes(count))) => Ok((key, count)),
                Err(source) => Err(DatapathError::Access { map: NAME, source }),
            })
            .collect()
    }

    /// Removes an entry; one that is gone already is no error.
    ///
    /// # Errors
    ///
    /// When the kernel refuses to change the map.
    pub fn remove(&mut self, key: &SpillKey) -> Result<(), DatapathError> {
        match self.map.remove(&KeyBytes(*key)) {
            Ok(()) | Err(MapError::KeyNotFound) => Ok(()),
            Err(source) => Err(DatapathError::Access { map: NAME, source }),
        }
    }
}
