//! The few counters that hosts and queue pairs have in metrics.

use std::ops::AddAssign;

use roce_common::flow::RecordTag;
use roce_common::wire::{Ecn, Transport};

use crate::flow::RecordTotals;

/// Sums over records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
    /// Packets that are marked otherwise than the policy says. A record counts wrong DSCPs and wrong ECN
    /// codepoints apart; of each sweep the larger of both is taken, so this is never too much.
    pub mismarked: u64,
}

impl Counts {
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
    wrong_dscp: u64,
    wrong_ecn: u64,
}

impl Mark {
    pub(super) fn of(totals: &RecordTotals) -> Self {
        Self {
            packets: totals.packets,
            bytes: totals.wire_bytes,
            ce: totals.ecn[Ecn::Ce as usize],
            naks: totals.naks.iter().sum(),
            wrong_dscp: totals.wrong_dscp,
            wrong_ecn: totals.wrong_ecn,
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
            mismarked: (now.wrong_dscp - self.wrong_dscp).max(now.wrong_ecn - self.wrong_ecn),
        }
    }
}
