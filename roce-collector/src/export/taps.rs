//! Metrics of one direction of one interface.

use std::fmt;

use prometheus_client::encoding::DescriptorEncoder;
use roce_common::marking::{MarkingPolicy, PacketClass};
use roce_common::tap::{NAK_RNR, NAK_UNKNOWN, TapCounters};
use roce_common::wire::{Nak, Opcode, ParseReason, TrafficClass};

use super::family::{Labels, counter, label};
use super::snapshot::{Snapshot, Tap};

/// ECN codepoints in the order of their two bits.
const ECN: [&str; 4] = ["not_ect", "ect1", "ect0", "ce"];

pub(super) fn encode(snapshot: &Snapshot, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    counter(
        encoder,
        "packets",
        "RoCE packets by version: v2 over UDP port 4791, v1 over EtherType 0x8915",
        with(snapshot, "version", |tap| {
            let v1 = tap.v1_packets;
            vec![("v2".to_owned(), tap.packets().saturating_sub(v1)), ("v1".to_owned(), v1)]
        }),
    )?;
    counter(
        encoder,
        "bytes",
        "Bytes of RoCE packets, from the Ethernet header to the end of the IP packet",
        snapshot.taps().map(|tap| (labels(&tap), tap.counters.wire_bytes)),
    )?;
    counter(
        encoder,
        "ecn_packets",
        "RoCE packets by ECN codepoint; ce was marked by a congested switch",
        with(snapshot, "ecn", |tap| {
            let packets = |ecn| sum(tap, |tos| usize::from(tos.0 & 3) == ecn);
            (0..).zip(ECN).map(|(ecn, name)| (name.to_owned(), packets(ecn))).collect()
        }),
    )?;
    counter(
        encoder,
        "dscp_packets",
        "RoCE packets by DSCP; only values that were seen",
        with(snapshot, "dscp", |tap| {
            let packets = |dscp| sum(tap, |tos| tos.dscp() == dscp);
            let seen = (0..64).map(|dscp| (dscp.to_string(), packets(dscp)));
            seen.filter(|(_, packets)| *packets != 0).collect()
        }),
    )?;
    counter(
        encoder,
        "cnp_packets",
        "Congestion notification packets",
        snapshot.taps().map(|tap| (labels(&tap), tap.counters.opcode[usize::from(Opcode::CNP.0)])),
    )?;
    counter(
        encoder,
        "nak_packets",
        "Negative acknowledgements by code; rnr is receiver not ready",
        with(snapshot, "code", naks),
    )?;
    counter(
        encoder,
        "mismarked_packets",
        "Packets marked otherwise than expected, by kind: DSCP of data and acknowledgements, data not \
         ECN-capable, priority of tagged data, DSCP of CNPs; only kinds that are checked",
        with(snapshot, "kind", |tap| mismarked(tap, snapshot.marking)),
    )?;
    counter(
        encoder,
        "parse_errors",
        "Frames that could be RoCE but cannot be read, by reason",
        with(snapshot, "reason", |tap| {
            let reasons = ParseReason::ALL.iter().zip(tap.reason);
            reasons.map(|(reason, frames)| (reason.name().to_owned(), frames)).collect()
        }),
    )
}

fn labels<'a>(tap: &Tap<'a>) -> Labels<'a, 2> {
    [label("device", tap.device), label("direction", tap.direction)]
}

/// The series of every tap, with one label more.
fn with<'a>(
    snapshot: &'a Snapshot,
    name: &'static str,
    values: impl Fn(&TapCounters) -> Vec<(String, u64)>,
) -> impl Iterator<Item = (Labels<'a, 3>, u64)> {
    snapshot.taps().flat_map(move |tap| {
        let [device, direction] = labels(&tap);
        let series = values(tap.counters).into_iter();
        series.map(move |(value, count)| {
            ([device.clone(), direction.clone(), label(name, value)], count)
        })
    })
}

/// Packets of every class with such a traffic class.
fn sum(tap: &TapCounters, is_wanted: impl Fn(TrafficClass) -> bool) -> u64 {
    tap.marking.iter().map(|row| sum_row(row, &is_wanted)).sum()
}

fn sum_row(row: &[u64; 256], is_wanted: impl Fn(TrafficClass) -> bool) -> u64 {
    let wanted = (0..=255).zip(row).filter(|(tos, _)| is_wanted(TrafficClass(*tos)));
    wanted.map(|(_, packets)| packets).sum()
}

fn naks(tap: &TapCounters) -> Vec<(String, u64)> {
    let codes = (0..).zip(Nak::ALL).map(|(index, nak): (usize, _)| (nak.name(), index));
    let others = [("unknown", usize::from(NAK_UNKNOWN)), ("rnr", usize::from(NAK_RNR))];
    codes.chain(others).map(|(code, index)| (code.to_owned(), tap.nak[index])).collect()
}

fn mismarked(tap: &TapCounters, policy: MarkingPolicy) -> Vec<(String, u64)> {
    let wrong_dscp = |class: PacketClass| {
        sum_row(&tap.marking[class as usize], |tos| policy.is_wrong_dscp(class, tos))
    };
    let data = PacketClass::Data;
    let not_ect = sum_row(&tap.marking[data as usize], |tos| policy.is_wrong_ecn(data, tos));
    let pcp = (0..8).zip(tap.data_pcp).filter(|(pcp, _)| policy.is_wrong_pcp(data, *pcp));
    let is_set = |expected: u8| expected != MarkingPolicy::ANY;
    let kinds = [
        (
            "dscp",
            is_set(policy.data_dscp) || is_set(policy.ack_dscp),
            wrong_dscp(data) + wrong_dscp(PacketClass::Acknowledge),
        ),
        ("not_ect", policy.ect_required != 0, not_ect),
        ("pcp", is_set(policy.data_pcp), pcp.map(|(_, packets)| packets).sum()),
        ("cnp_dscp", is_set(policy.cnp_dscp), wrong_dscp(PacketClass::Cnp)),
    ];
    let checked = kinds.into_iter().filter(|(_, is_checked, _)| *is_checked);
    checked.map(|(kind, _, packets)| (kind.to_owned(), packets)).collect()
}
