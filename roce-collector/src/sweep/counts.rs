//! The few counters that hosts and queue pairs have in metrics.

use std::ops::AddAssign;

use roce_common::flow::RecordTag;
use roce_common::marking::{MarkingPolicy, PacketClass};
use roce_common::tap::TapCounters;
use roce_common::wire::{Ecn, Opcode, TrafficClass, Transport};
use serde::{Deserialize, Serialize};

use crate::flow::RecordTotals;

/// Sums over records, or over everything that a tap saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Packets.
    pub packets: u64,
    /// Bytes from the Ethernet header to the end of the IP packet.
    pub bytes: u64,
    /// Packets with the ECN codepoint CE.
    pub ce: u64,
    /// Congestion notification packets.
    pub cnps: u64,
    /// Negative acknowledgements of every code, RNR NAKs too.
    pub naks: u64,
    /// Packets that are marked otherwise than the policy says.
    pub mismarked: u64,
}

impl Counts {
    /// Everything that a tap saw.
    pub fn of_tap(tap: &TapCounters, policy: &MarkingPolicy) -> Self {
        let mut counts = Self {
            packets: tap.packets(),
            bytes: tap.wire_bytes,
            cnps: tap.opcode[usize::from(Opcode::CNP.0)],
            naks: tap.nak.iter().sum(),
            ..Self::default()
        };
        for (class, row) in PacketClass::ALL.into_iter().zip(&tap.marking) {
            for (tos, packets) in (0..=u8::MAX).map(TrafficClass).zip(row) {
                if tos.ecn() == Ecn::Ce {
                    counts.ce += packets;
                }
                if policy.is_wrong_dscp(class, tos) || policy.is_wrong_ecn(class, tos) {
                    counts.mismarked += packets;
                }
            }
        }
        counts
    }

    /// Negative acknowledgements first, then congestion: what puts a queue pair among the worst.
    pub(super) const fn trouble(&self) -> (u64, u64) {
        (self.naks, self.ce + self.cnps)
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, more: Self) {
        let Self { packets, bytes, ce, cnps, naks, mismarked } = more;
        self.packets += packets;
        self.bytes += bytes;
        self.ce += ce;
        self.cnps += cnps;
        self.naks += naks;
        self.mismarked += mismarked;
    }
}

/// The totals of a record that [`Counts`] are made of, at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    packets: u64,
    bytes: u64,
    ce: u64,
    naks: u64,
    mismarked: u64,
}

impl Mark {
    pub(super) fn of(totals: &RecordTotals) -> Self {
        Self {
            packets: totals.packets,
            bytes: totals.wire_bytes,
            ce: totals.ecn[Ecn::Ce as usize],
            naks: totals.naks.iter().sum(),
            mismarked: totals.mismarked,
        }
    }

    /// What a record with this tag has counted since.
    pub(super) fn counts_until(&self, totals: &RecordTotals, tag: RecordTag) -> Counts {
        let now = Self::of(totals);
        let packets = now.packets - self.packets;
        Counts {
            packets,
            bytes: now.bytes - self.bytes,
            ce: now.ce - self.ce,
            cnps: if tag.transport() == Transport::Cnp { packets } else { 0 },
            naks: now.naks - self.naks,
            mismarked: now.mismarked - self.mismarked,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_that_is_wrong_in_both_ways_counts_once() {
        let mut tap = TapCounters::default();
        // DSCP 0 and not ECN-capable; CNPs need not be.
        tap.marking[PacketClass::Data as usize][0] = 5;
        tap.marking[PacketClass::Cnp as usize][48 << 2] = 3;
        tap.marking[PacketClass::Data as usize][(26 << 2) | 3] = 2;
        let counts = Counts::of_tap(&tap, &MarkingPolicy::DEFAULT);
        assert_eq!((counts.mismarked, counts.ce), (5, 2));
    }
}
