//! The program itself: output, exit codes, bad input.

use std::ffi::OsStr;
use std::fs;
use std::io::{Write, pipe};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use super::capture;

fn roce_trace() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_roce-trace"));
    command.current_dir(capture("")).stdin(Stdio::null());
    command
}

fn run(arguments: &[impl AsRef<OsStr>]) -> Output {
    roce_trace().args(arguments).output().expect("the program runs")
}

fn json(arguments: &[&str]) -> Value {
    let output = run(&[arguments, &["--format", "json"]].concat());
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("one JSON object")
}

/// Checks that the program ends with code 2, nothing on standard output, and one line that says
/// `message`.
fn assert_fails(arguments: &[&str], message: &str) {
    let output = run(arguments);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    assert_eq!(stderr.trim_end().lines().count(), 1, "{stderr}");
    assert!(stderr.starts_with("roce-trace: ") && stderr.contains(message), "{stderr}");
}

#[test]
fn text_for_people() {
    let output = run(&["read", "derived/hns_scrubbed.pcap"]);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(!text.contains('\x1b'), "no colours in a pipe");
    assert!(text.lines().all(|line| line.len() <= 120 && line.trim_end() == line), "{text}");
    let expected = "\
SOURCE       DESTINATION  QP   TYPE PACKETS   BYTES LOST UNSEEN REORD RETX NAK RNR CNP   CE DSCP MARKING
192.168.70.6 192.168.70.4 0x45 RC        68 71.1 kB    0      0     0    0   0   0   0 0.0% 0    DSCP
192.168.70.4 192.168.70.6 0x48 RC        37  2.4 kB    0      0     0    0   0   0   0 0.0% 0    DSCP
";
    assert!(text.contains(expected), "{text}");
    assert!(
        text.contains("RoCEv2 105, RoCEv1 0, other 0, malformed 0, cut 0; ICRC good 105, bad 0")
    );
    assert!(text.contains("DSCP 0 on 105 packets of 2 flows"), "{text}");
    assert!(!text.contains("--qp 0x"), "nothing happened: {text}");
}

