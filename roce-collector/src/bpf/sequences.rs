//! Side states of the PSN engine: which are free, and what the others hold.

use super::DatapathError;
use super::mapped::MappedArray;
use aya::Ebpf;
use aya::maps::{Map, MapData, Stack};
use roce_common::flow::SequenceRecord;
use roce_common::sequence::SequenceState;
use std::fmt;
use std::ptr::addr_of_mut;
use std::sync::{Mutex, PoisonError};

const STATES: &str = "SEQUENCES";
const FREE: &str = "FREE_SEQUENCES";

/// The pool of side states. A record takes one when it first needs it.
pub struct SequencePool {
    states: MappedArray<SequenceRecord>,
    free: Mutex<Stack<MapData, u32>>,
}

impl fmt::Debug for SequencePool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SequencePool").field("states", &self.states.len()).finish_non_exhaustive()
    }
}

impl SequencePool {
    /// The pool of `len` states, all of them free.
    pub(super) fn new(ebpf: &Ebpf, free: Map, len: u32) -> Result<Self, DatapathError> {
        let states = MappedArray::new(ebpf, STATES, len as usize)?;
        let refused = |source| DatapathError::Access { map: FREE, source };
        let mut free = Stack::try_from(free).map_err(refused)?;
        for index in (0..len).rev() {
            free.push(index, 0).map_err(refused)?;
        }
        Ok(Self { states, free: Mutex::new(free) })
    }

    /// The state that a record keeps by `link`, see [`roce_common::flow::FlowCold::sequence`].
    ///
    /// The caller holds the lock of that record, or does without a consistent answer.
    pub(super) fn read(&self, link: u32) -> Option<SequenceState> {
        let place = self.place(link)?;
        // SAFETY: the pointer is valid and aligned, and every bit pattern is a valid state.
        Some(unsafe { place.read_volatile() }.state)
    }

    /// Writes the state that a record keeps by `link`. The caller holds the lock of that record.
    pub(super) fn write(&self, link: u32, state: SequenceState) {
        if let Some(place) = self.place(link) {
            // SAFETY: the pointer is valid and aligned, and the record's lock guards it.
            unsafe { addr_of_mut!((*place).state).write_volatile(state) };
        }
    }

    /// Makes the state that a record kept by `link` free for others. The record no longer has it.
    pub(super) fn release(&self, link: u32) {
        if let Some(place) = self.place(link) {
            // SAFETY: as in `write`.
            unsafe { place.write_volatile(SequenceRecord::default()) };
            // There is room, for whatever is put back was taken out before.
            let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
            if let Err(error) = free.push(link - 1, 0) {
                tracing::warn!("BPF map {FREE}: {error}; the PSN engine has one state less");
            }
        }
    }

    fn place(&self, link: u32) -> Option<*mut SequenceRecord> {
        self.states.pointer(link.checked_sub(1)? as usize)
    }
}
