//! Samples made by hand.

use serde_json::json;

use super::{Model, Sample, View};
use crate::capture::Timestamp;
use crate::flow::{FlowReport, PsnReport, RttReport, SequenceReport};
use crate::http::HookReport;
use crate::sweep::{Counts, PsnCounts};

/// A flow to `dst_qp` seen on ingress: 100 bytes a packet, DSCP 26, ECT(0).
pub(super) fn flow(dst_qp: u32, packets: u64) -> FlowReport {
    let flow = json!({
        "device": "eth0", "direction": "ingress", "src": "198.18.0.1", "dst": "198.19.0.1",
        "dst_qp": dst_qp, "src_qp": null, "version": "v2", "transport": "RC", "vlan": null,
        "packets": packets, "wire_bytes": packets * 100, "payload_bytes": packets * 40,
        "opcodes": { "RDMA_WRITE_ONLY": packets }, "psn": null, "acks": 0,
        "naks": {
            "psn_sequence_error": 0, "invalid_request": 0, "remote_access_error": 0,
            "remote_operational_error": 0, "invalid_rd_request": 0,
        },
        "rnr_naks": 0, "rnr_timer_ms": null, "cnps": 0,
        "ecn": { "not_ect": 0, "ect0": packets, "ect1": 0, "ce": 0 },
        "dscp": { "26": packets }, "mismarked": { "dscp": 0, "not_ect": 0 },
        "udp_src_ports": 1, "rtt_us": null, "pmtu": null, "last_seen": null,
    });
    serde_json::from_value(flow).unwrap()
}

/// A flow with trouble of every kind.
pub(super) fn troubled(dst_qp: u32, packets: u64) -> FlowReport {
    let mut flow = flow(dst_qp, packets);
    flow.psn = Some(PsnReport {
        first: 0,
        last: 900,
        sequence: Some(SequenceReport {
            lost: packets / 50,
            unseen: packets / 500,
            reordered: packets / 100,
            retransmitted: packets / 25,
            ..SequenceReport::default()
        }),
    });
    flow.rtt_us = Some(RttReport { p50: 12.5, p99: 80.0, samples: 9 });
    flow.naks.as_mut().unwrap().psn_sequence_error = packets / 10;
    (flow.rnr_naks, flow.cnps, flow.ecn.ce) = (Some(packets / 20), packets / 5, packets / 4);
    (flow.mismarked.dscp, flow.mismarked.not_ect) = (packets, packets);
    flow.dscp = [(0, packets)].into();
    flow.last_seen = Some(at(100));
    flow
}

/// A sample of all of `flows` at `seconds`, by XDP and TC on eth0.
pub(super) fn sample(seconds: u64, flows: Vec<FlowReport>) -> Sample {
    let packets = flows.iter().map(|flow| flow.packets).sum();
    let hook =
        |direction: &'static str, hook: &'static str, mode: &'static str, packets| HookReport {
            device: "eth0".to_owned(),
            direction: direction.into(),
            hook: hook.into(),
            mode: mode.into(),
            seen: Some(Counts {
                packets,
                bytes: packets * 100,
                psns: Some(PsnCounts::default()),
                ..Counts::default()
            }),
        };
    Sample {
        time: at(seconds),
        taps: vec![hook("ingress", "xdp", "native", packets), hook("egress", "tc", "tcx", 0)],
        matching: flows.len(),
        flows,
        blind: Vec::new(),
        notes: Vec::new(),
    }
}

pub(super) fn at(seconds: u64) -> Timestamp {
    Timestamp::from_nanos(seconds * 1_000_000_000)
}

/// What the last of `samples` shows.
pub(super) fn view(samples: Vec<Sample>) -> View {
    let mut model = Model::default();
    let views = samples.into_iter().map(|sample| model.take(sample));
    views.last().unwrap()
}
