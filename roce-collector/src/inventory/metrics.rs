//! Metrics of the queue pairs, and of how they are read.

use std::fmt;
use std::sync::Arc;

use prometheus_client::encoding::DescriptorEncoder;

use super::netlink::ReadCounts;
use super::owner::OwnerCounts;
use super::qp::{QpState, QpType};
use crate::export::family::{counter, gauge, histogram, label};
use crate::sweep::Durations;

/// What is exported. A host where no RDMA device was ever seen has none.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// Queue pairs by device, type and state; none when the last sweep failed.
    pub qps: Vec<(Arc<str>, QpType, QpState, u64)>,
    /// Queue pairs that were found in ERR, by device and type.
    pub failed: Vec<(Arc<str>, QpType, u64)>,
    /// What could not be read.
    pub reads: ReadCounts,
    /// What was not found about processes.
    pub owners: OwnerCounts,
    /// Queue pairs that were given up.
    pub out_of_sight: u64,
    /// Events that nobody took in time.
    pub lost_events: u64,
    /// Sweeps that were left out.
    pub skipped: u64,
    /// How long the sweeps took.
    pub durations: Durations,
}

/// Writes all families.
pub(crate) fn encode(figures: &Figures, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    gauge(
        encoder,
        "rdma_qps",
        "Queue pairs of this host by RDMA device, transport service and state, as the kernel lists them",
        figures.qps.iter().map(|(device, qp_type, state, qps)| {
            let labels = [
                label("device", &**device),
                label("type", qp_type.name()),
                label("state", state.name()),
            ];
            (labels, *qps)
        }),
    )?;
    counter(
        encoder,
        "rdma_qps_failed",
        "Queue pairs that a sweep found in the state ERR and the one before did not; those that are gone \
         before a sweep are not in it",
        figures.failed.iter().map(|(device, qp_type, qps)| {
            ([label("device", &**device), label("type", qp_type.name())], *qps)
        }),
    )?;
    let reads = &figures.reads;
    let lost = [
        ("damaged_record", reads.losses.damaged),
        ("foreign_message", reads.losses.foreign),
        ("truncated_datagram", reads.truncated),
        ("failed_dump", reads.failed),
        ("over_limit", reads.losses.over_limit),
        ("out_of_sight", figures.out_of_sight),
        ("hidden_process", figures.owners.hidden),
        ("event", figures.lost_events),
    ];
    counter(
        encoder,
        "rdma_lost",
        "What the inventory of queue pairs could not read or keep, by kind",
        lost.map(|(what, times)| ([label("what", what)], times)),
    )?;
    let put_off = [
        ("sweep", figures.skipped),
        ("process", figures.owners.put_off),
        ("interrupted_dump", reads.repeated),
    ];
    counter(
        encoder,
        "rdma_put_off",
        "What was done later: sweeps left out because one took more than a tenth of the time, processes \
         looked up in the next sweep, dumps repeated because the kernel's lists changed",
        put_off.map(|(what, times)| ([label("what", what)], times)),
    )?;
    histogram(
        encoder,
        "rdma_sweep_seconds",
        "Time that sweeps over the kernel's queue pairs took, the NIC's answers in it",
        &figures.durations,
    )
}
