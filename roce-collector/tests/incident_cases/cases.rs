//! Cases by their numbers.

use std::time::Duration;

use roce_collector::diagnosis::{Outcome, Sight, Verdict};
use roce_collector::incident::{Incident, Signal, WireKind};

use super::{at, code, groups, incident, lines, listed, logged, one, one_of, seen, vendor};

const GAVE_UP: WireKind = WireKind::GaveUp { psn: 7, tries: 7, silence: Duration::from_secs(4) };

fn evidence(incident: &Incident) -> String {
    let facts = incident.evidence.iter();
    facts.map(|fact| format!("{}: {}", fact.what, fact.value)).collect::<Vec<_>>().join("\n")
}

#[test]
fn c63_nccl_through_its_versions() {
    for id in ["L01", "L02", "L03", "L07", "L07b"] {
        let incident = one_of(&lines(id));
        assert_eq!((code(&incident), vendor(&incident)), (Some(12), Some(129)), "{id}");
        assert_eq!(incident.vendor_err.as_ref().map(|code| &*code.producer), Some("nccl"));
        assert_eq!((incident.local.pid, incident.outcome), (Some(4242), Outcome::Died), "{id}");
        let ip = |last| format!("10.0.0.{last}").parse().ok();
        assert_eq!(incident.peer.ip, if id == "L01" { None } else { ip(12) }, "{id}");
        let has_gids = ["L03", "L07", "L07b"].contains(&id);
        assert_eq!(incident.local.ip, if has_gids { ip(11) } else { None }, "{id}");
        let device = id.starts_with("L07").then_some("mlx5_3");
        assert_eq!(incident.device.as_deref(), device, "{id}");
    }
}

#[test]
fn c63_all_lines_of_one_failure_are_one_incident() {
    // 2.29.7 prints two lines, then each flushed request; another thread prints the older form.
    let flush = lines("L08").replace("42519", "52184");
    let log =
        [lines("L07"), flush.clone(), flush, lines("L02").replace("60054", "52184")].join("\n");
    let incident = one(logged("job.log", &log, Some(0.0)));
    assert_eq!((code(&incident), incident.secondaries), (Some(12), 3));
    assert_eq!(incident.local.qp, Some(5121));
    // Both hosts speak of it.
    let theirs = "host-b:9:10 [0] NCCL WARN NET/IB : Got completion from peer 10.0.0.11<41000> with error 5, opcode \
                  0, len 0, vendor err 249 (Recv) localGid ::ffff:10.0.0.12 remoteGid ::ffff:10.0.0.11";
    let ours = logged("a.log", &log, Some(0.0));
    let incident = one(ours.into_iter().chain(logged("b.log", theirs, Some(2.0))));
    assert_eq!((code(&incident), incident.secondaries), (Some(12), 4));
    assert_eq!(incident.local.pid, Some(4242), "the side that failed first");
}

#[test]
fn c68_garbage_decides_nothing() {
    for (id, opcode, other) in [
        ("L01", "opcode 1", "opcode 129"),
        ("L02", "opcode 32552", "opcode 2"),
        ("L48", "-29703", "1"),
    ] {
        let log = lines(id);
        assert!(log.contains(opcode), "{id}");
        let without_lines = |log: &str| Incident { timeline: Vec::new(), ..one_of(log) };
        assert_eq!(without_lines(&log), without_lines(&log.replace(opcode, other)), "{id}");
    }
}

#[test]
fn c69_flushes_alone() {
    let incident = one_of(&lines("L08"));
    assert_eq!((code(&incident), vendor(&incident)), (Some(5), Some(249)));
    assert_eq!(incident.verdict.id, Verdict::FlushSecondary);
    assert!(incident.verdict.text.contains("look for the first error here or at the peer"));
}

#[test]
fn c70_other_vendor_codes() {
    for (id, status, value, verdict) in [
        ("L12", 11, 137, Verdict::RemoteOperationError),
        ("L13", 10, 136, Verdict::AccessError),
        ("L14", 13, 135, Verdict::ReceiverNotReady),
    ] {
        let incident = one_of(&lines(id));
        assert_eq!((code(&incident), vendor(&incident)), (Some(status), Some(value)), "{id}");
        assert_eq!(incident.verdict.id, verdict, "{id}");
        assert!(incident.verdict.confidence >= 0.9, "{id}");
    }
}

