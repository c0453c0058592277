//! `roce-trace live` on a veth in a namespace: what it says is what was sent. Needs root, BPF and
//! iproute2: fails without.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails its test")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::net::IpAddr;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use roce_collector::capture::CaptureReader;
use roce_testkit::daemon::Daemon;
use roce_testkit::netns::{Namespace, VethConfig, VethPair};
use roce_testkit::replay::replay;
use roce_testkit::scenario::{self, FlowKey, FlowTruth, Scenario, Truth};
use roce_testkit::send::Pace;
use serde_json::Value;

const PATIENCE: Duration = Duration::from_secs(20);

/// Frames go from `left0` in `left` to `right0` in `right`, where the tool runs.
struct Lab {
    left: Namespace,
    right: Namespace,
    _veth: VethPair,
}

impl Lab {
    fn new() -> Self {
        let left = Namespace::create("left").unwrap();
        let right = Namespace::create("right").unwrap();
        let config = VethConfig { mtu: 9000, queues: 2, ..VethConfig::default() };
        let veth = VethPair::create(&left, &right, &config).unwrap();
        Self { left, right, _veth: veth }
    }

    fn trace(&self, arguments: &str) -> Command {
        let mut command = self.right.command(env!("CARGO_BIN_EXE_roce-trace"));
        command.args(arguments.split_whitespace()).env_remove("ROCE_COLLECTOR");
        command.stdin(Stdio::null()).process_group(0);
        command
    }

    fn run(&self, arguments: &str) -> Output {
        self.trace(arguments).output().unwrap()
    }

    /// Starts the tool with its output in a pipe.
    fn start(&self, arguments: &str) -> Child {
        self.trace(arguments).stdout(Stdio::piped()).spawn().unwrap()
    }

    fn send(&self, scenario: &Scenario) {
        let pace = Pace::FramesPerSecond(20_000);
        let sent = replay(&self.left, "left0", &scenario.frames, pace).unwrap();
        assert_eq!((sent.frames, sent.dropped), (scenario.frames.len() as u64, 0));
    }

    /// Programs on the interface, as iproute2 and the kernel's list of links show them.
    fn is_attached(&self) -> bool {
        let show =
            self.right.command("ip").args(["-d", "link", "show", "right0"]).output().unwrap();
        String::from_utf8(show.stdout).unwrap().contains("xdp")
    }

