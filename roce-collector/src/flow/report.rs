//! A flow in JSON: what `roce-trace read` prints and `/api/v1/flows` serves.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use roce_common::flow::opcode_of_index;
use roce_common::tap::{NAK_COUNTERS, NAK_UNKNOWN};
use roce_common::wire::{Opcode, Operation, RoceVersion, VlanTag};
use serde::{Deserialize, Serialize};

use super::{
    AcknowledgedReport, AnswersReport, Flow, RetriesReport, RttReport, SequenceReport, Spread,
};
use crate::capture::Timestamp;
use crate::timeline::{Entry, Told};

/// A flow. What is not known is `null` or left out, never 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowReport {
    /// Interface that saw it; left out for capture files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// `ingress` or `egress` at that interface; left out for capture files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<Cow<'static, str>>,
    /// Sender.
    pub src: IpAddr,
    /// Receiver.
    pub dst: IpAddr,
    /// Destination QP.
    pub dst_qp: u32,
    /// Source QP, where the packets (UD) say it, or the pair is known.
    pub src_qp: Option<u32>,
    /// `v1` or `v2`.
    pub version: Cow<'static, str>,
    /// Transport service, see [`roce_common::wire::Transport::name`].
    pub transport: Cow<'static, str>,
    /// VLAN number of the outer tag that the latest run of requests (else responses, CNPs) had; `null`
    /// when it had none, or none that the tap could see.
    pub vlan: Option<u16>,
    /// Packets.
    pub packets: u64,
    /// Bytes from the Ethernet header to the end of the IP packet.
    pub wire_bytes: u64,
    /// Bytes after all headers, without padding and ICRC.
    pub payload_bytes: u64,
    /// Packets by IBTA opcode name without the transport.
    pub opcodes: BTreeMap<Cow<'static, str>, u64>,
    /// PSNs of the flow's own requests; `null` when it has only responses or CNPs.
    pub psn: Option<PsnReport>,
    /// PSNs of the READ responses and atomic acknowledges among its responses, where looked at and there
    /// are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_psn: Option<SequenceReport>,
    /// Positive ACK packets; `null` when the capture cut them before their syndrome.
    pub acks: Option<u64>,
    /// NAK packets by code; `null` as for `acks`.
    pub naks: Option<NakReport>,
    /// RNR NAK packets; `null` as for `acks`.
    pub rnr_naks: Option<u64>,
    /// Timer that the last RNR NAK asked for, in milliseconds.
    pub rnr_timer_ms: Option<f64>,
    /// Congestion notification packets: to `dst_qp`, because it sends too fast.
    pub cnps: u64,
    /// What the peer sent back about this flow, in packets of the other direction, where the pair is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<AnswersReport>,
    /// Packets by ECN codepoint.
    pub ecn: EcnReport,
    /// Packets by DSCP.
    pub dscp: BTreeMap<u8, u64>,
    /// Packets with further DSCPs that the record did not tell apart; left out when there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub dscp_other: u64,
    /// Packets that are marked otherwise than the policy says.
    pub mismarked: MismarkedReport,
    /// Distinct UDP source ports. Records only count changes, so it is known as long as no record saw a
    /// change, else `null`; also `null` for RoCEv1, which has none.
    pub udp_src_ports: Option<u64>,
    /// How far its requests were acknowledged; left out when they were not, or nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acknowledged: Option<AcknowledgedReport>,
    /// Round-trip times of its requests, where measured.
    pub rtt_us: Option<RttReport>,
    /// Rewinds of the sender by the PSNs that they went back: the least of a bucket, and how many; left out
    /// when there are none or nobody looked.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub go_back_psns: BTreeMap<u32, u64>,
    /// Late packets by the PSNs that had overtaken them, as `go_back_psns`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reorder_psns: BTreeMap<u32, u64>,
    /// The most tries of one PSN without an answer; left out when there are none or nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<RetriesReport>,
    /// Path MTU, where learnt from First and Middle packets of either direction.
    pub pmtu: Option<u32>,
    /// When the last packet was seen.
    pub last_seen: Option<Timestamp>,
    /// What happened to it, where that was asked for and its pair is not known: a pair has its own.
    #[serde(default, skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Vec<Entry>>,
    /// The same, where this report came as JSON.
    #[serde(rename = "timeline", default, skip_serializing_if = "Vec::is_empty")]
    pub told: Vec<Told>,
}

