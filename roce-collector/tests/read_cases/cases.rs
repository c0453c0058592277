//! The acceptance cases with capture files.

use super::{finding, flow_to, opcodes, read};
use roce_collector::flow::{EcnReport, FlowReport, NakReport, PsnReport, SequenceReport};
use roce_collector::read::Severity;

#[test]
fn hns_traffic_with_the_qp_as_source_port() {
    let report = read("derived/hns_scrubbed.pcap");
    assert_eq!((report.packets.total, report.packets.roce_v2, report.packets.other), (105, 105, 0));
    assert_eq!((report.icrc.good, report.icrc.bad, report.icrc.not_checkable), (105, 0, 0));
    assert!(report.packets.malformed.is_empty());
    assert_eq!(report.flows.len(), 2);

    let to_48 = flow_to(&report, 0x48);
    assert_eq!((to_48.src.to_string().as_str(), to_48.transport.as_ref()), ("192.168.70.4", "RC"));
    assert_eq!(opcodes(to_48), [("ACKNOWLEDGE", 36), ("SEND_ONLY_IMM", 1)]);
    let to_45 = flow_to(&report, 0x45);
    assert_eq!(
        opcodes(to_45),
        [("ACKNOWLEDGE", 1), ("SEND_FIRST", 33), ("SEND_LAST_IMM", 33), ("SEND_ONLY_IMM", 1)]
    );
    let quiet = Some(SequenceReport::default());
    assert_eq!(to_45.psn, Some(PsnReport { first: 0, last: 66, sequence: quiet }));
    for flow in &report.flows {
        assert_eq!((flow.naks, flow.cnps), (Some(NakReport::default()), 0));
        assert_eq!(flow.ecn, EcnReport { ect0: flow.packets, ..EcnReport::default() });
        assert_eq!(flow.dscp, [(0, flow.packets)].into());
        assert_eq!(flow.udp_src_ports, Some(1), "one port each way: 69 and 72");
    }
    let [warning] = &report.findings[..] else { panic!("{:#?}", report.findings) };
    assert_eq!((warning.id, warning.severity), ("dscp_zero", Severity::Warn));
    assert!(warning.message.starts_with("DSCP 0 on 105 packets of 2 flows"), "{warning:?}");
    assert!(warning.subject.contains("192.168.70.6 -> 192.168.70.4 QP 0x45"), "{warning:?}");
    assert!(warning.fix.contains("106"));
}

#[test]
fn psns_that_wrap_and_a_nak() {
    let report = read("derived/gbn_one_loss_psn_wrap.pcap");
    let data = flow_to(&report, 0xb1);
    assert_eq!((data.packets, data.payload_bytes), (12, 12_288));
    let psn = data.psn.expect("requests");
    assert!(psn.last < psn.first, "{psn:?} is over the wrap");
    let sequence = SequenceReport {
        lost: 1,
        recovered: 1,
        retransmitted: 4,
        retransmitted_bytes: 4 * 1024,
        go_back_n_episodes: 1,
        ..SequenceReport::default()
    };
    assert_eq!(psn.sequence, Some(sequence));
    assert_eq!(data.pmtu, Some(1024));
    assert_eq!(data.payload_bytes - sequence.retransmitted_bytes, 8192, "goodput");
    let naks: Vec<_> = report.flows.iter().filter_map(|flow| flow.naks).collect();
    assert_eq!(naks.iter().map(|naks| naks.psn_sequence_error).sum::<u64>(), 1);
    assert_eq!(naks.iter().map(NakReport::total).sum::<u64>(), 1);
    assert_eq!(report.findings, []);
}

#[test]
fn receiver_not_ready() {
    let report = read("derived/rnr_exhausted.pcap");
    assert_eq!(report.packets.roce_v2, 16);
    let answers: Vec<_> = report.flows.iter().filter(|flow| flow.rnr_naks != Some(0)).collect();
    let [answers] = &answers[..] else { panic!("{answers:#?}") };
    assert_eq!((answers.rnr_naks, answers.acks), (Some(8), Some(0)));
    assert_eq!(answers.rnr_timer_ms, Some(0.64));
    assert_eq!(answers.naks, Some(NakReport::default()), "an RNR NAK is no NAK");
    let requests = report.flows.iter().find_map(|flow| flow.psn).expect("requests");
    let sequence = requests.sequence.expect("examined");
    assert_eq!((sequence.lost, sequence.open, sequence.retransmitted), (0, 0, 7));
    assert_eq!((sequence.go_back_n_episodes, sequence.timeouts), (0, 0));
}

