//! Captures of a real driver against what tshark says of them.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use super::{capture, read};
use roce_collector::read::ReadReport;

type Counts = BTreeMap<String, u64>;

/// Counts of the expectation file; none where it has no such key.
fn expected(counts: &Value) -> Counts {
    let Some(counts) = counts.as_object() else { return Counts::new() };
    counts.iter().map(|(name, count)| (name.clone(), count.as_u64().expect("a count"))).collect()
}

/// `RC WRITE_ONLY` of the expectation file in our words.
fn rename(opcode: &str) -> String {
    let (transport, name) = opcode.split_once(' ').expect("transport and name");
    let name = match name {
        "ACK" => "ACKNOWLEDGE".into(),
        "ATOMIC_ACK" => "ATOMIC_ACKNOWLEDGE".into(),
        "READ_REQ" => "RDMA_READ_REQUEST".into(),
        _ if name.starts_with("READ_RESP") => name.replace("READ_RESP", "RDMA_READ_RESPONSE"),
        _ if name.starts_with("WRITE") => format!("RDMA_{name}"),
        _ => name.into(),
    };
    format!("{transport} {name}")
}

fn add(counts: &mut Counts, key: String, packets: u64) {
    if packets != 0 {
        *counts.entry(key).or_default() += packets;
    }
}

/// Every count of the report that the expectation file has too, with its keys.
fn seen(report: &ReadReport) -> BTreeMap<&'static str, Counts> {
    let mut seen: BTreeMap<_, Counts> = BTreeMap::new();
    for flow in &report.flows {
        let mut count = |what, key, packets| add(seen.entry(what).or_default(), key, packets);
        let naks = flow.naks.expect("whole headers");
        let mut positive = flow.acks.expect("whole headers");
        for (name, packets) in &flow.opcodes {
            count("opcodes", format!("{} {name}", flow.transport), *packets);
            let has_aeth = name.starts_with("RDMA_READ_RESPONSE") && !name.ends_with("MIDDLE")
                || name == "ATOMIC_ACKNOWLEDGE";
            positive += if has_aeth { *packets } else { 0 };
        }
        count("aeth", "ACK".into(), positive);
        count("aeth", "NAK_PSN_SEQ".into(), naks.psn_sequence_error);
        count("aeth", "NAK_REM_ACCESS".into(), naks.remote_access_error);
        let others = naks.total() - naks.psn_sequence_error - naks.remote_access_error;
        count("aeth", "another NAK".into(), others);
        if let Some(timer) = flow.rnr_timer_ms {
            assert!((timer - 655.36).abs() < 1e-9, "timer code 0, not {timer} ms");
            count("aeth", "RNR_NAK(timer=0)".into(), flow.rnr_naks.expect("whole headers"));
        }
        let ecn = [flow.ecn.not_ect, flow.ecn.ect1, flow.ecn.ect0, flow.ecn.ce];
        for (codepoint, packets) in ecn.iter().enumerate() {
            count("ecn", format!("{}:{codepoint}", flow.src), *packets);
        }
        for (dscp, packets) in &flow.dscp {
            count("dscp", format!("{}:{dscp}", flow.src), *packets);
        }
        count("flows", format!("{}->qp0x{:06x}", flow.src, flow.dst_qp), flow.packets);
    }
    seen
}

#[test]
fn every_lab_capture_is_read_as_tshark_reads_it() {
    let text = fs::read_to_string(capture("lab/expected.json")).expect("the expectation file");
    let files: BTreeMap<String, Value> = serde_json::from_str(&text).expect("valid JSON");
    assert!(files.len() > 20);
    for (name, file) in files {
        let report = read(&format!("lab/{name}"));
        let frames = file["frames"].as_u64().expect("a count");
        assert_eq!((report.packets.total, report.packets.roce_v2), (frames, frames), "{name}");
        assert_eq!(report.packets.other, file["not_roce"], "{name}");
        assert_eq!(report.icrc.bad, 0, "{name}");
        assert_eq!(report.icrc.not_checkable, report.packets.truncated, "{name}");

        let seen = seen(&report);
        let opcodes: Counts =
            expected(&file["opcodes"]).iter().map(|(name, n)| (rename(name), *n)).collect();
        assert_eq!(seen["opcodes"], opcodes, "{name}");
        for what in ["aeth", "ecn", "dscp", "flows"] {
            let seen = seen.get(what).cloned().unwrap_or_default();
            assert_eq!(seen, expected(&file[what]), "{name}: {what}");
        }
    }
}