/// PSNs of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PsnReport {
    /// First PSN seen.
    pub first: u32,
    /// Highest PSN seen, in serial order.
    pub last: u32,
    /// What became of them; left out for UD, and where the kernel had no room to look.
    #[serde(flatten)]
    pub sequence: Option<SequenceReport>,
}

/// NAK packets by code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names are those of the IBTA NAK codes")]
pub struct NakReport {
    pub psn_sequence_error: u64,
    pub invalid_request: u64,
    pub remote_access_error: u64,
    pub remote_operational_error: u64,
    pub invalid_rd_request: u64,
    /// Codes that no standard defines; left out when there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unknown: u64,
}

/// Packets by ECN codepoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names are those of RFC 3168")]
pub struct EcnReport {
    pub not_ect: u64,
    pub ect0: u64,
    pub ect1: u64,
    pub ce: u64,
}

/// Packets that are marked otherwise than the policy says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MismarkedReport {
    /// With another DSCP than expected of their kind.
    pub dscp: u64,
    /// Data that is not ECN-capable.
    pub not_ect: u64,
}

impl FlowReport {
    /// The report of a flow, without device and direction.
    pub fn of(flow: &Flow<'_>) -> Self {
        let id = flow.id;
        let naks = NakReport::of(flow);
        let rnr_naks = flow.rnr_naks();
        let opcodes = opcodes(flow);
        let acknowledges = opcodes.get(Operation::Acknowledge.name()).copied().unwrap_or(0);
        let [not_ect, ect1, ect0, ce] = flow.ecn();
        let requests = flow.requests();
        Self {
            device: None,
            direction: None,
            src: id.src,
            dst: id.dst,
            dst_qp: id.dst_qp,
            src_qp: id.src_qp.or(flow.records().find_map(|(_, totals)| totals.peer_qp)),
            version: Cow::Borrowed(match id.version {
                RoceVersion::V1 => "v1",
                RoceVersion::V2 => "v2",
            }),
            transport: Cow::Borrowed(id.transport.name()),
            vlan: flow.records().find_map(|(_, totals)| totals.vlan).map(VlanTag::id),
            packets: flow.packets(),
            wire_bytes: flow.sum(|totals| totals.wire_bytes),
            payload_bytes: flow.sum(|totals| totals.payload_bytes),
            opcodes,
            psn: requests.and_then(|totals| {
                let (first, last) = (totals.first_psn?, totals.highest_psn?);
                Some(PsnReport { first: first.get(), last: last.get(), sequence: totals.sequence })
            }),
            response_psn: flow.responses().and_then(|totals| totals.sequence),
            acks: Some(acknowledges.saturating_sub(naks.total() + rnr_naks)),
            naks: Some(naks),
            rnr_naks: Some(rnr_naks),
            rnr_timer_ms: rnr_timer_ms(flow),
            cnps: flow.cnps(),
            answers: None,
            ecn: EcnReport { not_ect, ect0, ect1, ce },
            dscp: dscp(flow),
            dscp_other: flow.sum(|totals| totals.dscp_other),
            mismarked: MismarkedReport {
                dscp: flow.sum(|totals| totals.wrong_dscp),
                not_ect: flow.sum(|totals| totals.wrong_ecn),
            },
            udp_src_ports: udp_source_ports(flow),
            acknowledged: None,
            rtt_us: None,
            go_back_psns: BTreeMap::new(),
            reorder_psns: BTreeMap::new(),
            retries: None,
            pmtu: flow.records().filter_map(|(_, totals)| totals.path_mtu).max(),
            last_seen: flow.last_seen,
            timeline: None,
            told: Vec::new(),
        }
    }