#[test]
fn congestion_marks_and_notifications() {
    let report = read("derived/ce_then_cnp.pcap");
    let to_sender = flow_to(&report, 0xa4);
    assert_eq!((to_sender.cnps, to_sender.opcodes["CNP"]), (2, 2));
    assert_eq!(to_sender.dscp[&48], 2);
    let data: Vec<_> = report.flows.iter().filter(|flow| flow.ecn.ce != 0).collect();
    let [data] = &data[..] else { panic!("{data:#?}") };
    assert_eq!(data.ecn, EcnReport { ce: 10, ect0: 10, ..EcnReport::default() });
    assert_eq!(report.findings, [], "marked as expected");
    for flow in &report.flows {
        assert_eq!(
            flow.sequence().unwrap_or_default(),
            SequenceReport::default(),
            "CNPs have no PSN"
        );
    }
}

#[test]
fn one_direction_without_its_traffic_class() {
    let report = read("derived/dscp_one_direction.pcap");
    assert_eq!(report.flows.len(), 2);
    let message = finding(&report, "dscp_asymmetric").expect("a finding");
    assert_eq!(message, "10.0.0.1 sends DSCP 26, 10.0.0.2 answers with DSCP 0");
    assert!(finding(&report, "dscp_zero").is_some());
}

#[test]
fn timeout_without_nak() {
    let report = read("derived/timeout_retransmit_then_ack.pcap");
    let sequences: Vec<_> = report.flows.iter().filter_map(FlowReport::sequence).collect();
    let [sequence] = sequences[..] else { panic!("{sequences:#?}") };
    assert_eq!((sequence.retransmitted, sequence.timeouts), (1, 1));
    assert_eq!((sequence.lost, sequence.open, sequence.go_back_n_episodes), (0, 0, 0));
    // 4.096 us * 2^14 is 67.1 ms.
    let retries = report.flows.iter().find_map(|flow| flow.retries).expect("one try");
    assert_eq!((retries.tries, retries.answered), (1, true));
    assert!((67.0..68.0).contains(&retries.spacing_ms), "{retries:?}");
    for flow in &report.flows {
        assert_eq!((flow.naks, flow.rnr_naks), (Some(NakReport::default()), Some(0)));
    }
    let acks: Vec<_> = report.flows.iter().filter_map(|flow| flow.acks).collect();
    assert_eq!(acks.iter().sum::<u64>(), 1, "one ACK for all");
}

#[test]
fn lossless_traffic_has_no_trouble() {
    for name in ["lossless/bidir_lossless.pcap", "lossless/read_lossless.pcap"] {
        let report = read(name);
        assert_eq!(report.packets.roce_v2, report.packets.total, "{name}");
        assert_eq!(report.icrc.bad, report.packets.total, "{name}: all have ICRC 0x11223344");
        let absent = report.findings.iter().find(|finding| finding.id == "icrc_absent");
        assert_eq!(absent.map(|finding| finding.severity), Some(Severity::Info), "{name}");
        let packets: u64 = report.flows.iter().map(|flow| flow.packets).sum();
        assert_eq!(packets, report.packets.total, "{name}");
        for flow in &report.flows {
            assert_eq!((flow.naks, flow.rnr_naks), (Some(NakReport::default()), Some(0)), "{name}");
            let sequence = flow.sequence().expect("examined");
            assert_eq!(sequence, SequenceReport::default(), "{name}");
        }
    }
}

#[test]
fn frames_that_are_not_roce() {
    let files = [("dcb_pfc", 5), ("dcb_ets", 67), ("dcb_qcn", 19), ("lldp_app_priority", 1)];
    for (name, frames) in files {
        let report = read(&format!("tcpdump/{name}.pcap"));
        assert_eq!((report.packets.total, report.packets.other), (frames, frames), "{name}");
        assert!(report.flows.is_empty());
    }
    assert_eq!(read("derived/pfc_frames.pcap").packets.other, 5);
}

