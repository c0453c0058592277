//! Metrics of the flow tables.

use std::fmt;

use prometheus_client::encoding::DescriptorEncoder;
use roce_common::tap::TapCounters;

use super::family::{Labels, counter, gauge, label};
use super::snapshot::Snapshot;
use crate::sweep::DeviceFigures;

pub(super) fn encode(snapshot: &Snapshot, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    gauge(
        encoder,
        "flows",
        "Flows in the tables: source, destination, destination queue pair, and direction",
        figures(snapshot, |figures| figures.flows),
    )?;
    counter(
        encoder,
        "flows_evicted",
        "Flows that left the tables because they were idle; what they counted stays in all other counters",
        figures(snapshot, |figures| figures.evicted),
    )?;
    counter(
        encoder,
        "flow_table_full",
        "Packets that found no free slot in the flow tables; the fallback map took them, or see \
         roce_flow_other_packets_total",
        sums(snapshot, |tap| tap.table_full),
    )?;
    counter(
        encoder,
        "flow_slot_busy",
        "Packets whose slot another CPU held for too long; the fallback map took them",
        sums(snapshot, |tap| tap.slot_busy),
    )?;
    counter(
        encoder,
        "flow_other_packets",
        "Packets that neither the flow tables nor the fallback map had room for: they are in no flow and \
         no pair of hosts, but in roce_packets_total and its like",
        sums(snapshot, |tap| tap.other_packets),
    )?;
    counter(
        encoder,
        "flow_other_bytes",
        "Bytes of the packets of roce_flow_other_packets_total",
        sums(snapshot, |tap| tap.other_bytes),
    )
}

fn figures(
    snapshot: &Snapshot,
    value: impl Fn(&DeviceFigures) -> u64,
) -> impl Iterator<Item = (Labels<'_, 1>, u64)> {
    snapshot.devices().filter_map(move |(device, name)| {
        let figures = snapshot.view.devices.get(device)?;
        Some(([label("device", name)], value(figures)))
    })
}

/// Both directions of each device.
fn sums(
    snapshot: &Snapshot,
    value: impl Fn(&TapCounters) -> u64,
) -> impl Iterator<Item = (Labels<'_, 1>, u64)> {
    snapshot.devices().map(move |(device, name)| {
        let taps = snapshot.view.taps.iter().skip(device * 2).take(2);
        ([label("device", name)], taps.map(&value).sum())
    })
}
