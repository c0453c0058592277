//! Metrics of queue pairs.

use std::collections::BTreeMap;
use std::fmt;

use prometheus_client::encoding::DescriptorEncoder;

use super::family::{Labels, counter, gauge, label};
use super::snapshot::{Snapshot, direction};
use crate::sweep::Counts;

type Metric = (&'static str, &'static str, fn(&Counts) -> Option<u64>);

const METRICS: [Metric; 9] = [
    (
        "qp_packets",
        "RoCE packets to a queue pair. Only the worst and the busiest have series, up to --qp-series; a \
         series ends when its flow leaves the table, and starts at 0 when that comes back",
        |counts| Some(counts.packets),
    ),
    ("qp_bytes", "Bytes of these packets, as in roce_bytes_total", |counts| Some(counts.bytes)),
    (
        "qp_lost_packets",
        "Packets to a queue pair that the network dropped, as in roce_lost_packets_total; absent where \
         PSNs have no order, or the kernel had no room to look at them",
        |counts| Some(counts.psns?.lost),
    ),
    (
        "qp_unseen_packets",
        "Packets that the queue pair got and only the tap did not see",
        |counts| Some(counts.psns?.unseen),
    ),
    ("qp_reordered_packets", "Packets that came late by themselves", |counts| {
        Some(counts.psns?.reordered)
    }),
    ("qp_retransmitted_packets", "Packets that the tap had seen before", |counts| {
        Some(counts.psns?.retransmitted)
    }),
    ("qp_ce_packets", "Packets to a queue pair with the ECN codepoint CE", |counts| {
        Some(counts.ce)
    }),
    ("qp_cnp_packets", "Congestion notification packets to a queue pair", |counts| {
        Some(counts.cnps)
    }),
    ("qp_nak_packets", "Negative acknowledgements to a queue pair, RNR too", |counts| {
        Some(counts.naks)
    }),
];

pub(super) fn encode(snapshot: &Snapshot, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let qps: Vec<(Labels<'_, 5>, Counts)> = snapshot
        .view
        .qps
        .iter()
        .filter(|(key, _)| snapshot.sees_tap(key.tap))
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
        let series =
            qps.iter().filter_map(|(labels, counts)| Some((labels.clone(), value(counts)?)));
        counter(encoder, name, help, series)?;
    }
    gauge(
        encoder,
        "qp_retry_ladder",
        "Times that the sender to a queue pair sent the same oldest PSN again without an answer; absent \
         while it gets answers. At its retry count, at most 7, it gives up",
        ladders(snapshot),
    )
}

/// A queue pair that both directions of an interface see counts once.
fn ladders(snapshot: &Snapshot) -> impl Iterator<Item = (Labels<'_, 4>, u64)> {
    let mut ladders = BTreeMap::new();
    for (key, tries) in snapshot.view.ladders.iter().filter(|(key, _)| snapshot.sees_tap(key.tap)) {
        let most = ladders.entry((key.tap / 2, key.src, key.dst, key.dst_qp)).or_insert(0);
        *most = (*most).max(*tries);
    }
    ladders.into_iter().filter_map(|((device, src, dst, dst_qp), tries)| {
        let labels = [
            label("device", snapshot.device(device)?),
            label("src", src.to_string()),
            label("dst", dst.to_string()),
            label("dst_qp", dst_qp.to_string()),
        ];
        Some((labels, u64::from(tries)))
    })
}
