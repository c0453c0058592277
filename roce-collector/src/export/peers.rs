//! Metrics of pairs of hosts.

use std::fmt;

use prometheus_client::encoding::DescriptorEncoder;

use super::family::{Labels, counter, label};
use super::snapshot::Snapshot;
use crate::sweep::Counts;

type Metric = (&'static str, &'static str, fn(&Counts) -> u64);

const METRICS: [Metric; 6] = [
    (
        "peer_packets",
        "RoCE packets from src to dst, whatever flows come and go; pairs beyond the limit are src=\"other\"",
        |counts| counts.packets,
    ),
    ("peer_bytes", "Bytes of these packets, as in roce_bytes_total", |counts| counts.bytes),
    ("peer_ce_packets", "Packets with the ECN codepoint CE", |counts| counts.ce),
    ("peer_cnp_packets", "Congestion notification packets that src sent to dst", |counts| {
        counts.cnps
    }),
    ("peer_nak_packets", "Negative acknowledgements that src sent to dst, RNR too", |counts| {
        counts.naks
    }),
    (
        "peer_mismarked_packets",
        "Packets marked otherwise than expected: the larger of wrong DSCP and not ECN-capable, summed up \
         flow by flow",
        |counts| counts.mismarked,
    ),
];

pub(super) fn encode(snapshot: &Snapshot, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let peers: Vec<(Labels<'_, 3>, Counts)> = snapshot
        .view
        .peers
        .iter()
        .filter(|(key, _)| snapshot.is_attached(key.device))
        .filter_map(|(key, counts)| {
            let ends = key.ends.map(|(src, dst)| (src.to_string(), dst.to_string()));
            let (src, dst) = ends.unwrap_or_else(|| ("other".to_owned(), "other".to_owned()));
            let device = snapshot.device(key.device)?;
            Some(([label("device", device), label("src", src), label("dst", dst)], *counts))
        })
        .collect();
    for (name, help, value) in METRICS {
        let series = peers.iter().map(|(labels, counts)| (labels.clone(), value(counts)));
        counter(encoder, name, help, series)?;
    }
    Ok(())
}
