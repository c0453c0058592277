//! The hot part of a record: one slot of an open-addressed table.

use super::{FlowCold, FlowKey, NarrowKey, Run, RunClass, WideKey};
use crate::psn::Psn;

/// A slot. All zero is an empty one.
///
/// Whoever holds the lock in [`Self::lock`] owns everything but the key, which others may read at any
/// time. `packets` changes with every update, so a reader that finds the same `packets` and the same
/// unlocked `lock` before and after has read one consistent state.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FlowSlot<K> {
    /// Identity.
    pub key: K,
    /// Lock bit and PSN state; see [`SlotLock`].
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

/// The word that guards a slot and holds its PSN state.
///
/// ```text
/// 31     | 30..25 | 24        | 23..0
/// locked | zero   | PSN known | highest PSN
/// ```
///
/// The lock is taken by exchanging the word with [`Self::LOCKED`] and released by storing the new
/// state, so locking costs one atomic operation and no field of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotLock(pub u32);

impl SlotLock {
    /// Value of a taken lock.
    pub const LOCKED: u32 = 1 << 31;
    const PSN_KNOWN: u32 = 1 << 24;

    /// Whether somebody holds it.
    #[inline(always)]
    pub const fn is_locked(self) -> bool {
        self.0 & Self::LOCKED != 0
    }

    /// Highest PSN, when one was seen.
    #[inline(always)]
    pub const fn highest_psn(self) -> Option<Psn> {
        if self.0 & Self::PSN_KNOWN == 0 { None } else { Some(Psn::new(self.0)) }
    }

    /// State after a packet with `psn`.
    #[must_use]
    #[inline(always)]
    pub const fn after(self, psn: Psn) -> Self {
        match self.highest_psn() {
            Some(highest) if !psn.is_after(highest) => self,
            _ => Self(Self::PSN_KNOWN | psn.get()),
        }
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn highest_psn_only_grows_and_wraps() {
        let mut lock = SlotLock(0);
        assert_eq!(lock.highest_psn(), None);
        for (psn, highest) in
            [(0xff_fffe, 0xff_fffe), (0xff_fffd, 0xff_fffe), (1, 1), (0xff_ffff, 1)]
        {
            lock = lock.after(Psn::new(psn));
            assert_eq!(lock.highest_psn(), Some(Psn::new(highest)));
            assert!(!lock.is_locked());
        }
    }
}
