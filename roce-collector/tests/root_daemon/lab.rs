//! A veth pair with the daemon at one end, and what it says.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use roce_collector::capture::CaptureReader;
use roce_collector::flow::FlowReport;
use roce_collector::http::FlowsAnswer;
use roce_testkit::daemon::Daemon;
use roce_testkit::netns::{Namespace, VethConfig, VethPair};
use roce_testkit::replay::replay;
use roce_testkit::send::Pace;

pub(crate) const INTERFACE: &str = "right0";
pub(crate) const PATIENCE: Duration = Duration::from_secs(15);

pub(crate) struct Lab {
    pub(crate) left: Namespace,
    pub(crate) right: Namespace,
    pub(crate) veth: VethPair,
}

impl Lab {
    pub(crate) fn new() -> Self {
        let (left, right) =
            (Namespace::create("left").unwrap(), Namespace::create("right").unwrap());
        let up = right.command("ip").args(["link", "set", "lo", "up"]).status().unwrap();
        assert!(up.success());
        let veth = VethPair::create(&left, &right, &VethConfig::default()).unwrap();
        Self { left, right, veth }
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.right.command(env!("CARGO_BIN_EXE_roce-collector"));
        command.args(["--iface", INTERFACE]).args(arguments);
        command
    }

    pub(crate) fn start(&self, arguments: &[&str]) -> Daemon<'_> {
        let address: SocketAddr = "127.0.0.1:9977".parse().unwrap();
        Daemon::start(&self.right, self.command(arguments), address, "/readyz").unwrap()
    }

    /// Plays a capture into the other end.
    pub(crate) fn replay(&self, frames: &[Vec<u8>]) {
        let sent = replay(&self.left, self.veth.left_name(), frames, Pace::Unlimited).unwrap();
        assert_eq!(sent.delivered(), frames.len() as u64, "{sent:?}");
    }

    /// BPF programs of the interface, as iproute2 sees them.
    pub(crate) fn programs(&self) -> String {
        let show = |arguments: &[&str]| {
            let output = self.right.command(arguments[0]).args(&arguments[1..]).output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        let link = show(&["ip", "-d", "link", "show", INTERFACE]);
        let xdp = link.lines().filter(|line| line.contains("prog/xdp")).collect::<String>();
        let ingress = show(&["tc", "filter", "show", "dev", INTERFACE, "ingress"]);
        let egress = show(&["tc", "filter", "show", "dev", INTERFACE, "egress"]);
        xdp + &ingress + &egress
    }
}

pub(crate) fn capture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/captures/derived/hns_scrubbed.pcap")
}

pub(crate) fn frames() -> Vec<Vec<u8>> {
    let mut reader = CaptureReader::open(&capture()).unwrap();
    let mut frames = Vec::new();
    while let Some(frame) = reader.next_frame().unwrap() {
        frames.push(frame.data.to_vec());
    }
    frames
}

/// What `roce-trace read` says of a capture.
pub(crate) fn read(capture: &Path) -> Vec<FlowReport> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_roce-trace"));
    let output = command.arg("read").arg(capture).args(["--format", "json"]).output().unwrap();
    // 1: something died in it.
    assert!(output.status.code().is_some_and(|code| code < 2), "{output:?}");
    let mut report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    serde_json::from_value(report["flows"].take()).unwrap()
}

pub(crate) fn flows(daemon: &Daemon<'_>) -> Result<FlowsAnswer> {
    Ok(serde_json::from_str(&daemon.get("/api/v1/flows")?.ok()?)?)
}

pub(crate) fn metrics(daemon: &Daemon<'_>) -> Result<BTreeMap<String, f64>> {
    let text = daemon.get("/metrics")?.ok()?;
    ensure!(text.ends_with("# EOF\n"), "cut off: {text}");
    let series = text.lines().filter(|line| !line.starts_with('#'));
    series
        .map(|line| {
            let (name, value) = line.rsplit_once(' ').context("no value")?;
            Ok((name.to_owned(), value.parse()?))
        })
        .collect()
}

pub(crate) fn packets(daemon: &Daemon<'_>) -> Result<f64> {
    let name = format!(
        "roce_packets_total{{device=\"{INTERFACE}\",direction=\"ingress\",version=\"v2\"}}"
    );
    metrics(daemon)?.get(&name).copied().context("no packets metric")
}

/// Waits until the metrics know of so many packets; then so do the flows, swept after them.
pub(crate) fn wait_for(daemon: &Daemon<'_>, expected: f64) -> Result<()> {
    let start = Instant::now();
    loop {
        let seen = packets(daemon)?;
        if (seen - expected).abs() < 0.5 {
            return Ok(());
        }
        if start.elapsed() > PATIENCE || seen > expected {
            bail!("{seen} packets instead of {expected}; {}", daemon.output());
        }
        thread::sleep(Duration::from_millis(100));
    }
}

/// A sum of metrics whose names begin and end so.
pub(crate) fn sum(metrics: &BTreeMap<String, f64>, prefix: &str, part: &str) -> f64 {
    let series = metrics.iter().filter(|(name, _)| name.starts_with(prefix) && name.contains(part));
    series.map(|(_, value)| value).sum()
}

#[track_caller]
pub(crate) fn is(value: f64, expected: u64) {
    assert!((value - expected as f64).abs() < 0.5, "{value} instead of {expected}");
}