    /// The reports of all flows, those in trouble first: see [`Self::sort`].
    pub fn of_all(flows: &[Flow<'_>]) -> Vec<Self> {
        let mut reports: Vec<_> = flows.iter().map(Self::of).collect();
        Self::sort(&mut reports);
        reports
    }

    /// Sorts by trouble (losses, NAKs, retransmissions, wrong marks, CE marks, CNPs), then by packets. Equal ones keep their order.
    pub fn sort(reports: &mut [Self]) {
        reports.sort_by_cached_key(|report| {
            let naks = |naks: Option<NakReport>| naks.map_or(0, |naks| naks.total());
            let answers = report.answers.unwrap_or_default();
            let naks = naks(report.naks).max(naks(answers.naks))
                + report.rnr_naks.max(answers.rnr_naks).unwrap_or(0);
            let mismarked = report.mismarked.dscp.max(report.mismarked.not_ect);
            let psn = report.sequence().unwrap_or_default();
            let lost = psn.lost;
            Reverse((
                lost,
                naks,
                psn.retransmitted,
                mismarked,
                report.ecn.ce,
                report.cnps.max(answers.cnps),
                report.packets,
            ))
        });
    }

    /// What became of the PSNs of all its packets: requests and READ responses together. `None` where
    /// nobody looked, or PSNs have no order.
    pub fn sequence(&self) -> Option<SequenceReport> {
        match (self.psn.and_then(|psn| psn.sequence), self.response_psn) {
            (Some(requests), Some(responses)) => Some(requests.plus(&responses)),
            (requests, responses) => requests.or(responses),
        }
    }

    /// Takes the distributions of the flow's records.
    pub fn set_spread(&mut self, spread: &Spread) {
        self.rtt_us = spread.rtt();
        self.go_back_psns = spread.go_back();
        self.reorder_psns = spread.reorder();
    }

    /// Says that acknowledgements were seen without their syndrome, so nobody knows which were NAKs.
    pub fn hide_syndromes(&mut self) {
        if self.opcodes.contains_key(Operation::Acknowledge.name()) {
            self.acks = None;
            self.naks = None;
            self.rnr_naks = None;
        }
    }
}

impl NakReport {
    fn of(flow: &Flow<'_>) -> Self {
        Self::of_counters(&flow.naks())
    }

    /// Of counters by [`roce_common::tap::nak_index`].
    pub const fn of_counters(naks: &[u64; NAK_COUNTERS]) -> Self {
        Self {
            psn_sequence_error: naks[0],
            invalid_request: naks[1],
            remote_access_error: naks[2],
            remote_operational_error: naks[3],
            invalid_rd_request: naks[4],
            unknown: naks[NAK_UNKNOWN as usize],
        }
    }

    /// The sum of both.
    #[must_use]
    pub const fn plus(&self, other: &Self) -> Self {
        Self {
            psn_sequence_error: self.psn_sequence_error + other.psn_sequence_error,
            invalid_request: self.invalid_request + other.invalid_request,
            remote_access_error: self.remote_access_error + other.remote_access_error,
            remote_operational_error: self.remote_operational_error
                + other.remote_operational_error,
            invalid_rd_request: self.invalid_rd_request + other.invalid_rd_request,
            unknown: self.unknown + other.unknown,
        }
    }

    /// NAKs of every code.
    pub const fn total(&self) -> u64 {
        let Self {
            psn_sequence_error,
            invalid_request,
            remote_access_error,
            remote_operational_error,
            invalid_rd_request,
            unknown,
        } = *self;
        psn_sequence_error
            + invalid_request
            + remote_access_error
            + remote_operational_error
            + invalid_rd_request
            + unknown
    }
}

fn opcodes(flow: &Flow<'_>) -> BTreeMap<Cow<'static, str>, u64> {
    let mut opcodes = BTreeMap::new();
    for (tag, totals) in flow.records() {
        for (index, &packets) in totals.opcodes.iter().enumerate().filter(|(_, count)| **count != 0)
        {
            let operation =
                opcode_of_index(index, tag).map_or(Operation::Unknown(0), Opcode::operation);
            *opcodes.entry(Cow::Borrowed(operation.name())).or_default() += packets;
        }
    }
    opcodes
}

fn dscp(flow: &Flow<'_>) -> BTreeMap<u8, u64> {
    let mut dscp = BTreeMap::new();
    for (value, packets) in flow.records().flat_map(|(_, totals)| &totals.dscp) {
        *dscp.entry(*value).or_default() += packets;
    }
    dscp
}

fn rnr_timer_ms(flow: &Flow<'_>) -> Option<f64> {
    flow.records().find_map(|(_, totals)| totals.rnr_timer_ms())
}

fn udp_source_ports(flow: &Flow<'_>) -> Option<u64> {
    if flow.id.version == RoceVersion::V1 {
        return None;
    }
    let ports: Option<BTreeSet<_>> = flow
        .records()
        .map(|(_, totals)| {
            let is_known = totals.source_port_changes == 0 && totals.spilled_packets == 0;
            totals.source_port.filter(|_| is_known)
        })
        .collect();
    ports.map(|ports| ports.len() as u64)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests;