#[test]
fn text_says_how_to_see_what_happened() {
    let output = run(&["read", "derived/gbn_one_loss_psn_wrap.pcap"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("--qp 0xb1 shows what happened to the first flow, and when"), "{text}");
    let output = run(&["read", "derived/gbn_one_loss_psn_wrap.pcap", "--qp", "0xb1"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("TIME LINE of A = 10.0.0.1 QP 0xa1 and B = 10.0.0.2 QP 0xb1"), "{text}");
}

#[test]
fn long_addresses_fit_into_the_line() {
    let output = run(&["read", "lab/full-write-v6.va.pcap.gz"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.lines().all(|line| line.len() <= 120), "{text}");
    assert!(text.contains("fd00::1") && text.contains("2 flows, 200 packets"), "{text}");
}

#[test]
fn json_with_filters() {
    let file = "derived/hns_scrubbed.pcap";
    assert_eq!(json(&["read", file])["flows"].as_array().unwrap().len(), 2);
    for qp in ["69", "0x45"] {
        let report = json(&["read", file, "--qp", qp]);
        let flows = report["flows"].as_array().unwrap();
        assert_eq!((flows.len(), &flows[0]["dst_qp"]), (2, &Value::from(0x45)), "both ways");
        assert_eq!((&flows[0]["src_qp"], &flows[1]["src_qp"]), (&0x48.into(), &0x45.into()));
        assert_eq!(report["pairs"].as_array().unwrap().len(), 1);
        assert_eq!(report["packets"]["total"], 105, "the file is what it is");
    }
    assert_eq!(json(&["read", file, "--peer", "192.168.70.4"])["flows"][1]["dst_qp"], 0x48);
    assert_eq!(json(&["read", file, "--peer", "10.9.9.9"])["flows"], Value::Array(vec![]));
    let output = run(&["read", file, "--qp", "1"]);
    assert!(String::from_utf8(output.stdout).unwrap().contains("no flow matches"));
}

#[test]
fn source_qp_of_datagrams_is_a_filter_too() {
    let file = "lab/cm-udaddy-sidr-v4.va.pcap.gz";
    let all = json(&["read", file]);
    let source = all["flows"].as_array().unwrap().iter().find_map(|flow| flow["src_qp"].as_u64());
    let source = source.expect("UD packets name their source QP");
    let filtered = json(&["read", file, "--qp", &source.to_string()]);
    let flows = filtered["flows"].as_array().unwrap();
    assert!(flows.iter().any(|flow| flow["src_qp"] == source), "{flows:#?}");
    assert!(flows.iter().all(|flow| flow["src_qp"] == source || flow["dst_qp"] == source));
}

#[test]
fn expected_marking_is_the_users() {
    let read = |options: &[&str]| {
        let report = json(&[&["read", "derived/hns_scrubbed.pcap"], options].concat());
        let findings = report["findings"].as_array().unwrap();
        findings
            .iter()
            .map(|finding| finding["id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(read(&[]), ["dscp_zero"]);
    assert_eq!(read(&["--expect-dscp", "0"]), Vec::<String>::new());
    assert_eq!(read(&["--expect-dscp", "any"]), Vec::<String>::new());
    assert_eq!(read(&["--expect-dscp", "0", "--expect-ack-dscp", "10"]), ["dscp_zero"]);
    let lab = "lab/full-write-v4.vb.pcap.gz";
    let ids = |options: &[&str]| {
        let report = json(&[&["read", lab, "--expect-dscp", "0"], options].concat());
        report["findings"].as_array().unwrap().len()
    };
    assert_eq!((ids(&[]), ids(&["--expect-ect", "false"])), (1, 0));
}

#[test]
fn flows_beyond_the_limit_are_said() {
    let report = json(&["read", "derived/hns_scrubbed.pcap", "--max-flows", "1"]);
    let counted = report["flows"][0]["packets"].as_u64().unwrap();
    assert_eq!(counted + report["other_flows"]["packets"].as_u64().unwrap(), 105);
    let ids: Vec<_> = report["findings"].as_array().unwrap().iter().map(|it| &it["id"]).collect();
    assert!(ids.contains(&&Value::from("too_many_flows")), "{ids:?}");
}

#[test]
fn files_that_cannot_be_read() {
    assert_fails(&["read", "no/such/file.pcap"], "no/such/file.pcap: cannot be read: No such file");
    assert_fails(&["read", "lab"], "lab: is a directory");
    assert_fails(&["read", "lab/expected.json"], "lab/expected.json: not a capture file");
    assert_fails(&["read", "/dev/null"], "empty");
}

#[test]
fn a_file_that_was_cut_off_is_read_as_far_as_it_goes() {
    let whole = fs::read(capture("derived/hns_scrubbed.pcap")).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("cut.pcap");
    fs::write(&file, &whole[..whole.len() - 10]).unwrap();
    let file = file.to_str().unwrap();
    let output = run(&["read", file, "--format", "json"]);
    assert!(output.status.success(), "{output:?}");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("104 whole packets were read") && stderr.lines().count() == 1);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["packets"]["total"], 104);
    assert!(report["input"]["error"].as_str().unwrap().contains("cut off"));
}

#[test]
fn damage_in_the_middle_is_an_error_after_the_report() {
    let mut bytes = fs::read(capture("derived/hns_scrubbed.pcap")).unwrap();
    let second = 24 + 16 + u32::from_le_bytes(bytes[32..36].try_into().unwrap()) as usize;
    bytes[second + 8..second + 12].fill(0xff); // captured length of the second packet
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("damaged.pcap");
    fs::write(&file, bytes).unwrap();
    let output = run(&["read", file.to_str().unwrap(), "--format", "json"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("corrupt"), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["packets"]["total"], 1);
}

const HOLE: &str = "lab/hole-stream-v4.va.pcap.gz";

fn code(arguments: &[&str]) -> Option<i32> {
    run(arguments).status.code()
}

#[test]
fn a_queue_pair_that_died_is_exit_code_1() {
    assert_eq!(code(&["read", "lab/full-write-v4.va.pcap.gz"]), Some(0));
    assert_eq!(code(&["read", "lab/loss1-write-v4.va.pcap.gz"]), Some(0), "it recovered");
    assert_eq!(code(&["read", "lab/err-badrkey-write-v4.va.pcap.gz"]), Some(1), "died");
    assert_eq!(code(&["read", HOLE]), Some(1), "gave up");
    assert_eq!(code(&["read", "lab/hole-send-retry7-v6.va.pcap.gz"]), Some(1), "stands still");
    assert_eq!(code(&["read", HOLE, "--qp", "0x99"]), Some(0), "not the one that was asked for");
}

#[test]
fn an_incident_for_people() {
    let output = run(&["read", HOLE, "--captured-on", "10.0.0.1"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("\n1 incident: queue pairs that died or stand still\n"), "{text}");
    let headline = "\nINCIDENTS\nIN TROUBLE forward_black_hole ";
    assert!(text.contains(headline), "{text}");
    assert!(text.contains("10.0.0.1 QP 0x13 -> 10.0.0.2 QP 0x13\n"), "{text}");
    assert!(text.contains("the connection was ended (CM DREQ) 4.57 s later"), "{text}");
    for part in ["  EVIDENCE\n", "  TIME LINE\n", "  NEXT STEPS\n", "timeout, 555 ms of silence"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(text.lines().all(|line| line.len() <= 120 && line.trim_end() == line), "{text}");
}

#[test]
fn a_log_beside_the_file() {
    const LINE: &str = "host-a:1:1 [0] NCCL WARN NET/IB : Got completion from peer 10.0.0.2<52184> with error 12, \
                        opcode 0, len 0, vendor err 129\n";
    let directory = tempfile::tempdir().unwrap();
    let plain = directory.path().join("job.log");
    let noise = "host-a:1:1 [0] NCCL INFO Channel 00/02 : 0 1\n".repeat(20_000);
    let log = format!("{noise}{LINE}{noise}");
    fs::write(&plain, &log).unwrap();
    let packed = directory.path().join("job.log.gz");
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(log.as_bytes()).unwrap();
    fs::write(&packed, encoder.finish().unwrap()).unwrap();
    for log in [&plain, &packed] {
        let output = run(&["read", HOLE, "--format", "json", "--log", log.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(output.stderr.is_empty(), "{output:?}");
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let [incident] = &report["incidents"].as_array().unwrap()[..] else { panic!("{report:#}") };
        assert_eq!(incident["outcome"], "died");
        assert_eq!(incident["sources"], serde_json::json!(["log", "wire"]));
        assert_eq!(incident["vendor_err"]["hex"], "0x81");
    }
    // A log alone is enough for the exit code.
    let fine = "lab/full-write-v4.va.pcap.gz";
    assert_eq!(code(&["read", fine, "--log", plain.to_str().unwrap()]), Some(1));
    let cut = directory.path().join("cut.gz");
    let packed = fs::read(&packed).unwrap();
    fs::write(&cut, &packed[..packed.len() / 2]).unwrap();
    let output = run(&["read", fine, "--log", cut.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("the log was read up to line"));
    assert!(!output.stdout.is_empty(), "the report is there");
}

#[test]
fn logs_and_facts_that_cannot_be_read() {
    let fine = "lab/full-write-v4.va.pcap.gz";
    assert_fails(&["read", fine, "--log", "no/such.log"], "no/such.log: No such file");
    assert_fails(&["read", "-", "--log", "-"], "cannot both be standard input");
    assert_fails(&["read", fine, "--facts", "lab/expected.json"], "lab/expected.json: is no JSON");
    assert_fails(&["read", fine, "--facts", "no/such.json"], "no/such.json: cannot be read");
}

#[test]
fn facts_of_the_hosts_decide() {
    let directory = tempfile::tempdir().unwrap();
    let facts = directory.path().join("facts.json");
    fs::write(&facts, r#"{"responder": {"is_process_alive": false}}"#).unwrap();
    let arguments = ["read", HOLE, "--format", "json", "--facts", facts.to_str().unwrap()];
    let report: Value = serde_json::from_slice(&run(&arguments).stdout).unwrap();
    assert_eq!(report["incidents"][0]["verdict"]["id"], "peer_silent", "{report:#}");
}

#[test]
fn wrong_command_lines() {
    for (arguments, message) in [
        (&["read", "x.pcap", "--no-such-option"][..], "--no-such-option"),
        (&["read"], "<FILE>"),
        (&["read", "x.pcap", "--qp", "0x1000000"], "queue pair number"),
        (&["read", "x.pcap", "--qp", "45h"], "queue pair number"),
        (&["read", "x.pcap", "--peer", "host"], "--peer"),
        (&["read", "x.pcap", "--expect-dscp", "64"], "0 to 63"),
        (&["read", "x.pcap", "--max-flows", "0"], "--max-flows"),
        (&["raed", "x.pcap"], "raed"),
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains(message), "{arguments:?}: {stderr}");
    }
}

#[test]
fn a_closed_pipe_is_success() {
    for format in ["text", "json"] {
        let (reader, writer) = pipe().unwrap();
        drop(reader);
        let output = roce_trace()
            .args(["read", "derived/hns_scrubbed.pcap", "--format", format])
            .stdout(writer)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        assert!(output.stderr.is_empty(), "{output:?}");
    }
}

#[test]
fn standard_input() {
    let mut child = roce_trace()
        .args(["read", "-", "--format", "json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let bytes = fs::read(capture("variants/hns_sll.pcap.gz")).unwrap();
    child.stdin.take().unwrap().write_all(&bytes).unwrap();
    let output = child.wait_with_output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["input"]["file"], &report["icrc"]["good"]), (&"-".into(), &105.into()));
}
