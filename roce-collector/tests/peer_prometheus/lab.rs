//! Traffic with every fault at one end of a veth pair, a collector at the other, and an RDMA device
//! whose port counter follows the traffic.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use roce_collector::capture::CaptureReader;
use roce_testkit::daemon::Daemon;
use roce_testkit::netns::{Namespace, VethConfig, VethPair};
use roce_testkit::packet::{Aeth, Opcode};
use roce_testkit::scenario::{self, Connection, ManyFlows};
use roce_testkit::send::{Pace, Sender, Sent};
use tempfile::TempDir;

/// Address of the collector in its namespace.
pub(crate) const COLLECTOR: &str = "127.0.0.1:9977";

/// Alerts look at rates over five minutes and want 100 packets a second there, so that many packets
/// have to come in half a minute.
const PACE: Pace = Pace::FramesPerSecond(5_000);
/// More flows than the table and the fallback map hold, and how fast they come.
const FLOWS: u32 = 10_000;
const FLOWS_PACE: Pace = Pace::FramesPerSecond(20_000);
const MAX_FLOWS: &str = "256";
/// Shorter than the time between two visits of the many flows, so that they are evicted.
const FLOW_IDLE: &str = "2s";
const VISIT: Duration = Duration::from_secs(4);

/// Frames of RDMA WRITEs of which a switch dropped one in a hundred, behind it.
fn losses() -> Vec<Vec<u8>> {
    let captures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/captures/lab");
    let mut reader = CaptureReader::open(&captures.join("loss1-write-v4.vb.pcap.gz")).unwrap();
    let mut frames = Vec::new();
    while let Some(frame) = reader.next_frame().unwrap() {
        frames.push(frame.data.to_vec());
    }
    frames
}

/// Frames go from `left0` in `hosts` to `right0` in `tap`.
pub(crate) struct Lab {
    _veth: VethPair,
    hosts: Namespace,
    tap: Namespace,
    sysfs: TempDir,
}

impl Lab {
    pub(crate) fn new() -> Self {
        let hosts = Namespace::create("hosts").unwrap();
        let tap = Namespace::create("tap").unwrap();
        let veth = VethPair::create(&hosts, &tap, &VethConfig::default()).unwrap();
        let lab = Self { _veth: veth, hosts, tap, sysfs: tempfile::tempdir().unwrap() };
        let port = lab.port();
        fs::create_dir_all(port.join("gid_attrs/ndevs")).unwrap();
        fs::create_dir_all(port.join("counters")).unwrap();
        fs::write(port.join("link_layer"), "Ethernet\n").unwrap();
        fs::write(port.join("gid_attrs/ndevs/0"), "right0\n").unwrap();
        fs::write(port.join("counters/port_xmit_packets"), "0\n").unwrap();
        lab.set_port_counter(0);
        lab
    }

    /// The namespace that the collector is in.
    pub(crate) const fn tap(&self) -> &Namespace {
        &self.tap
    }

    pub(crate) fn start_collector(&self) -> Daemon<'_> {
        let mut command = self.tap.command(env!("CARGO_BIN_EXE_roce-collector"));
        command.args(["--iface", "right0", "--listen", COLLECTOR, "--bpf-stats"]);
        command.args(["--max-flows", MAX_FLOWS, "--flow-idle", FLOW_IDLE]);
        command.arg("--sysfs-root").arg(self.sysfs.path());
        Daemon::start(&self.tap, command, COLLECTOR.parse().unwrap(), "/readyz").unwrap()
    }

    /// Plays all scenarios and refused requests for so long, and from time to time real traffic with losses
    /// and many flows.
    pub(crate) fn play(&self, time: Duration) -> Sent {
        let refusing = Connection::ipv4(100);
        let nak = |code| refusing.backward(Opcode::RC_ACKNOWLEDGE).aeth(Aeth::nak(code, 1));
        let mut frames: Vec<_> = (1..=4).map(|code| nak(code).build()).collect();
        let scenarios = scenario::all().into_iter().flat_map(|scenario| scenario.frames);
        frames.extend(scenarios.map(|frame| frame.bytes));

        // Again in every round, and nobody answers.
        let stuck = Connection::ipv4(101).forward(Opcode::RC_RDMA_WRITE_ONLY).psn(7);
        frames.push(stuck.payload_len(64).build());

        let losses = losses();
        let (start, mut visited) = (Instant::now(), None::<Instant>);
        let mut sent = Sent::default();
        let mut add = |more: Sent| {
            sent.frames += more.frames;
            assert_eq!(more.dropped, 0, "the veth pair dropped frames");
            self.set_port_counter(sent.frames);
        };
        self.hosts
            .run(|| {
                let mut sender = Sender::open("left0").unwrap();
                while start.elapsed() < time {
                    if visited.is_none_or(|visited| visited.elapsed() > VISIT) {
                        add(sender.send(&losses, PACE).unwrap());
                        let flows = ManyFlows::new(FLOWS, u64::from(FLOWS), 64);
                        add(sender.send(flows, FLOWS_PACE).unwrap());
                        visited = Some(Instant::now());
                    }
                    add(sender.send(&frames, PACE).unwrap());
                }
            })
            .unwrap();
        sent
    }

    fn port(&self) -> PathBuf {
        self.sysfs.path().join("class/infiniband/mlx5_0/ports/1")
    }

    fn set_port_counter(&self, packets: u64) {
        let counter = self.port().join("counters/port_rcv_packets");
        // By renaming, so that a reader never finds an empty file.
        let new = counter.with_extension("new");
        fs::write(&new, packets.to_string()).unwrap();
        fs::rename(&new, counter).unwrap();
    }
}
