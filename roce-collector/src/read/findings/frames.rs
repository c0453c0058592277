//! Frames that are damaged, cut or odd.

use roce_common::wire::{ParseReason, RoceVersion};

use super::{Affected, CAPTURE, Finding, Severity, counted, name_flow};
use crate::flow::Flow;
use crate::read::Reading;

/// Findings about frames; the one about RoCEv1 is about `flows`.
pub(super) fn find(reading: &Reading, flows: &[Flow<'_>]) -> Vec<Finding> {
    let checks = [icrc, fragments, malformed, same_mac, cut, cut_reads, too_many_flows];
    let found = checks.map(|check| check(reading));
    found.into_iter().flatten().chain(roce_v1(flows)).collect()
}

fn warn(id: &'static str, message: String, fix: &str) -> Finding {
    Finding { id, severity: Severity::Warn, subject: CAPTURE.into(), message, fix: fix.into() }
}

fn icrc(reading: &Reading) -> Option<Finding> {
    let icrc = reading.counts.icrc;
    match (icrc.good, icrc.bad) {
        (_, 0) => None,
        (0, bad) => Some(Finding {
            severity: Severity::Info,
            ..warn(
                "icrc_absent",
                format!(
                    "not one of {} has a right ICRC: they were captured before the NIC adds it, or \
                     edited; corruption cannot be seen here",
                    counted(bad, "packet")
                ),
                "capture on a switch mirror port or on the receiving host to have ICRCs checked",
            )
        }),
        (good, bad) => Some(warn(
            "icrc_bad",
            format!(
                "wrong ICRC on {bad} of {} packets: a receiver drops them silently",
                good + bad
            ),
            "look for a NIC, cable or switch that corrupts packets: symbol and FCS error counters \
             along the path",
        )),
    }
}

fn fragments(reading: &Reading) -> Option<Finding> {
    let first = reading.tap.reason[ParseReason::FirstFragment as usize];
    let later = reading.tap.reason[ParseReason::IpFragment as usize];
    if first != 0 {
        return Some(warn(
            "fragments",
            format!(
                "{} fragmented ({} without a head): NICs do not reassemble RoCE, the message is \
                 lost",
                counted(first, "RoCE packet"),
                counted(later, "fragment")
            ),
            "make the IP MTU of every interface on the path larger than the RDMA path MTU by the \
             headers: 4200 or more for a path MTU of 4096",
        ));
    }
    (later != 0).then(|| Finding {
        severity: Severity::Info,
        ..warn(
            "udp_fragments",
            format!("{} without a head: nobody can tell whether they are RoCE", {
                counted(later, "UDP fragment")
            }),
            "capture without a filter on UDP ports, so that heads and tails are both seen",
        )
    })
}

fn malformed(reading: &Reading) -> Option<Finding> {
    let seen: Vec<_> = ParseReason::ALL
        .iter()
        .zip(reading.tap.reason)
        .filter(|(reason, frames)| *frames != 0 && is_malformed(**reason, reading))
        .map(|(reason, frames)| format!("{frames}: {reason}"))
        .collect();
    (!seen.is_empty()).then(|| {
        warn(
            "malformed",
            format!("frames that look like RoCE but cannot be read: {}", seen.join("; ")),
            "look at them with tshark; they are in no flow",
        )
    })
}

/// Fragments have a finding of their own, and so have frames that the capture cut.
fn is_malformed(reason: ParseReason, reading: &Reading) -> bool {
    let is_fragment = matches!(reason, ParseReason::FirstFragment | ParseReason::IpFragment);
    let is_cut = reason.is_truncation() && reading.counts.truncated != 0;
    !is_fragment && !is_cut
}

fn same_mac(reading: &Reading) -> Option<Finding> {
    let counts = &reading.counts;
    (counts.same_mac != 0).then(|| Finding {
        subject: counts.same_mac_flow.as_ref().map_or_else(|| CAPTURE.into(), name_flow),
        ..warn(
            "same_mac",
            format!(
                "L2 loop: {} with the same source and destination MAC address",
                counted(counts.same_mac, "packet")
            ),
            "check the neighbour table (`ip neigh`) and the MAC addresses of both hosts: one \
             resolves the other's address to its own",
        )
    })
}

fn cut(reading: &Reading) -> Option<Finding> {
    let counts = &reading.counts;
    let unread: u64 = ParseReason::ALL
        .iter()
        .zip(reading.tap.reason)
        .filter(|(reason, _)| reason.is_truncation())
        .map(|(_, frames)| frames)
        .sum();
    (counts.truncated != 0 && counts.without_headers + unread != 0).then(|| {
        warn(
            "cut_headers",
            format!(
                "the capture cut {} before the end of the headers, {unread} before the BTH{}",
                counted(counts.without_headers + unread, "packet"),
                if counts.without_syndrome + unread == 0 {
                    ""
                } else {
                    ": ACKs and NAKs cannot be told apart"
                }
            ),
            "capture 128 bytes of a packet or more (`tcpdump -s 128`)",
        )
    })
}

fn cut_reads(reading: &Reading) -> Option<Finding> {
    let reads = reading.counts.without_read_length;
    (reads != 0).then(|| {
        warn(
            "read_length_unknown",
            format!(
                "READ length unknown: the capture cut {} before it, so nobody knows how many PSNs they \
                 take, and a gap right behind one is not claimed",
                counted(reads, "READ request")
            ),
            "capture 128 bytes of a packet or more (`tcpdump -s 128`)",
        )
    })
}

fn too_many_flows(reading: &Reading) -> Option<Finding> {
    let packets = reading.other_flows.packets;
    (packets != 0).then(|| {
        warn(
            "too_many_flows",
            format!("{} of flows beyond the limit, not in the list", counted(packets, "packet")),
            "raise --max-flows",
        )
    })
}

fn roce_v1(flows: &[Flow<'_>]) -> Option<Finding> {
    let mut v1 = Affected::default();
    for flow in flows.iter().filter(|flow| flow.id.version == RoceVersion::V1) {
        v1.add(flow.id, flow.packets());
    }
    (!v1.is_empty()).then(|| Finding {
        id: "roce_v1",
        severity: Severity::Warn,
        subject: v1.named(name_flow),
        message: format!(
            "{} of RoCEv1: not routed, and a switch neither marks them nor sorts them by DSCP",
            counted(v1.packets, "packet")
        ),
        fix: "choose a GID of type RoCE v2 (NCCL_IB_GID_INDEX, UCX_IB_GID_INDEX, perftest -x; \
              `show_gids` lists them)"
            .into(),
    })
}
