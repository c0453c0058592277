//! DSCP, ECN and PCP against the policy, and between the two directions of a pair of hosts.

use std::collections::BTreeMap;
use std::net::IpAddr;

use roce_common::flow::PsnSpace;
use roce_common::marking::MarkingPolicy;
use roce_common::wire::Transport;

use super::{Affected, CAPTURE, Finding, Severity, counted, name_flow};
use crate::flow::{Flow, FlowId, RecordTotals};
use crate::read::Reading;

/// Findings about the marking of `flows`.
pub(super) fn find(policy: MarkingPolicy, flows: &[Flow<'_>]) -> Vec<Finding> {
    let mut zero = Affected::default();
    let mut other = Affected::default();
    let mut notifications = Affected::default();
    let mut not_ect = Affected::default();
    for flow in flows {
        let (mut flow_zero, mut flow_other) = (0, 0);
        for (tag, totals) in flow.records() {
            if tag.transport() == Transport::Cnp {
                notifications.add(flow.id, totals.wrong_dscp);
                continue;
            }
            let on_zero = totals.dscp.get(&0).copied().unwrap_or(0).min(totals.wrong_dscp);
            flow_zero += on_zero;
            flow_other += totals.wrong_dscp - on_zero;
        }
        zero.add(flow.id, flow_zero);
        other.add(flow.id, flow_other);
        not_ect.add(flow.id, flow.sum(|totals| totals.wrong_ecn));
    }
    let found = [
        (!zero.is_empty()).then(|| dscp_zero(policy, &mut zero)),
        (!other.is_empty()).then(|| dscp_unexpected(policy, &mut other)),
        asymmetric(policy, flows),
        (!not_ect.is_empty()).then(|| not_ecn_capable(&mut not_ect)),
        (!notifications.is_empty()).then(|| cnp_dscp(policy, &mut notifications)),
    ];
    found.into_iter().flatten().collect()
}

fn dscp_zero(policy: MarkingPolicy, zero: &mut Affected<FlowId>) -> Finding {
    Finding {
        id: "dscp_zero",
        severity: Severity::Warn,
        subject: zero.named(name_flow),
        message: format!(
            "DSCP 0 on {}, expected {}: the traffic class is not set, and they travel in the \
             default class, which is not lossless",
            zero.counted(),
            expected(policy)
        ),
        fix: set_traffic_class(policy),
    }
}

fn dscp_unexpected(policy: MarkingPolicy, other: &mut Affected<FlowId>) -> Finding {
    Finding {
        id: "dscp_unexpected",
        severity: Severity::Warn,
        subject: other.named(name_flow),
        message: format!("{} with another DSCP than {}", other.counted(), expected(policy)),
        fix: format!(
            "{}; or say what this fabric uses with --expect-dscp",
            set_traffic_class(policy)
        ),
    }
}

fn not_ecn_capable(not_ect: &mut Affected<FlowId>) -> Finding {
    Finding {
        id: "not_ecn_capable",
        severity: Severity::Warn,
        subject: not_ect.named(name_flow),
        message: format!(
            "{} not ECN-capable: a congested switch drops them instead of marking them, and DCQCN \
             cannot slow down their senders",
            counted(not_ect.packets, "data packet")
        ),
        fix: "enable RoCE congestion control (ECN) on the sender's NIC, and set a traffic class \
              whose two lowest bits are 10, ECT(0)"
            .into(),
    }
}

fn cnp_dscp(policy: MarkingPolicy, notifications: &mut Affected<FlowId>) -> Finding {
    Finding {
        id: "cnp_dscp",
        severity: Severity::Warn,
        subject: notifications.named(name_flow),
        message: format!(
            "{} with another DSCP than {}: they may wait behind the traffic they should slow down",
            counted(notifications.packets, "CNP"),
            policy.cnp_dscp
        ),
        fix: format!(
            "set the CNP DSCP of the sender's NIC to {} and map it to a strict priority queue; or \
             say what this fabric uses with --expect-cnp-dscp",
            policy.cnp_dscp
        ),
    }
}

/// Tagged data on another priority than expected, over the whole file.
pub(super) fn find_pcp(reading: &Reading) -> Option<Finding> {
    let expected = reading.marking.data_pcp;
    let pcps = (0_u8..).zip(reading.tap.data_pcp);
    let wrong: Vec<_> = pcps.filter(|(pcp, packets)| *pcp != expected && *packets != 0).collect();
    if expected == MarkingPolicy::ANY || wrong.is_empty() {
        return None;
    }
    let seen: Vec<_> =
        wrong.iter().map(|(pcp, packets)| format!("{packets} on priority {pcp}")).collect();
    Some(Finding {
        id: "pcp_unexpected",
        severity: Severity::Warn,
        subject: CAPTURE.into(),
        message: format!("tagged data on another priority than {expected}: {}", seen.join(", ")),
        fix: "check the egress priority map of the VLAN interface and the trust mode of the NIC"
            .into(),
    })
}

/// Two hosts that mark their packets to each other differently: one ignores its configuration.
fn asymmetric(policy: MarkingPolicy, flows: &[Flow<'_>]) -> Option<Finding> {
    let directions = dscp_of_directions(policy, flows);
    let mut pairs = Affected::default();
    for (&(a, b), here) in &directions {
        let Some(back) = directions.get(&(b, a)).filter(|_| a < b) else { continue };
        let (a_dscp, b_dscp) = (most_used(here), most_used(back));
        if a_dscp != b_dscp {
            pairs.add((a, a_dscp, b, b_dscp), here.values().chain(back.values()).sum());
        }
    }
    if pairs.is_empty() {
        return None;
    }
    let subject = pairs.named(|(a, _, b, _)| format!("{a} <-> {b}"));
    let (_, (a, a_dscp, b, b_dscp)) = pairs.subjects.first()?;
    let more = match pairs.subjects.len() {
        1 => String::new(),
        count => format!("; {} in all", counted(count as u64, "pair")),
    };
    Some(Finding {
        id: "dscp_asymmetric",
        severity: Severity::Warn,
        subject,
        message: format!("{a} sends DSCP {a_dscp}, {b} answers with DSCP {b_dscp}{more}"),
        fix: "one of the hosts ignores the traffic class of the application: set the same one on \
              both, and compare driver versions and `cma_roce_tos`"
            .into(),
    })
}

type Directions = BTreeMap<(IpAddr, IpAddr), BTreeMap<u8, u64>>;

/// Packets by DSCP of each direction of each pair of hosts, without CNPs and connection management,
/// and without responses where acknowledgements have a DSCP of their own.
fn dscp_of_directions(policy: MarkingPolicy, flows: &[Flow<'_>]) -> Directions {
    let with_responses =
        policy.ack_dscp == policy.data_dscp || policy.ack_dscp == MarkingPolicy::ANY;
    let mut directions = Directions::new();
    for flow in flows {
        if flow.id.transport == Transport::Ud && flow.id.dst_qp <= 1 {
            continue;
        }
        let records = flow.records().filter(|(tag, _)| {
            tag.transport() != Transport::Cnp
                && (with_responses || tag.space() == PsnSpace::Request)
        });
        for (_, RecordTotals { dscp, .. }) in records {
            let direction = directions.entry((flow.id.src, flow.id.dst)).or_default();
            for (value, packets) in dscp {
                *direction.entry(*value).or_default() += packets;
            }
        }
    }
    directions
}

fn most_used(dscp: &BTreeMap<u8, u64>) -> u8 {
    dscp.iter().max_by_key(|(_, packets)| **packets).map_or(0, |(value, _)| *value)
}

/// What the policy says of data and acknowledgements.
fn expected(policy: MarkingPolicy) -> String {
    let MarkingPolicy { data_dscp, ack_dscp, .. } = policy;
    match (data_dscp, ack_dscp) {
        (data, MarkingPolicy::ANY) => data.to_string(),
        (MarkingPolicy::ANY, ack) => format!("{ack} on acknowledgements"),
        (data, ack) if data == ack => data.to_string(),
        (data, ack) => format!("{data}, and {ack} on acknowledgements"),
    }
}

fn set_traffic_class(policy: MarkingPolicy) -> String {
    if policy.data_dscp == MarkingPolicy::ANY {
        return "set the traffic class of the application, and trust DSCP on NIC and switch".into();
    }
    // DSCP in the upper six bits, ECT(0) in the lower two.
    let class = u32::from(policy.data_dscp) << 2 | 2;
    format!(
        "set traffic class {class} where the QP is made (NCCL_IB_TC={class}, \
         UCX_IB_TRAFFIC_CLASS={class}, perftest --tclass={class}, `cma_roce_tos -t {class}` for \
         RDMA CM), and trust DSCP on NIC and switch"
    )
}
