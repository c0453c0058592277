//! Metrics of queue pairs.

use std::fmt;

use prometheus_client::encoding::DescriptorEncoder;

use super::family::{Labels, counter, label};
use super::snapshot::{Snapshot, direction};
use crate::sweep::Counts;

type Metric = (&'static str, &'static str, fn(&Counts) -> u64);

const METRICS: [Metric; 5] = [
    (
        "qp_packets",
        "RoCE packets to a queue pair. Only the worst and the busiest have series, up to --qp-series; a \
         series once there stays until its flow leaves the table, and starts at 0 when it comes back",
        |counts| counts.packets,
    ),
    ("qp_bytes", "Bytes of these packets, as in roce_bytes_total", |counts| counts.bytes),
    ("qp_ce_packets", "Packets to a queue pair with the ECN codepoint CE", |counts| counts.ce),
    ("qp_cnp_packets", "Congestion notification packets to a queue pair", |counts| counts.cnps),
    ("qp_nak_packets", "Negative acknowledgements to a queue pair, RNR too", |counts| counts.naks),
];

pub(super) fn encode(snapshot: &Snapshot, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let qps: Vec<(Labels<'_, 5>, Counts)> = snapshot
        .view
        .qps
        .iter()
        .filter(|(key, _)| snapshot.is_tap_attached(key.tap))
        .filter_map(|(key, counts)| {
            let labels = [
                label("device", snapshot.device(key.tap / 2)?),
                label("direction", direction(key.tap)),
                label("src", key.src.to_string()),
                label("dst", key.dst.to_string()),
                label("dst_qp", key.dst_qp.to_string()),
            ];
            Some((labels, *counts))
        })
        .collect();
    for (name, help, value) in METRICS {
        let series = qps.iter().map(|(labels, counts)| (labels.clone(), value(counts)));
        counter(encoder, name, help, series)?;
    }
    Ok(())
}
