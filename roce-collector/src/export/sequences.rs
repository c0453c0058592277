//! Metrics of PSNs, of one direction of one interface.

use std::fmt;

use prometheus_client::encoding::DescriptorEncoder;

use super::family::{Labels, counter, distribution, gauge, label};
use super::snapshot::Snapshot;
use crate::sweep::TapSequences;

type Metric = (&'static str, &'static str, fn(&TapSequences) -> u64);

const COUNTERS: [Metric; 10] = [
    (
        "lost_packets",
        "Packets that were missing when a later one came, and that the network dropped",
        |tap| tap.counts.lost,
    ),
    ("recovered_packets", "Of the lost packets, those that came later by retransmission", |tap| {
        tap.counts.recovered
    }),
    (
        "unseen_packets",
        "Packets that the receiver acknowledged and only the tap did not see: a mirror that drops, or \
         several paths",
        |tap| tap.counts.unseen,
    ),
    (
        "reordered_packets",
        "Packets that came late by themselves, without a retransmission",
        |tap| tap.counts.reordered,
    ),
    ("retransmitted_packets", "Packets whose PSN the tap had seen before", |tap| {
        tap.counts.retransmitted
    }),
    ("retransmitted_bytes", "Payload bytes of the retransmitted packets", |tap| {
        tap.counts.retransmitted_bytes
    }),
    (
        "go_back_n_episodes",
        "Times that a sender went back and sent again, after a NAK or for a READ response that was lost",
        |tap| tap.counts.go_back_n_episodes,
    ),
    ("timeouts", "Times that a sender went back and sent again after silence", |tap| {
        tap.counts.timeouts
    }),
    (
        "tap_duplicate_packets",
        "Packets that the tap saw twice; they count nowhere else among these",
        |tap| tap.counts.tap_duplicates,
    ),
    (
        "undecided_packets",
        "Missing packets whose flow left the tables before anybody could tell what became of them",
        |tap| tap.undecided,
    ),
];

pub(super) fn encode(snapshot: &Snapshot, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    for (name, help, value) in COUNTERS {
        counter(encoder, name, help, taps(snapshot, value))?;
    }
    gauge(
        encoder,
        "open_packets",
        "Missing packets of which nobody can tell yet what became of them",
        taps(snapshot, |tap| tap.open),
    )?;
    gauge(
        encoder,
        "sequence_untracked_records",
        "Flow records whose PSNs are not looked at because the kernel had no room: they are in none of the \
         figures of PSNs",
        taps(snapshot, |tap| tap.untracked),
    )?;
    let (all, used) = (snapshot.view.sequence_states, snapshot.view.used_sequence_states);
    let states = [("used", used), ("free", all.saturating_sub(used))];
    gauge(
        encoder,
        "collector_sequence_states",
        "Places for what the kernel keeps of a flow record whose packets were not all in order, or whose \
         round trips it times",
        states
            .map(|(state, states)| ([label("state", state)], states))
            .into_iter()
            .filter(|_| all != 0),
    )?;
    distribution(
        encoder,
        "rtt_seconds",
        "Round-trip time from the tap to the receiver and back, of one packet in a while that asks for an \
         answer and was not sent twice; the sum is estimated from the buckets",
        snapshot.taps().filter_map(|tap| {
            let spread = &tap.sequences?.spread;
            let labels = [label("device", tap.device), label("direction", tap.direction)];
            Some((labels, spread.rtt_sum(), spread.rtt_buckets()))
        }),
    )
}

fn taps(
    snapshot: &Snapshot,
    value: impl Fn(&TapSequences) -> u64,
) -> impl Iterator<Item = (Labels<'_, 2>, u64)> {
    snapshot.taps().filter_map(move |tap| {
        let labels = [label("device", tap.device), label("direction", tap.direction)];
        Some((labels, value(tap.sequences?)))
    })
}