#[test]
fn c72_two_lines_of_ucx() {
    let incident = one_of(&lines("L20"));
    assert_eq!((incident.local.qp, incident.peer.qp), (Some(0x14e4), Some(0x2248a)));
    let facts = evidence(&incident);
    assert!(facts.contains("gid link local: link-local GID (index 0)"), "{facts}");
    assert!(facts.contains("traffic class zero: "), "{facts}");
    let incident = one_of(&lines("L21"));
    assert_eq!(incident.peer.ip, "10.0.0.7".parse().ok());
    let facts = evidence(&incident);
    assert!(facts.contains("GID and DSCP look right: look at the fabric"), "{facts}");
    assert!(!facts.contains("traffic class"), "{facts}");
}

#[test]
fn c73_other_programs() {
    for (id, value) in [
        ("L30", Some(129)),
        ("L31", Some(129)),
        ("L33", None),
        ("L34", Some(129)),
        ("L50", Some(129)),
    ] {
        let incident = one_of(&lines(id));
        assert_eq!((code(&incident), vendor(&incident)), (Some(12), value), "{id}");
    }
    let nothing_completed = one_of(&lines("L30"));
    assert_eq!(nothing_completed.verdict.id, Verdict::NeverConnected);
}

#[test]
fn c74_dumps_of_drivers() {
    for (id, status, qp, verdict) in [
        ("L40", 5, None, Verdict::FlushSecondary),
        ("L41", 10, Some(0x361b3), Verdict::AccessError),
        ("L42", 6, Some(0x58), Verdict::ProtectionError),
        ("L43", 13, Some(0x1f8e), Verdict::ReceiverNotReady),
        ("L44", 10, Some(0x76ab), Verdict::AccessError),
    ] {
        let incident = one_of(&lines(id));
        assert_eq!((code(&incident), incident.local.qp), (Some(status), qp), "{id}");
        assert_eq!(incident.verdict.id, verdict, "{id}");
    }
    // Retries that run out leave no dump: that the kernel says nothing changes nothing.
    let silent = one_of(&lines("L07"));
    let log = logged("job.log", &lines("L07"), None).into_iter();
    let other = logged("kmsg", &lines("L41").replace("mlx5_0", "mlx5_1"), None);
    let incidents = super::incidents(log.chain(other));
    assert_eq!(incidents.len(), 2);
    assert!(incidents.contains(&Incident { id: silent.id.clone(), ..silent }), "{incidents:#?}");
}

#[test]
fn c75_cut_and_odd_lines() {
    let cut = one_of(&lines("L37"));
    assert_eq!((code(&cut), vendor(&cut), cut.outcome), (Some(12), None, Outcome::Died));
    let flushed = one_of(&lines("L48"));
    assert_eq!((code(&flushed), flushed.verdict.id), (Some(5), Verdict::FlushSecondary));
    let timeout = one_of(&lines("L51"));
    assert_eq!((code(&timeout), timeout.outcome), (None, Outcome::Unknown), "no false status");
    assert_eq!(timeout.peer.ip, "10.0.0.12".parse().ok());
}

#[test]
fn c76_events_before_the_error() {
    for (event, device, words) in [
        ("L17", "mlx5_0", "port error"),
        ("L18", "mlx5_bond_0", "GID table change"),
        ("L24", "mlx5_0", "GID table change"),
    ] {
        let error = lines("L07b").replace("mlx5_3", device);
        let log = [lines(event), error].join("\n");
        let incident = one_of(&log);
        let first = &incident.timeline[0].what;
        assert!(first.starts_with(words), "{event}: {first}");
        assert!(incident.timeline[1].what.starts_with("IBV_WC_RETRY_EXC_ERR (12)"), "{event}");
        let steps = incident.next_steps.join("\n");
        let has_gid_step = steps.contains("GID index");
        assert_eq!(has_gid_step, words == "GID table change", "{event}: {steps}");
        let verdict = if has_gid_step { Verdict::GidChange } else { Verdict::LinkFlap };
        assert_eq!(incident.verdict.id, verdict, "{event}");
    }
    // On another device of the host it is not told of.
    let incident = one_of(&[lines("L17"), lines("L07b")].join("\n"));
    assert_eq!((incident.timeline.len(), incident.verdict.id), (1, Verdict::Unknown));
}

#[test]
fn c124_the_port_ninety_seconds_before() {
    let flapped = |seconds: f64, event: &str| {
        let event = logged("job.log", &lines(event), Some(-seconds));
        one(event.into_iter().chain(logged("job.log", &lines("L03"), Some(0.0))))
    };
    let incident = flapped(90.0, "L17");
    assert_eq!(incident.verdict.id, Verdict::LinkFlap);
    assert!(evidence(&incident).contains("90.0 s before the failure"), "{}", evidence(&incident));
    assert_eq!((incident.time, incident.timeline.len()), (Some(at(0.0)), 2));
    assert_eq!(incident.timeline[0].t, Some(at(-90.0)));
    assert_eq!(flapped(90.0, "L18").verdict.id, Verdict::GidChange);
    // An hour before it has nothing to do with it.
    let incident = flapped(3600.0, "L17");
    assert_eq!((incident.verdict.id, incident.timeline.len()), (Verdict::Unknown, 1));
}

