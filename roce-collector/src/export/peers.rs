//! Metrics of pairs of hosts.

use std::fmt;

use prometheus_client::encoding::DescriptorEncoder;

use super::family::{Labels, counter, gauge, label};
use super::snapshot::Snapshot;
use crate::sweep::{Counts, PeerKey};

type Metric = (&'static str, &'static str, fn(&Counts) -> Option<u64>);

const METRICS: [Metric; 8] = [
    (
        "peer_packets",
        "RoCE packets from src to dst, whatever flows come and go; pairs beyond the limit are src=\"other\"",
        |counts| Some(counts.packets),
    ),
    ("peer_bytes", "Bytes of these packets, as in roce_bytes_total", |counts| Some(counts.bytes)),
    (
        "peer_lost_packets",
        "Packets from src that the network dropped on the way to dst, as in roce_lost_packets_total",
        |counts| Some(counts.psns?.lost),
    ),
    (
        "peer_retransmitted_packets",
        "Packets from src to dst that the tap had seen before",
        |counts| Some(counts.psns?.retransmitted),
    ),
    ("peer_ce_packets", "Packets with the ECN codepoint CE", |counts| Some(counts.ce)),
    ("peer_cnp_packets", "Congestion notification packets that src sent to dst", |counts| {
        Some(counts.cnps)
    }),
    ("peer_nak_packets", "Negative acknowledgements that src sent to dst, RNR too", |counts| {
        Some(counts.naks)
    }),
    (
        "peer_mismarked_packets",
        "Packets marked otherwise than expected: the larger of wrong DSCP and not ECN-capable, summed up \
         flow by flow",
        |counts| Some(counts.mismarked),
    ),
];

pub(super) fn encode(snapshot: &Snapshot, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let peers = snapshot.view.peers.iter();
    let peers: Vec<_> =
        peers.filter_map(|(key, counts)| Some((labels(snapshot, key)?, *counts))).collect();
    for (name, help, value) in METRICS {
        let series =
            peers.iter().filter_map(|(labels, counts)| Some((labels.clone(), value(counts)?)));
        counter(encoder, name, help, series)?;
    }
    gauge(
        encoder,
        "peer_rtt_seconds",
        "Round-trip time from the tap to dst and back, of packets from src in the last 30 to 60 seconds; \
         absent for pairs without a sample in them",
        snapshot.view.peer_rtts.iter().flat_map(|(key, rtt)| {
            let labels = labels(snapshot, key);
            let stats = [("p50", rtt.p50), ("p99", rtt.p99)].into_iter();
            stats.filter_map(move |(stat, microseconds)| {
                let [device, src, dst] = labels.clone()?;
                Some(([device, src, dst, label("stat", stat)], microseconds / 1e6))
            })
        }),
    )
}

/// Labels of a pair; `None` where nothing sees what passes.
fn labels<'a>(snapshot: &'a Snapshot, key: &PeerKey) -> Option<Labels<'a, 3>> {
    let device = snapshot.device(key.device).filter(|_| snapshot.sees(key.device))?;
    let ends = key.ends.map(|(src, dst)| (src.to_string(), dst.to_string()));
    let (src, dst) = ends.unwrap_or_else(|| ("other".to_owned(), "other".to_owned()));
    Some([label("device", device), label("src", src), label("dst", dst)])
}
