//! Reports of flows made by hand.

use super::*;
use crate::flow::{Record, RecordTotals};
use roce_common::flow::{NarrowKey, WideKey};
use roce_common::psn::Psn;

const RC_REQUEST: u32 = 0x01;
const RC_RESPONSE: u32 = 0x09;
const UC_REQUEST: u32 = 0x02;
const CNP: u32 = 0x04;

fn record(tag: u32, totals: &RecordTotals) -> Record<'_> {
    let (source, destination) = ([10, 0, 0, 1], [10, 0, 0, 2]);
    let key = WideKey::from(NarrowKey {
        source: u32::from_ne_bytes(source),
        destination: u32::from_ne_bytes(destination),
        tagged_qp: tag << 24 | 0x45,
    });
    Record { key, totals, last_seen: Some(Timestamp::from_nanos(u64::from(tag))) }
}

/// `packets` with the opcode of counter `index`, on DSCP 26 and ECT(0).
fn totals(index: usize, packets: u64) -> RecordTotals {
    let mut totals = RecordTotals { packets, source_port: Some(50_000), ..Default::default() };
    totals.opcodes[index] = packets;
    totals.ecn[2] = packets;
    totals.dscp.insert(26, packets);
    totals
}

fn reports<'a>(records: impl IntoIterator<Item = Record<'a>>) -> Vec<FlowReport> {
    FlowReport::of_all(&Flow::join(records))
}

#[test]
fn requests_responses_and_cnps_are_one_flow() {
    let mut requests = totals(10, 7);
    (requests.first_psn, requests.highest_psn) = (Some(Psn::new(3)), Some(Psn::new(9)));
    let mut responses = totals(4, 5);
    (responses.naks[0], responses.naks[6], responses.rnr_timer_code) = (1, 2, Some(14));
    responses.source_port = Some(50_001);
    let notifications = totals(0, 2);

    let flows = reports([
        record(CNP, &notifications),
        record(RC_REQUEST, &requests),
        record(RC_RESPONSE, &responses),
    ]);
    let [flow] = &flows[..] else { panic!("{flows:#?}") };
    assert_eq!((flow.packets, flow.transport.as_ref(), flow.dst_qp), (14, "RC", 0x45));
    let expected = [("ACKNOWLEDGE", 5), ("CNP", 2), ("RDMA_WRITE_ONLY", 7)];
    assert_eq!(flow.opcodes, expected.map(|(name, count)| (name.into(), count)).into());
    assert_eq!(flow.psn, Some(PsnReport { first: 3, last: 9, sequence: None }));
    assert_eq!((flow.acks, flow.rnr_naks, flow.rnr_timer_ms), (Some(2), Some(2), Some(1.28)));
    assert_eq!(flow.naks.unwrap().psn_sequence_error, 1);
    assert_eq!((flow.cnps, flow.udp_src_ports), (2, Some(2)));
    assert_eq!(flow.last_seen, Some(Timestamp::from_nanos(9)));
}

#[test]
fn cnps_alone_are_a_flow_and_have_no_psn() {
    let mut notifications = totals(0, 2);
    notifications.source_port_changes = 1;
    let flows = reports([record(CNP, &notifications)]);
    assert_eq!((flows[0].transport.as_ref(), flows[0].cnps), ("CNP", 2));
    assert_eq!(flows[0].psn, None);
    assert_eq!(flows[0].udp_src_ports, None, "it changed once: two or three");
}

#[test]
fn transports_of_one_qp_stay_apart() {
    let (reliable, unreliable) = (totals(10, 1), totals(10, 9));
    let flows = reports([record(RC_REQUEST, &reliable), record(UC_REQUEST, &unreliable)]);
    let found: Vec<_> = flows.iter().map(|flow| (flow.transport.as_ref(), flow.packets)).collect();
    assert_eq!(found, [("UC", 9), ("RC", 1)]);
}

#[test]
fn records_without_packets_are_no_flows() {
    assert_eq!(reports([record(RC_REQUEST, &RecordTotals::default())]), []);
}

#[test]
fn what_is_not_known_is_null_or_left_out() {
    let mut responses = totals(4, 5);
    responses.dscp_other = 1;
    let mut flow = reports([record(RC_RESPONSE, &responses)]).remove(0);
    flow.hide_syndromes();
    let json = serde_json::to_value(&flow).unwrap();
    for unknown in ["psn", "src_qp", "vlan", "acks", "naks", "rnr_naks", "rtt_us", "pmtu"] {
        assert_eq!(json[unknown], serde_json::Value::Null, "{unknown}");
    }
    assert_eq!(json.get("device"), None);
    assert_eq!(json["dscp"], serde_json::json!({"26": 5}));
    assert_eq!(json["dscp_other"], 1);
    assert_eq!(json["last_seen"], "1970-01-01T00:00:00.000000009Z");
    assert_eq!(serde_json::from_value::<FlowReport>(json).unwrap(), flow);
}