#[test]
fn c124_as_the_kernel_tells_it() {
    let link = "mlx5_core 0000:03:00.0 ens3np0: Link down";
    let story = |netdev: &str| {
        let mut signals = logged("kmsg", link, Some(-30.0));
        signals.extend(logged("job.log", &lines("L07"), Some(0.0)));
        signals.push(listed(0.5, 5121, netdev));
        one(signals)
    };
    let incident = story("ens3np0");
    assert_eq!(incident.verdict.id, Verdict::LinkFlap);
    assert_eq!(incident.sources, ["log", "netlink"]);
    let other_port = story("ens4np0");
    assert_eq!((other_port.verdict.id, other_port.timeline.len()), (Verdict::Unknown, 2));
}

#[test]
fn c127_joined_by_number_or_by_address_and_time() {
    let log = logged("job.log", &lines("L07"), Some(0.0));
    let others = [seen(-0.5, GAVE_UP, Some(5122), 0x91), seen(-0.6, GAVE_UP, Some(5120), 0x92)];
    let ours = seen(-3.0, GAVE_UP, Some(5121), 0x93);
    let groups = groups(log.into_iter().chain(others).chain([ours]));
    assert_eq!(groups.len(), 3);
    let joined = groups.iter().find(|group| group.sources().contains(&"log")).expect("one");
    assert_eq!((joined.local().qp, joined.peer().qp), (Some(5121), Some(0x93)));
    // Without a number, by the peer's address and the time.
    for id in ["L02", "L03"] {
        let log = logged("job.log", &lines(id), Some(0.0));
        let incident = one(log.into_iter().chain([seen(-3.0, GAVE_UP, None, 0x93)]));
        assert_eq!((incident.sources.len(), incident.peer.qp), (2, Some(0x93)), "{id}");
        let log = logged("job.log", &lines(id), Some(0.0));
        let far = seen(-300.0, GAVE_UP, None, 0x93);
        assert_eq!(super::groups(log.into_iter().chain([far])).len(), 2, "{id}");
    }
}

#[test]
fn c138_a_wrong_icrc_is_no_verdict_about_retries() {
    let incident = one(logged("kmsg", &lines("L46"), Some(0.0)));
    assert_eq!((&*incident.source, incident.outcome), ("kmsg", Outcome::Unknown));
    assert_eq!((code(&incident), incident.verdict.id), (None, Verdict::Unknown));
    assert_eq!(incident.peer.ip, "10.0.0.61".parse().ok());
    assert!(incident.timeline[0].what.starts_with("icrc_error"), "{:?}", incident.timeline);
    // Retries that run out to the same peer are the failure, and it is part of its story.
    let retries = lines("L03").replace("10.0.0.12", "10.0.0.61");
    let signals = logged("kmsg", &lines("L46"), Some(0.0)).into_iter();
    let incident = one(signals.chain(logged("job.log", &retries, Some(4.0))));
    assert_eq!((code(&incident), incident.timeline.len()), (Some(12), 2));
    assert_eq!(incident.sources, ["log", "kmsg"]);
}

#[test]
fn c139_a_cut_status_counts_by_its_number() {
    let log = lines("L37");
    assert!(log.ends_with("(12): transport retry counter e"));
    let incident = one_of(&log);
    assert_eq!(incident.status.as_ref().map(|status| &*status.name), Some("RETRY_EXC_ERR"));
}

#[test]
fn c142_receiver_buffers_not_the_fabric() {
    let refused = WireKind::NotReady { psn: 7, refusals: 8 };
    let signals: Vec<Signal> = logged("ganesha.log", &lines("L49"), Some(0.2))
        .into_iter()
        .chain([seen(0.0, refused, None, 0x11)])
        .collect();
    let groups = groups(signals);
    assert_eq!(groups.len(), 1);
    let facts = serde_json::from_str(r#"{"responder": {"out_of_buffer": 8}}"#).expect("facts");
    let incident = incident(&groups[0], Sight::NotLooked, facts);
    assert_eq!((code(&incident), incident.verdict.id), (Some(13), Verdict::ReceiverNotReady));
    assert_eq!(incident.peer.qp, Some(0x11));
    assert!(evidence(&incident).contains('8'), "{}", evidence(&incident));
}
