//! The hot part of a record: one slot of an open-addressed table.

use super::{FlowCold, FlowKey, NarrowKey, Run, RunClass, WideKey};
use crate::psn::Psn;
use crate::sequence::SequenceWord;

/// A slot. All zero is an empty one.
///
/// Whoever holds the lock in [`Self::lock`] owns everything but the key, which others may read at any
/// time. It is taken by exchanging the word with [`SequenceWord::LOCKED`] and released by storing the new
/// state, so that locking costs one atomic operation and no field of its own.
///
/// `packets` changes with every update, so a reader that finds the same `packets` and the same
/// unlocked `lock` before and after has read one consistent state.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FlowSlot<K> {
    /// Identity.
    pub key: K,
    /// Lock bit and PSN state; see [`SequenceWord`].
    pub lock: u32,
    /// Bytes on the wire in the upper 40 bits, which wrap, and [`RunClass`] of the open run below.
    pub bytes_and_class: u64,
    /// Packets, wrapping.
    pub packets: u32,
    /// UDP source port of the last packet in the lower half, and its coarse time in the upper one.
    pub port_and_time: u32,
}

/// Slot of the IPv4 table: half a cache line.
pub type NarrowSlot = FlowSlot<NarrowKey>;
/// Slot of the table for IPv6, UD and `RoCEv1`: one cache line.
pub type WideSlot = FlowSlot<WideKey>;

/// Bits that a slot has for the bytes on the wire: enough for ten seconds at 800 Gb/s.
pub const WIRE_BYTES_BITS: u32 = u64::BITS - RunClass::BITS;

impl<K: FlowKey> FlowSlot<K> {
    /// Bytes on the wire, modulo 2^[`WIRE_BYTES_BITS`].
    #[inline(always)]
    pub const fn wire_bytes(&self) -> u64 {
        self.bytes_and_class >> RunClass::BITS
    }

    /// Last UDP source port.
    #[inline(always)]
    pub const fn source_port(&self) -> u16 {
        self.port_and_time as u16
    }

    /// Class of the open run.
    #[inline(always)]
    pub const fn run_class(&self) -> RunClass {
        RunClass::from_bits(self.bytes_and_class as u32)
    }

    /// Highest PSN, in serial order, when a packet was seen; of a READ the last of its PSNs.
    #[inline(always)]
    pub const fn highest_psn(&self) -> Option<Psn> {
        SequenceWord(self.lock).last()
    }

    /// The PSN state; means nothing while somebody holds the lock.
    #[inline(always)]
    pub const fn sequence_word(&self) -> SequenceWord {
        SequenceWord(self.lock & !SequenceWord::LOCKED)
    }

    /// Time of the last packet in jiffies, wrapping.
    #[inline(always)]
    pub const fn jiffies(&self) -> u16 {
        (self.port_and_time >> 16) as u16
    }

    /// A taken slot that has counted nothing.
    pub const fn new(key: K) -> Self {
        Self { key, lock: 0, bytes_and_class: 0, packets: 0, port_and_time: 0 }
    }

    /// Packets that are counted here but not yet booked in `cold`.
    #[inline(always)]
    pub const fn open_run(&self, cold: &FlowCold) -> Run {
        Run { class: self.run_class(), packets: self.packets.wrapping_sub(cold.run_packets) }
    }
}

const _: () = assert!(size_of::<NarrowSlot>() == 32);
const _: () = assert!(size_of::<WideSlot>() == 64);