    fn wait_until_attached(&self, expected: bool) {
        let start = Instant::now();
        while self.is_attached() != expected {
            assert!(start.elapsed() < PATIENCE, "waited {PATIENCE:?} for attached {expected}");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

fn demo() -> Scenario {
    Scenario::together("demo", scenario::demo(2))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn objects(output: &[u8]) -> Vec<Value> {
    text(output).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn terminate(child: &Child) {
    // SAFETY: kill takes plain integers. The child has not been waited for, so the id is its.
    unsafe { libc::kill(child.id().cast_signed(), libc::SIGTERM) };
}

/// Checks every count of `flows` that was sent.
fn assert_flows(flows: &Value, truth: &Truth) {
    let key = |flow: &Value| {
        let address = |name: &str| flow[name].as_str().unwrap().parse::<IpAddr>().unwrap();
        let dst_qp = flow["dst_qp"].as_u64().unwrap() as u32;
        FlowKey { src: address("src"), dst: address("dst"), dst_qp }
    };
    let flows = flows.as_array().unwrap();
    let flows: BTreeMap<_, _> = flows.iter().map(|flow| (key(flow), flow)).collect();
    assert!(flows.keys().eq(truth.flows.keys()), "{flows:#?}");
    for (key, flow) in flows {
        let FlowTruth { packets, wire_bytes, payload_bytes, naks, rnr_naks, cnps, ecn, .. } =
            truth.flow(&key);
        let expected =
            [packets, wire_bytes, payload_bytes, naks.psn_sequence_error, rnr_naks, cnps, ecn.ce];
        let shown = [
            &flow["packets"],
            &flow["wire_bytes"],
            &flow["payload_bytes"],
            &flow["naks"]["psn_sequence_error"],
            &flow["rnr_naks"],
            &flow["cnps"],
            &flow["ecn"]["ce"],
        ];
        assert_eq!(shown.map(|count| count.as_u64().unwrap()), expected, "{key:?}");
        assert_eq!((&flow["device"], &flow["direction"]), (&"right0".into(), &"ingress".into()));
    }
}

#[test]
fn json_says_what_was_sent_and_rates_add_up() {
    let (lab, demo) = (Lab::new(), demo());
    let mut child = lab.start("live --iface right0 --format json --count 3 --interval 700ms");
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    lab.send(&demo);
    let lines = [first].into_iter().chain(lines.map(Result::unwrap));
    let samples: Vec<Value> = lines.map(|line| serde_json::from_str(&line).unwrap()).collect();
    assert!(child.wait().unwrap().success());
    assert_eq!((samples.len(), &samples[0]["flows"]), (3, &Value::Array(Vec::new())));
    let last = &samples[2];
    assert_flows(&last["flows"], &demo.truth);
    assert_eq!(last["matching"], demo.truth.flows.len());
    let totals = demo.truth.totals();
    let seen = &last["hooks"][0]["seen"];
    assert_eq!(
        (seen["packets"].as_u64(), seen["bytes"].as_u64()),
        (Some(totals.packets), Some(totals.wire_bytes))
    );
    // Rates times intervals are all packets.
    let counted = |sample: &Value, rates: &Value| {
        rates["packets_per_second"].as_f64().unwrap() * sample["interval_s"].as_f64().unwrap()
    };
    let by_tap: f64 =
        samples.iter().map(|sample| counted(sample, &sample["hooks"][0]["rates"])).sum();
    assert_eq!(by_tap.round() as u64, totals.packets);
    let flows = samples.iter().flat_map(|sample| {
        let flows = sample["flows"].as_array().unwrap();
        flows.iter().map(|flow| counted(sample, &flow["rates"]))
    });
    assert_eq!(flows.sum::<f64>().round() as u64, totals.packets);
    assert!(!lab.is_attached(), "it detaches at its end");
}

#[test]
fn plain_lines_show_the_totals() {
    let (lab, demo) = (Lab::new(), demo());
    let mut child = lab.start("live --iface right0 --count 3 --interval 700ms --hook tc");
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    lab.send(&demo);
    let lines = [first].into_iter().chain(lines.map(Result::unwrap));
    let text = lines.collect::<Vec<_>>().join("\n");
    assert!(child.wait().unwrap().success() && !text.contains('\x1b'), "{text}");
    assert!(
        text.starts_with("right0 (ingress tc tcx, egress tc tcx); attached by this command\n"),
        "{text}"
    );
    for (key, truth) in &demo.truth.flows {
        let qp = format!("{:#x}", key.dst_qp);
        let mut rows = text.lines().filter(|line| line.split_whitespace().any(|word| word == qp));
        let row = rows.next_back().unwrap_or_else(|| panic!("no {qp} in\n{text}"));
        let words: Vec<_> = row.split_whitespace().collect();
        let naks = truth.naks.total().to_string();
        assert_eq!([words[2], words[3]], [key.src.to_string(), key.dst.to_string()], "{row}");
        assert_eq!([words[12], words[14]], [naks, truth.cnps.to_string()], "{row}");
        assert_eq!(words[words.len() - 2], truth.packets.to_string(), "{row}");
    }
}

#[test]
fn one_queue_pair_by_the_short_form() {
    let (lab, demo) = (Lab::new(), demo());
    let (key, truth) = demo.truth.flows.first_key_value().unwrap();
    let child =
        lab.start(&format!("--qp {:#x} --iface right0 --format json --count 2", key.dst_qp));
    lab.wait_until_attached(true);
    lab.send(&demo);
    let samples = objects(&child.wait_with_output().unwrap().stdout);
    let flows = samples[1]["flows"].as_array().unwrap();
    let to_it = flows.iter().find(|flow| flow["dst_qp"] == key.dst_qp).unwrap();
    assert_eq!(to_it["packets"].as_u64(), Some(truth.packets));
    // And what it sends, as soon as answers show the pair.
    assert!(flows.iter().all(|flow| flow["dst_qp"] == key.dst_qp || flow["src_qp"] == key.dst_qp));
}

/// RDMA WRITEs of which a switch dropped one in a hundred, seen behind it.
#[test]
fn one_queue_pair_shows_both_directions_and_what_became_of_psns() {
    let lab = Lab::new();
    let capture = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../testdata/captures/lab/loss1-write-v4.vb.pcap.gz");
    let mut reader = CaptureReader::open(&capture).unwrap();
    let mut frames = Vec::new();
    while let Some(frame) = reader.next_frame().unwrap() {
        frames.push(frame.data.to_vec());
    }
    // Both queue pairs of this capture have the same number.
    let child = lab.start("--qp 0x11 --iface right0 --format json --count 4");
    lab.wait_until_attached(true);
    let sent = replay(&lab.left, "left0", &frames, Pace::FramesPerSecond(5_000)).unwrap();
    assert_eq!(sent.dropped, 0);
    let samples = objects(&child.wait_with_output().unwrap().stdout);
    let last = samples.last().unwrap();
    let flows = last["flows"].as_array().unwrap();
    assert_eq!(flows.len(), 2, "{last:#}");
    let [data, answers] = [&flows[0], &flows[1]];
    assert_eq!((&data["src"], &answers["src"]), (&answers["dst"], &data["dst"]), "{last:#}");
    let figure = |name: &str| data["psn"][name].as_u64().unwrap();
    assert_eq!((figure("lost"), figure("recovered"), figure("unseen")), (34, 34, 0), "{last:#}");
    assert_eq!(data["answers"]["naks"], answers["naks"], "{last:#}");
    assert_eq!(last["hooks"][0]["seen"]["lost"], 34, "{last:#}");
    // Some came before the first sample, with which rates begin.
    let rate = |sample: &Value| sample["hooks"][0]["rates"]["lost_per_second"].as_f64();
    assert!(samples.iter().filter_map(rate).any(|rate| rate > 0.0), "{samples:#?}");
}

#[test]
fn a_silent_queue_pair_gets_words() {
    let lab = Lab::new();
    let output = lab.run("--qp 0x45 --iface right0 --interval 2600ms --count 2");
    let text = text(&output.stdout);
    let headline = "no packet of QP 0x45 seen in 5.";
    let hooks = " s on right0 (ingress xdp native, egress tc tcx)\n";
    assert!(
        text.contains(headline) && text.contains(hooks) && text.contains("hardware offload"),
        "{text}"
    );
    assert_eq!(text.matches("What this may mean:").count(), 1, "{text}");
}

#[test]
fn a_running_collector_is_asked_and_nothing_is_attached() {
    let (lab, demo) = (Lab::new(), demo());
    let address = "127.0.0.1:9977".parse().unwrap();
    let mut command = lab.right.command(env!("CARGO_BIN_EXE_roce-collector"));
    command.args(["--iface", "right0", "--hook", "tc"]);
    let collector = Daemon::start(&lab.right, command, address, "/readyz").unwrap();
    lab.send(&demo);
    let mut child = lab.start("live --format json --interval 200ms");
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let start = Instant::now();
    let sample = loop {
        let sample: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        if sample["hooks"][0]["seen"]["packets"] == demo.truth.totals().packets {
            break sample;
        }
        assert!(start.elapsed() < PATIENCE, "{sample}");
    };
    assert_flows(&sample["flows"], &demo.truth);
    assert_eq!(sample["source"], "collector http://127.0.0.1:9977");
    assert!(!lab.is_attached(), "the collector uses TC, and the tool attaches nothing");
    terminate(&child);
    assert!(child.wait().unwrap().success());

    let other = lab.run("live --iface left0");
    let message = text(&other.stderr);
    assert_eq!(other.status.code(), Some(2), "{other:?}");
    assert!(message.contains("not attached to left0, but to: right0"), "{message}");

    let mut watching = lab.trace("live --interval 100ms");
    let mut watching = watching.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(watching.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().ends_with("; collector http://127.0.0.1:9977"));
    drop(collector);
    assert!(lines.all(|line| line.is_ok()));
    let output = watching.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stderr).contains("does not answer any more"), "{output:?}");
}

#[test]
fn signals_and_closed_pipes_end_it_well() {
    let lab = Lab::new();
    let mut child = lab.start("live --iface right0 --format json");
    lab.wait_until_attached(true);
    terminate(&child);
    assert!(child.wait().unwrap().success());
    lab.wait_until_attached(false);

    let mut child = lab.start("live --iface right0 --format json --interval 100ms");
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
    assert!(!lab.is_attached());
}

#[test]
fn what_cannot_be_done_is_said_in_one_line() {
    let lab = Lab::new();
    for (arguments, message) in [
        ("live", "start roce-collector on this node"),
        ("live --collector none", "add --iface"),
        ("live --iface nosuch0", "there is no interface nosuch0; there are: lo, right0"),
        (
            "live --iface right0 --hook xdp --direction egress",
            "--hook xdp sees received frames only",
        ),
    ] {
        let output = lab.run(arguments);
        let stderr = text(&output.stderr);
        assert_eq!((output.status.code(), stderr.lines().count()), (Some(2), 1), "{output:?}");
        assert!(stderr.starts_with("roce-trace: ") && stderr.contains(message), "{stderr}");
    }
    let mut command = lab.right.command("setpriv");
    command.args(["--bounding-set=-all", "--inh-caps=-all", env!("CARGO_BIN_EXE_roce-trace")]);
    command.args(["live", "--iface", "right0"]);
    let stderr = text(&command.output().unwrap().stderr);
    assert!(stderr.contains("CAP_BPF"), "{stderr}");
}
