//! Every entry of `testdata/logs/qp_errors.json`, every field of it.

use std::fs;

use roce_collector::explain::{Cause, ErrorRecord, Role, Severity, WcStatus};
use serde_json::{Map, Value};

use super::{decode, log_file};

struct Entry {
    id: String,
    lines: Vec<String>,
    expect: Map<String, Value>,
}

fn entries() -> Vec<Entry> {
    let text = fs::read_to_string(log_file("qp_errors.json")).expect("a readable file");
    let entries: Vec<Value> = serde_json::from_str(&text).expect("JSON");
    let entry = |entry: &Value| Entry {
        id: entry["id"].as_str().expect("an id").to_owned(),
        lines: serde_json::from_value(entry["lines"].clone()).expect("lines"),
        expect: entry["expect"].as_object().expect("fields").clone(),
    };
    entries.iter().map(entry).collect()
}

#[test]
fn every_field_of_every_entry() {
    let entries = entries();
    assert!(entries.len() >= 36, "{}", entries.len());
    for Entry { id, lines, expect } in &entries {
        let records = decode(lines.iter().map(String::as_str));
        assert_eq!(records.len(), 1, "{id}: one failure\n{records:#?}");
        let record = &records[0];
        assert_eq!(record.lines, lines.len() as u64, "{id}: every line belongs to it");
        assert_eq!(record.raw, lines.join("\n"), "{id}");
        let json = serde_json::to_value(record).expect("a record has a JSON form");
        for (key, expected) in expect {
            check(&format!("{id} {key}"), key, expected, record, &json);
        }
    }
}

/// Compares one field. A field that has no place here fails.
fn check(context: &str, key: &str, expected: &Value, record: &ErrorRecord, json: &Value) {
    let is = |found: &Value| assert_eq!(found, expected, "{context}: {json:#}");
    let is_hex = |found: &Value| {
        let found = found.as_u64().unwrap_or_else(|| panic!("{context}: {json:#}"));
        let text = expected.as_str().expect("hexadecimal").trim_start_matches("0x");
        assert_eq!(Ok(found), u64::from_str_radix(text, 16), "{context}: {json:#}");
    };
    let text = expected.as_str().unwrap_or_default();
    match key {
        "status" => is(&json["status"]["code"]),
        "vendor_err" if expected.is_null() => is(&json["vendor_err"]),
        "vendor_err" => is(&json["vendor_err"]["value"]),
        "vendor_hex" => is(&json["vendor_err"]["hex"]),
        "cause" => check_cause(context, text, record),
        "primary" => {
            assert_eq!(record.severity() != Severity::Secondary, expected == true, "{context}");
        }
        // NIDs of LNet name their network, too.
        "peer" if text.contains('@') => {
            assert_eq!(json["peer"]["ip"], text.trim_end_matches("@o2ib"));
        }
        "peer" | "remote_ip" => is(&json["peer"]["ip"]),
        "peer_port" => is(&json["peer"]["port"]),
        "local_gid" => is(&json["local"]["gid"]),
        "remote_gid" => is(&json["peer"]["gid"]),
        "direction" => is(&json["request"]),
        "remote_qp" => is_hex(&json["peer"]["qp"]),
        "qpn" | "qp_num" if expected.is_u64() => is(&json["local"]["qp"]),
        "qpn" | "local_qp" => is_hex(&json["local"]["qp"]),
        "sgid_index" => is(&json["local"]["gid_index"]),
        "tc" => is(&json["traffic_class"]["value"]),
        "dscp" => is(&json["traffic_class"]["dscp"]),
        "ecn" => is(&json["traffic_class"]["ecn"]),
        "hca" | "dev" => is(&json["device"]),
        "port" => is(&json["port"]),
        "syndrome" => is_hex(&json["syndrome"]),
        "wr_id" => is_hex(&json["wr_id"]),
        "cqn" => is_hex(&json["cqn"]),
        "srqn" => is_hex(&json["srqn"]),
        "wqe_counter" => is_hex(&json["wqe_counter"]),
        "posted" => is(&json["posted"]),
        "completed" => is(&json["completed"]),
        "truncated" => is(&json["truncated"]),
        "opcode" if expected.is_i64() => is(&json["opcode_raw"]),
        "opcode" => is(&json["operation"]),
        "nccl_format" | "format" => is(&json["producer_format"]),
        "plugin" => assert_eq!(json["producer_format"], format!("{text} plugin"), "{context}"),
        "app" | "driver" => check_producer(context, text, json),
        "role" => is(&json["role"]),
        "cqe_kind" => {
            assert_eq!((text, record.role), ("REQ_ERR", Some(Role::Requester)), "{context}");
        }
        "status_text" => {
            assert_eq!(record.status.map(WcStatus::words), Some(text), "{context}");
        }
        "event" => is(&json["event"]["name"]),
        "code" => is(&json["event"]["code"]),
        // How many lines are one failure is checked for every entry.
        "incidents" => assert_eq!(expected, 1),
        "join" => assert_eq!(record.lines, 2),
        _ => check_in_words(context, key, expected, record),
    }
}

