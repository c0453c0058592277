//! Every entry of `testdata/logs/qp_errors.json`: decoded, correlated, diagnosed.

use roce_collector::diagnosis::{Outcome, Verdict};
use roce_collector::explain::Severity;

use super::{Entry, blames_network, code, decode, entries, incidents, logged, one, vendor};

#[test]
fn every_entry_is_one_incident_or_context() {
    let entries = entries();
    assert!(entries.len() >= 36, "{}", entries.len());
    for Entry { id, lines, expect } in &entries {
        let log = lines.join("\n");
        let is_context = decode(&log, None).iter().all(|it| it.severity() == Severity::Info);
        let incidents = incidents(logged("job.log", &log, None));
        assert_eq!(incidents.len(), usize::from(!is_context), "{id}: {incidents:#?}");
        assert_eq!(is_context, expect["kind"] == "async_event", "{id}");
        let Some(incident) = incidents.first() else { continue };
        if let Some(status) = expect["status"].as_u64() {
            assert_eq!(code(incident).map(u64::from), Some(status), "{id}");
        }
        if let Some(value) = expect["vendor_err"].as_u64() {
            assert_eq!(vendor(incident).map(u64::from), Some(value), "{id}");
        }
        if let Some(hex) = expect["vendor_hex"].as_str() {
            assert_eq!(incident.vendor_err.as_ref().map(|code| &*code.hex), Some(hex), "{id}");
        }
        let verdict = incident.verdict.id;
        match expect["cause"].as_str() {
            Some("flush" | "flush (secondary)") => {
                assert_eq!(verdict, Verdict::FlushSecondary, "{id}");
            }
            Some("remote_access_error") => assert_eq!(verdict, Verdict::AccessError, "{id}"),
            Some("remote_operation_error") => {
                assert_eq!(verdict, Verdict::RemoteOperationError, "{id}");
            }
            Some(cause) if cause.starts_with("rnr_retry_exceeded") => {
                assert_eq!(verdict, Verdict::ReceiverNotReady, "{id}");
            }
            // A log alone cannot tell where packets went, except where nothing ever got through.
            Some("transport_retry_exceeded") => {
                let expected = match expect["completed"].as_u64() {
                    Some(0) => Verdict::NeverConnected,
                    _ => Verdict::Unknown,
                };
                assert_eq!(verdict, expected, "{id}");
            }
            _ => {}
        }
        assert!(!blames_network(verdict), "{id}: {verdict:?} from a log alone");
        check_sides(id, expect, incident);
    }
}

fn check_sides(
    id: &str,
    expect: &serde_json::Value,
    incident: &roce_collector::incident::Incident,
) {
    let number = |key: &str| match &expect[key] {
        serde_json::Value::String(hex) => {
            u32::from_str_radix(hex.trim_start_matches("0x"), 16).ok()
        }
        other => other.as_u64().and_then(|number| u32::try_from(number).ok()),
    };
    for key in ["local_qp", "qp_num", "qpn"] {
        if let Some(qp) = number(key) {
            assert_eq!(incident.local.qp, Some(qp), "{id} {key}");
        }
    }
    if let Some(qp) = number("remote_qp") {
        assert_eq!(incident.peer.qp, Some(qp), "{id}");
    }
    for key in ["peer", "remote_ip"] {
        if let Some(ip) = expect[key].as_str() {
            let ip = ip.trim_end_matches("@o2ib").parse().expect("an address");
            assert_eq!(incident.peer.ip, Some(ip), "{id} {key}");
        }
    }
    for key in ["hca", "dev"] {
        if let Some(device) = expect[key].as_str() {
            assert_eq!(incident.device.as_deref(), Some(device), "{id} {key}");
        }
    }
    let is_event = incident.status.is_none() && expect["event"] != "qp_error";
    let outcome = if is_event { Outcome::Unknown } else { Outcome::Died };
    assert_eq!(incident.outcome, outcome, "{id}");
    assert_eq!((incident.secondaries, &*incident.source), (0, "log"), "{id}");
    assert_eq!(incident.timeline.len(), 1, "{id}");
    let json = serde_json::to_value(incident).expect("JSON");
    assert!(
        ["status", "vendor_err"].iter().all(|key| json.get(key).is_some()),
        "null, not left out"
    );
    assert_eq!(
        serde_json::from_value::<roce_collector::incident::Incident>(json).ok().as_ref(),
        Some(incident)
    );
}

/// An hour apart, no two of them are one failure.
#[test]
fn entries_do_not_mix() {
    let mut entries = entries();
    // It says itself when it was.
    entries.retain(|entry| entry.id != "L22");
    for Entry { id, lines, .. } in &entries {
        for other in &entries {
            let (one_log, other_log) = (lines.join("\n"), other.lines.join("\n"));
            let signals = logged("a.log", &one_log, Some(0.0));
            let far = logged("b.log", &other_log, Some(3600.0));
            let apart = incidents(signals.into_iter().chain(far)).len();
            let expected = [&one_log, &other_log]
                .map(|log| incidents(logged("a.log", log, None)).len())
                .iter()
                .sum::<usize>();
            assert_eq!(apart, expected, "{id} and {} an hour later", other.id);
        }
    }
}

/// The same lines twice are one failure told twice.
#[test]
fn an_entry_that_is_told_in_two_logs_is_one() {
    for id in ["L03", "L07", "L13", "L20", "L21", "L22", "L41", "L43"] {
        let log = super::lines(id);
        let signals = logged("a.log", &log, Some(0.0)).into_iter();
        let incident = one(signals.chain(logged("b.log", &log, Some(0.1))));
        assert_eq!(incident.secondaries, 1, "{id}");
    }
}
