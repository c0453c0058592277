//! `roce-trace explain`: output, exit codes, bad input.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write, pipe};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use super::log_file;

fn roce_trace(arguments: &[impl AsRef<OsStr>]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_roce-trace"));
    command.arg("explain").args(arguments).current_dir(log_file("")).stdin(Stdio::null());
    command
}

fn run(arguments: &[impl AsRef<OsStr>]) -> Output {
    roce_trace(arguments).output().expect("the program runs")
}

/// The output of the program that reads `log` from standard input.
fn explain(log: &[u8], arguments: &[&str]) -> Output {
    let mut child = roce_trace(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    child.stdin.take().expect("a pipe").write_all(log).expect("the program reads");
    child.wait_with_output().expect("the program ends")
}

const INFO: &[u8] = b"h:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] [send] via NET/IB/0/GDRDMA\n";
const EVENT: &[u8] =
    b"h:1:2 [0] NCCL WARN NET/IB : mlx5_0:1 Got non-fatal async event: port error(10)\n";
const ERROR: &[u8] =
    b"h:1:2 [0] NCCL WARN NET/IB : Got completion with error 12, opcode 1, len 7, vendor err 129\n";
const FLUSH: &[u8] =
    b"h:1:2 [0] NCCL WARN NET/IB : Got completion with error 5, opcode 1, len 7, vendor err 249\n";

#[test]
fn json_lines() {
    let output = run(&["qp_errors_all.log", "--format", "json"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stderr.is_empty());
    let text = String::from_utf8(output.stdout).unwrap();
    let records: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(records.len(), 36);
    let first = &records[3];
    assert_eq!((&first["line"], &first["lines"]), (&4.into(), &2.into()));
    assert_eq!(first["status"], serde_json::json!({"code": 12, "name": "IBV_WC_RETRY_EXC_ERR"}));
    assert_eq!(first["vendor_err"]["hex"], "0x81");
    assert_eq!(first["vendor_err"]["evidence"], "observed");
    assert_eq!((&first["time"], &first["cause"]), (&Value::Null, &Value::Null));
    assert_eq!((&first["producer"], &first["severity"]), (&"nccl".into(), &"error".into()));
    for key in ["producer_format", "device", "local", "peer", "opcode_raw", "raw"] {
        assert!(!first[key].is_null(), "{key}");
    }
}

#[test]
fn text_fits_a_terminal() {
    let output = run(&["qp_errors_all.log"]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.lines().all(|line| line.chars().count() <= 100 && line.trim_end() == line),
        "{text}"
    );
    assert!(!text.contains('\x1b'), "no colours in a pipe");
    assert!(text.starts_with("ERROR IBV_WC_RETRY_EXC_ERR (12), nccl, line 1\n"), "{text}");
    assert!(text.contains("[observed, not official]"));
    assert!(text.contains("  peer        10.0.0.12, port 60054\n"), "{text}");
    assert!(text.contains("QP 0x1401 (5121)"), "{text}");
    let last = text.lines().last().unwrap();
    assert!(
        last.starts_with(
            "qp_errors_all.log: 29 errors, 4 secondary, 3 events in 60 lines, 5423 bytes"
        ),
        "{last}"
    );
}

#[test]
fn exit_codes() {
    for (log, code) in [
        (&b""[..], 0),
        (INFO, 0),
        (EVENT, 0),
        (ERROR, 1),
        (FLUSH, 1),
        (&[EVENT, ERROR].concat(), 1),
    ] {
        let output = explain(log, &["-"]);
        assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(log));
    }
    for (arguments, message) in [
        (&["no-such.log"][..], "no-such.log: No such file"),
        (&["."], "Is a directory"),
        (&["qp_errors_all.log", "--format", "xml"], "xml"),
    ] {
        let output = run(arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(message), "{stderr}");
    }
}

#[test]
fn standard_input_compressed_or_not() {
    let plain = explain(&[INFO, ERROR].concat(), &["--format", "json"]);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&[INFO, ERROR].concat()).unwrap();
    let compressed = explain(&gzip.finish().unwrap(), &["--format", "json"]);
    assert_eq!(plain.stdout, compressed.stdout);
    let record: Value = serde_json::from_slice(&plain.stdout).unwrap();
    assert_eq!(record["line"], 2);
}

#[test]
fn a_log_that_goes_on_is_not_waited_for() {
    let mut child = roce_trace(&["--format", "json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut log = child.stdin.take().expect("a pipe");
    log.write_all(ERROR).expect("the program reads");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
    assert!(line.contains("\"code\":12"), "{line}");
    drop(log);
    assert_eq!(child.wait().expect("the program ends").code(), Some(1));
}

#[test]
fn a_large_log_takes_little_memory() {
    const PIECES: usize = 640;
    let mut child = roce_trace(&["--format", "json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut log = child.stdin.take().expect("a pipe");
    // 100 kB each, with an error in every 64th.
    let piece = INFO.repeat(100_000 / INFO.len());
    for n in 0..PIECES {
        log.write_all(&piece).expect("the program reads");
        if n % 64 == 32 {
            log.write_all(ERROR).expect("the program reads");
        }
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).expect("it runs");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a figure");
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().expect("a number");
    assert!(peak < 100 * 1024, "{peak} kB");
    drop(log);
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 10);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_closed_pipe_is_success() {
    let (reader, writer) = pipe().expect("a pipe");
    drop(reader);
    let status =
        roce_trace(&["qp_errors_all.log"]).stdout(writer).status().expect("the program runs");
    assert_eq!(status.code(), Some(0));
}

#[test]
fn what_a_log_says_does_not_move_the_cursor() {
    let output = explain(b"my job\x1b[2J\x07: transport retry counter exceeded\n", &[]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(!text.contains(['\x1b', '\x07']), "{text:?}");
    assert!(text.contains("my job\\u{1b}[2J"), "{text}");
}