#[test]
fn published_frames() {
    let report = read("vectors/roce_frames.pcap");
    let packets = &report.packets;
    assert_eq!((packets.total, packets.roce_v2, packets.roce_v1, packets.other), (22, 17, 2, 1));
    assert_eq!(packets.malformed, [("ip_fragment", 1), ("short_bth", 1)].into());
    assert_eq!((report.icrc.good, report.icrc.bad), (17, 2));

    let answers = report.flows.iter().find(|flow| flow.rnr_naks == Some(1)).expect("NAKs");
    let each_once = NakReport {
        psn_sequence_error: 1,
        invalid_request: 1,
        remote_access_error: 1,
        remote_operational_error: 1,
        invalid_rd_request: 1,
        unknown: 0,
    };
    assert_eq!((answers.naks, answers.rnr_timer_ms), (Some(each_once), Some(1.28)));
    let v1: Vec<_> = report.flows.iter().filter(|flow| flow.version == "v1").collect();
    assert!(v1.iter().all(|flow| flow.src.to_string() == "::ffff:15.0.0.2"), "a GID");
    assert_eq!(v1.iter().map(|flow| flow.udp_src_ports).collect::<Vec<_>>(), [None, None]);
    let v6 = report.flows.iter().find(|flow| flow.src.to_string() == "2022::1023").expect("IPv6");
    assert_eq!((&v6.dscp, v6.ecn.ect0), (&[(56, 1)].into(), 1));
}

#[test]
fn findings_about_published_frames() {
    let report = read("vectors/roce_frames.pcap");
    for id in [
        "dscp_zero",
        "dscp_unexpected",
        "not_ecn_capable",
        "cnp_dscp",
        "icrc_bad",
        "malformed",
        "same_mac",
        "roce_v1",
        "udp_fragments",
    ] {
        assert!(finding(&report, id).is_some(), "{id}: {:#?}", report.findings);
    }
    assert!(finding(&report, "icrc_bad").unwrap().starts_with("wrong ICRC on 2 of 19"));
    let severities: Vec<_> = report.findings.iter().map(|finding| finding.severity).collect();
    assert!(severities.is_sorted(), "the worst first");
}

#[test]
fn nothing_is_claimed_that_was_not_looked_for() {
    let json = serde_json::to_value(read("derived/hns_scrubbed.pcap")).unwrap();
    assert_eq!(json["schema_version"], 1);
    assert_eq!(json["incidents"], serde_json::json!([]), "looked for, and none found");
    let not_seen = serde_json::json!({
        "mirror_lost": null, "capture_dropped": null, "suspected": 0
    });
    assert_eq!(json["not_seen"], not_seen);
    // 33 messages of two packets, each answered by one ACK.
    let rtt = serde_json::json!({"p50": 22.6, "p99": 31.8, "samples": 27});
    assert_eq!(
        (&json["flows"][0]["rtt_us"], &json["flows"][1]["rtt_us"]["samples"]),
        (&rtt, &1.into())
    );
    let psn = serde_json::json!({
        "first": 0, "last": 66, "lost": 0, "recovered": 0, "unseen": 0, "reordered": 0, "open": 0,
        "retransmitted": 0, "retransmitted_bytes": 0, "tap_duplicates": 0, "go_back_n_episodes": 0,
        "timeouts": 0
    });
    assert_eq!(json["flows"][0]["psn"], psn);
    let [pair] = &json["pairs"].as_array().unwrap()[..] else { panic!("{}", json["pairs"]) };
    assert_eq!(pair["a"], serde_json::json!({"ip": "192.168.70.4", "qp": 0x45}));
    assert_eq!(pair["b"], serde_json::json!({"ip": "192.168.70.6", "qp": 0x48}));
    let input = serde_json::json!({
        "file": "test",
        "format": "pcap",
        "link_type": "ETHERNET",
        "snaplen": json["input"]["snaplen"],
        "first_time": "2022-04-26T10:49:50.668808000Z",
        "last_time": json["input"]["last_time"],
    });
    assert_eq!(json["input"], input);
}
