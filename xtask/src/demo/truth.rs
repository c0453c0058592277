//! What was sent, in the words of the collector.

use std::collections::BTreeMap;
use std::net::IpAddr;

use roce_testkit::scenario::{FlowTruth, Truth};
use serde_json::{Value, json};

use super::metrics::Series;
use super::stage::MIRROR;

/// DSCP that the collector expects of data and acknowledgements, unless it is told otherwise.
const DSCP: u8 = 26;
/// And of CNPs.
const CNP_DSCP: u8 = 48;

/// Values by series.
pub(super) type Expected = BTreeMap<Series, u64>;

/// The fields of a flow of `/api/v1/flows` that follow from what was sent.
pub(super) fn flow(truth: &FlowTruth) -> Value {
    let by_dscp: BTreeMap<_, _> =
        truth.dscp.iter().map(|(dscp, packets)| (dscp.to_string(), packets)).collect();
    json!({
        "packets": truth.packets,
        "wire_bytes": truth.wire_bytes,
        "payload_bytes": truth.payload_bytes,
        "opcodes": truth.opcodes,
        "ecn": {
            "not_ect": truth.ecn.not_ect,
            "ect0": truth.ecn.ect0,
            "ect1": truth.ecn.ect1,
            "ce": truth.ecn.ce,
        },
        "dscp": by_dscp,
        "mismarked": {"dscp": wrong_dscp(truth), "not_ect": not_ect(truth)},
        "acks": truth.acks,
        "naks": {
            "psn_sequence_error": truth.naks.psn_sequence_error,
            "invalid_request": truth.naks.invalid_request,
            "remote_access_error": truth.naks.remote_access_error,
            "remote_operational_error": truth.naks.remote_operational_error,
            "invalid_rd_request": truth.naks.invalid_rd_request,
        },
        "rnr_naks": truth.rnr_naks,
        "cnps": truth.cnps,
    })
}

/// Every series that counts packets.
pub(super) fn metrics(truth: &Truth) -> Expected {
    let mut expected = Expected::new();
    tap(truth, &mut expected);
    let mut peers: BTreeMap<(IpAddr, IpAddr), Vec<&FlowTruth>> = BTreeMap::new();
    for (key, flow) in &truth.flows {
        peers.entry((key.src, key.dst)).or_default().push(flow);
        let (src, dst, qp) = (key.src.to_string(), key.dst.to_string(), key.dst_qp.to_string());
        let labels = [("direction", "ingress"), ("src", &*src), ("dst", &*dst), ("dst_qp", &*qp)];
        for (name, count) in counts(flow).into_iter().filter(|(name, _)| *name != MISMARKED) {
            expected.insert(series(&format!("roce_qp_{name}_total"), &labels), count);
        }
    }
    for ((src, dst), flows) in peers {
        let (src, dst) = (src.to_string(), dst.to_string());
        for (name, count) in flows.into_iter().flat_map(counts) {
            let series =
                series(&format!("roce_peer_{name}_total"), &[("src", &*src), ("dst", &*dst)]);
            *expected.entry(series).or_default() += count;
        }
    }
    expected
}

const MISMARKED: &str = "mismarked_packets";

/// What pairs of hosts and queue pairs have metrics of.
fn counts(flow: &FlowTruth) -> [(&'static str, u64); 6] {
    [
        ("packets", flow.packets),
        ("bytes", flow.wire_bytes),
        ("ce_packets", flow.ecn.ce),
        ("cnp_packets", flow.cnps),
        ("nak_packets", flow.naks.total() + flow.rnr_naks),
        (MISMARKED, wrong_dscp(flow).max(not_ect(flow))),
    ]
}

/// Metrics of the whole tap.
fn tap(truth: &Truth, expected: &mut Expected) {
    let totals = truth.totals();
    let mut add = |name: &str, label: Option<(&str, &str)>, count| {
        let labels: Vec<_> = [("direction", "ingress")].into_iter().chain(label).collect();
        expected.insert(series(name, &labels), count);
    };
    add("roce_packets_total", Some(("version", "v2")), totals.packets);
    add("roce_packets_total", Some(("version", "v1")), 0);
    add("roce_bytes_total", None, totals.wire_bytes);
    add("roce_cnp_packets_total", None, totals.cnps);
    let ecn = totals.ecn;
    for (name, count) in
        [("not_ect", ecn.not_ect), ("ect0", ecn.ect0), ("ect1", ecn.ect1), ("ce", ecn.ce)]
    {
        add("roce_ecn_packets_total", Some(("ecn", name)), count);
    }
    for (dscp, count) in &totals.dscp {
        add("roce_dscp_packets_total", Some(("dscp", &dscp.to_string())), *count);
    }
    let naks = totals.naks;
    for (code, count) in [
        ("psn_sequence_error", naks.psn_sequence_error),
        ("invalid_request", naks.invalid_request),
        ("remote_access_error", naks.remote_access_error),
        ("remote_operational_error", naks.remote_operational_error),
        ("invalid_rd_request", naks.invalid_rd_request),
        ("rnr", totals.rnr_naks),
        ("unknown", 0),
    ] {
        add("roce_nak_packets_total", Some(("code", code)), count);
    }
    let sum = |of: fn(&FlowTruth) -> u64| truth.flows.values().map(of).sum();
    add("roce_mismarked_packets_total", Some(("kind", "dscp")), sum(wrong_dscp));
    add("roce_mismarked_packets_total", Some(("kind", "not_ect")), sum(not_ect));
    add("roce_mismarked_packets_total", Some(("kind", "cnp_dscp")), 0);
    for name in ["table_full", "slot_busy", "other_packets"] {
        expected.insert(series(&format!("roce_flow_{name}_total"), &[]), 0);
    }
    expected.insert(series("roce_flows", &[]), truth.flows.len() as u64);
}

fn series(name: &str, labels: &[(&str, &str)]) -> Series {
    Series::new(name, [("device", MIRROR)].into_iter().chain(labels.iter().copied()))
}

/// Packets with another DSCP than expected. All CNPs of the demo are marked as they should be.
fn wrong_dscp(flow: &FlowTruth) -> u64 {
    let wrong = flow.dscp.iter().filter(|(dscp, _)| **dscp != DSCP);
    wrong
        .map(|(dscp, packets)| if *dscp == CNP_DSCP { packets - flow.cnps } else { *packets })
        .sum()
}

/// Data packets that are not ECN-capable. A flow of the demo has one marking, so its
/// acknowledgements, of which ECN is not asked, are either all among them or none.
fn not_ect(flow: &FlowTruth) -> u64 {
    flow.ecn.not_ect.saturating_sub(flow.acks + flow.naks.total() + flow.rnr_naks)
}
