//! A veth pair with the daemon at one end.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use roce_collector::capture::CaptureReader;
use roce_collector::http::IncidentsAnswer;
use roce_collector::incident::Incident;
use roce_testkit::daemon::Daemon;
use roce_testkit::netns::{Namespace, VethConfig, VethPair};
use roce_testkit::replay::replay_timed;

const INTERFACE: &str = "right0";
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Lab {
    left: Namespace,
    right: Namespace,
    veth: VethPair,
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

    pub(crate) fn start(&self, arguments: &[&str]) -> Daemon<'_> {
        let mut command = self.right.command(env!("CARGO_BIN_EXE_roce-collector"));
        command.args(["--iface", INTERFACE, "--direction", "ingress", "--log-format", "json"]);
        command.args(arguments);
        let address: SocketAddr = "127.0.0.1:9977".parse().unwrap();
        Daemon::start(&self.right, command, address, "/readyz").unwrap()
    }

    /// Plays a capture into the other end, with its pauses.
    pub(crate) fn replay(&self, capture: &Path) {
        let mut reader = CaptureReader::open(capture).unwrap();
        let (mut frames, mut first) = (Vec::new(), None);
        while let Some(frame) = reader.next_frame().unwrap() {
            let time = frame.time.unwrap();
            frames.push((time.since(*first.get_or_insert(time)), frame.data.to_vec()));
        }
        let count = frames.len() as u64;
        let sent = replay_timed(&self.left, self.veth.left_name(), frames, 1.0).unwrap();
        assert_eq!(sent.delivered(), count, "{sent:?}");
    }

    /// Waits for the only one.
    pub(crate) fn incident(daemon: &Daemon<'_>) -> Incident {
        Self::incident_when(daemon, |_| true)
    }

    /// Waits for the only one until it says so.
    pub(crate) fn incident_when(
        daemon: &Daemon<'_>,
        says_so: impl Fn(&Incident) -> bool,
    ) -> Incident {
        let start = Instant::now();
        loop {
            let mut incidents = incidents(daemon);
            assert!(incidents.len() < 2, "{incidents:#?}");
            if let Some(incident) = incidents.pop().filter(&says_so) {
                return incident;
            }
            assert!(start.elapsed() < PATIENCE, "no incident:\n{}", daemon.output());
            thread::sleep(Duration::from_millis(100));
        }
    }
}

pub(crate) fn incidents(daemon: &Daemon<'_>) -> Vec<Incident> {
    let text = daemon.get("/api/v1/incidents").unwrap().ok().unwrap();
    let answer: IncidentsAnswer = serde_json::from_str(&text).unwrap();
    answer.incidents
}

pub(crate) fn capture(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/captures/lab");
    folder.join(format!("{name}.pcap.gz"))
}

/// One of the queue pairs that `cargo xtask test-vm` lets die.
pub(crate) fn scenario(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/captures/scenarios");
    folder.join(format!("{name}.pcap.gz"))
}