/// The names of causes there are words; here they are ids, or nothing where a log cannot tell.
fn check_cause(context: &str, cause: &str, record: &ErrorRecord) {
    let (status, id) = match cause {
        "transport_retry_exceeded" => (Some(12), None),
        "remote_operation_error" => (Some(11), Some(Cause::RemoteOperationError)),
        "remote_access_error" => (Some(10), Some(Cause::AccessError)),
        "rnr_retry_exceeded" | "rnr_retry_exceeded (receiver had no buffer posted)" => {
            (Some(13), Some(Cause::ReceiverNotReady))
        }
        "flush" | "flush (secondary)" => (Some(5), Some(Cause::FlushSecondary)),
        "LNet tx timeout" => (None, None),
        other => panic!("{context}: {other}"),
    };
    assert_eq!(record.status.map(WcStatus::code), status, "{context}");
    assert_eq!(record.cause(), id, "{context}");
}

fn check_producer(context: &str, name: &str, json: &Value) {
    let (field, value) = match name {
        "SPDK" => ("producer", "spdk"),
        "nvme-rdma" => ("producer_format", "nvme-rdma"),
        "ksmbd" => ("producer_format", "ksmbd"),
        "nfs-ganesha/ntirpc" => ("producer_format", "ntirpc"),
        "lustre" => ("producer", "lustre"),
        "rxe" => ("producer", "rxe"),
        other => panic!("{context}: {other}"),
    };
    assert_eq!(json[field], value, "{context}");
}

/// What the file says in words.
fn check_in_words(context: &str, key: &str, expected: &Value, record: &ErrorRecord) {
    let findings = record.findings();
    let says = |start: &str| findings.iter().any(|finding| finding.text.starts_with(start));
    let has = |id: &str| findings.iter().any(|finding| finding.id == id);
    let is_met = match (key, expected.as_str().unwrap_or_default()) {
        // Opcode and length are kept as printed, and nothing is concluded from them.
        ("opcode_trust", _) => {
            record.opcode_raw.is_some() && record.operation.as_deref() != Some("READ")
        }
        ("findings", _) => {
            let texts = expected.as_array().expect("texts");
            texts.len() == findings.len()
                && texts.iter().all(|text| says(text.as_str().unwrap_or("?")))
        }
        ("finding", _) => has("nothing_completed"),
        ("kind", "async_event") => record.event.is_some() && record.severity() == Severity::Info,
        ("severity", "link problem precedes later status 12") => has("link_precedes_error"),
        ("advice", "re-validate GID index") => has("recheck_gid_index"),
        ("note", "vendor_err 0 gives no detail (rxe/siw)") => record
            .vendor_code()
            .and_then(|code| code.meaning)
            .is_some_and(|it| it.starts_with("no detail")),
        ("note", "status in hex") => record.raw.contains("0xc,"),
        // Counters are facts of the host; the record says on which side to look.
        ("counters_expected", _) => record.cause() == Some(Cause::ReceiverNotReady),
        _ => panic!("{context}: not compared"),
    };
    assert!(is_met, "{context}: {record:#?}");
}

/// The same lines in one log: a failure each.
#[test]
fn one_log_with_all_of_them() {
    let log = fs::read_to_string(log_file("qp_errors_all.log")).expect("a readable file");
    let records = decode(log.lines());
    let entries = entries();
    let lines: Vec<_> = records.iter().map(|record| record.lines).collect();
    let expected: Vec<_> = entries.iter().map(|entry| entry.lines.len() as u64).collect();
    assert_eq!(lines, expected);
    assert!(records.is_sorted_by_key(|record| record.line), "in the order of the log");
    let count = |severity| records.iter().filter(|record| record.severity() == severity).count();
    assert_eq!((count(Severity::Secondary), count(Severity::Info)), (4, 3));
}
