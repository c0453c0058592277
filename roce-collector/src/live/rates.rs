//! Rates over the last interval.

use std::time::Duration;

use serde::Serialize;

use crate::sweep::Counts;

/// Figures of one interval, of a flow or of everything that a tap saw.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rates {
    /// Packets.
    pub packets_per_second: f64,
    /// Bits from the Ethernet header to the end of the IP packet.
    pub bits_per_second: f64,
    /// Packets that the network dropped; `None` where nobody looked.
    pub lost_per_second: Option<f64>,
    /// Packets that the tap had seen before; `None` likewise.
    pub retransmitted_per_second: Option<f64>,
    /// NAKs of every code, RNR NAKs too.
    pub naks_per_second: f64,
    /// Congestion notification packets.
    pub cnps_per_second: f64,
    /// Packets marked otherwise than expected.
    pub mismarked_per_second: f64,
    /// Share of CE-marked packets, from 0 to 1; `None` when there was no packet.
    pub ce_ratio: Option<f64>,
}

impl Rates {
    /// Of what was counted in `interval`, which is not zero.
    pub(super) fn of(counts: &Counts, interval: Duration) -> Self {
        let rate = |count: u64| count as f64 / interval.as_secs_f64();
        Self {
            packets_per_second: rate(counts.packets),
            bits_per_second: rate(counts.bytes) * 8.0,
            lost_per_second: counts.psns.map(|psns| rate(psns.lost)),
            retransmitted_per_second: counts.psns.map(|psns| rate(psns.retransmitted)),
            naks_per_second: rate(counts.naks),
            cnps_per_second: rate(counts.cnps),
            mismarked_per_second: rate(counts.mismarked),
            ce_ratio: (counts.packets != 0).then(|| counts.ce as f64 / counts.packets as f64),
        }
    }
}
