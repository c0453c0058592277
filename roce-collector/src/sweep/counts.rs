//! The few counters that hosts and queue pairs have in metrics.

use std::ops::AddAssign;

use roce_common::flow::RecordTag;
use roce_common::marking::{MarkingPolicy, PacketClass};
use roce_common::tap::TapCounters;
use roce_common::wire::{Ecn, Opcode, TrafficClass, Transport};
use serde::{Deserialize, Serialize};

use crate::flow::{RecordTotals, SequenceReport};

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
    /// What became of PSNs; `None` where nobody looked, or PSNs have no order.
    #[serde(flatten)]
    pub psns: Option<PsnCounts>,
}

/// What became of PSNs; see [`SequenceReport`] for the meaning of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "they are those of SequenceReport that only grow")]
pub struct PsnCounts {
    pub lost: u64,
    pub recovered: u64,
    pub unseen: u64,
    pub reordered: u64,
    pub retransmitted: u64,
    pub retransmitted_bytes: u64,
    pub tap_duplicates: u64,
    pub go_back_n_episodes: u64,
    pub timeouts: u64,
}

impl Counts {
    /// Everything that a tap saw, but for [`Self::psns`], which its records know.
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

    /// What was counted since `before`; nothing where a counter is below that.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let psns = self.psns.map(|psns| psns.since(&before.psns.unwrap_or_default()));
        Self {
            packets: self.packets.saturating_sub(before.packets),
            bytes: self.bytes.saturating_sub(before.bytes),
            ce: self.ce.saturating_sub(before.ce),
            cnps: self.cnps.saturating_sub(before.cnps),
            naks: self.naks.saturating_sub(before.naks),
            mismarked: self.mismarked.saturating_sub(before.mismarked),
            psns,
        }
    }

    /// Losses and retransmissions first, then negative acknowledgements, then congestion: what puts a queue
    /// pair among the worst.
    pub(super) fn trouble(&self) -> [u64; 3] {
        let psns = self.psns.map_or(0, |psns| psns.lost + psns.retransmitted);
        [psns, self.naks, self.ce + self.cnps]
    }
}

impl PsnCounts {
    /// What was counted since `before`; nothing where a counter is below that.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let (mut difference, mut before) = (*self, *before);
        for (counter, before) in difference.each().into_iter().zip(before.each()) {
            *counter = counter.saturating_sub(*before);
        }
        difference
    }

    const fn each(&mut self) -> [&mut u64; 9] {
        let Self {
            lost,
            recovered,
            unseen,
            reordered,
            retransmitted,
            retransmitted_bytes,
            tap_duplicates,
            go_back_n_episodes,
            timeouts,
        } = self;
        [
            lost,
            recovered,
            unseen,
            reordered,
            retransmitted,
            retransmitted_bytes,
            tap_duplicates,
            go_back_n_episodes,
            timeouts,
        ]
    }
}

impl From<SequenceReport> for PsnCounts {
    fn from(report: SequenceReport) -> Self {
        let SequenceReport {
            lost,
            recovered,
            unseen,
            reordered,
            open: _,
            retransmitted,
            retransmitted_bytes,
            tap_duplicates,
            go_back_n_episodes,
            timeouts,
        } = report;
        Self {
            lost,
            recovered,
            unseen,
            reordered,
            retransmitted,
            retransmitted_bytes,
            tap_duplicates,
            go_back_n_episodes,
            timeouts,
        }
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, more: Self) {
        let Self { packets, bytes, ce, cnps, naks, mismarked, psns } = more;
        self.packets += packets;
        self.bytes += bytes;
        self.ce += ce;
        self.cnps += cnps;
        self.naks += naks;
        self.mismarked += mismarked;
        if let Some(psns) = psns {
            *self.psns.get_or_insert_default() += psns;
        }
    }
}

impl AddAssign for PsnCounts {
    fn add_assign(&mut self, mut more: Self) {
        for (counter, more) in self.each().into_iter().zip(more.each()) {
            *counter += *more;
        }
    }
}

/// The totals of a record that [`Counts`] are made of, at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark(Counts);

impl Mark {
    pub(super) fn of(totals: &RecordTotals) -> Self {
        Self(Counts {
            packets: totals.packets,
            bytes: totals.wire_bytes,
            ce: totals.ecn[Ecn::Ce as usize],
            cnps: 0,
            naks: totals.naks.iter().sum(),
            mismarked: totals.mismarked,
            psns: totals.sequence.map(PsnCounts::from),
        })
    }

    /// What a record with this tag has counted since.
    pub(super) fn counts_until(&self, totals: &RecordTotals, tag: RecordTag) -> Counts {
        let counts = Self::of(totals).0.since(&self.0);
        let cnps = if tag.transport() == Transport::Cnp { counts.packets } else { 0 };
        Counts { cnps, ..counts }
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
