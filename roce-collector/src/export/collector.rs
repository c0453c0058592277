//! Metrics of the collector itself, and of what it can see.

use std::fmt;

use prometheus_client::encoding::DescriptorEncoder;

use super::family::{Labels, counter, gauge, histogram, label};
use super::snapshot::{ProgramRuns, Snapshot};

pub(super) fn encode(snapshot: &Snapshot, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    gauge(
        encoder,
        "capture_visible_ratio",
        "Packets that the hooks see of those that the NIC counts; near 0 when RDMA traffic bypasses the \
         kernel, absent when not known",
        snapshot.attached_devices().filter_map(|(device, name)| {
            let ratio = (*snapshot.visible_ratios.get(device)?)?;
            Some(([label("device", name)], ratio))
        }),
    )?;
    gauge(
        encoder,
        "collector_build_info",
        "Version and revision; always 1",
        [(
            [label("version", env!("CARGO_PKG_VERSION")), label("revision", env!("ROCE_REVISION"))],
            1_u64,
        )],
    )?;
    gauge(
        encoder,
        "collector_hook_info",
        "What is attached; always 1, absent for what is not attached",
        snapshot.attached_taps().map(|tap| {
            let labels: Labels<'_, 4> = [
                label("device", tap.device),
                label("direction", tap.direction),
                label("hook", tap.hook.hook),
                label("mode", tap.hook.mode),
            ];
            (labels, 1_u64)
        }),
    )?;
    let unknown_tap: u64 = snapshot.view.taps.iter().map(|tap| tap.unknown_tap).sum();
    let lost = [
        ("unknown_interface", unknown_tap),
        ("flow_limit", snapshot.view.unplaced_packets),
        ("event_ring", snapshot.view.taps.iter().map(|tap| tap.events_lost).sum()),
        ("event_records", snapshot.view.forgotten_events),
        ("history", snapshot.view.refused_histories),
        ("trouble", snapshot.view.dropped_troubles),
        ("ladder_warnings", snapshot.view.dropped_ladder_steps),
    ];
    counter(
        encoder,
        "collector_events_lost",
        "What was seen and could not be kept, by stage: packets of an interface that is not in the list \
         (in no counter), packets of the fallback map beyond its flow limit (in all but roce_qp and the \
         flow list)",
        lost.map(|(stage, events)| ([label("stage", stage)], events)),
    )?;
    counter(
        encoder,
        "collector_busy_records",
        "Flow records that changed too quickly to be read in a sweep; the next sweep takes them up",
        [([], snapshot.view.busy_records)],
    )?;
    histogram(
        encoder,
        "collector_sweep_seconds",
        "Time that sweeps over the flow tables took",
        &snapshot.durations,
    )?;
    counter(
        encoder,
        "collector_ebpf_run_seconds",
        "Time that the kernel spent in a program; only with --bpf-stats, which costs time itself",
        programs(snapshot, |program| program.time.as_secs_f64()),
    )?;
    counter(
        encoder,
        "collector_ebpf_runs",
        "Runs of a program, one for each frame it saw; only with --bpf-stats",
        programs(snapshot, |program| program.runs),
    )
}

fn programs<V>(
    snapshot: &Snapshot,
    value: impl Fn(&ProgramRuns) -> V,
) -> impl Iterator<Item = (Labels<'_, 1>, V)> {
    let programs = snapshot.programs.iter();
    programs.map(move |program| ([label("program", program.program.as_str())], value(program)))
}
