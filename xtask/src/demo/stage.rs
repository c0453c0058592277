//! Where the demo plays: two namespaces with a veth pair.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::path::Path;

use anyhow::{Context, Result};
use roce_testkit::daemon::Daemon;
use roce_testkit::netns::{Namespace, VethConfig, VethEnd, VethPair};
use roce_testkit::scenario::Frame;
use roce_testkit::send::{Pace, Sender, Sent};

use super::interrupt;

/// What the hosts send goes in here.
const FABRIC: &str = "fabric0";
/// And comes out here, where the collector looks.
pub(super) const MIRROR: &str = "mirror0";
/// Address of the collector in its namespace.
pub(super) const COLLECTOR: SocketAddr =
    SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 9977));
/// Holds RoCE packets with the largest path MTU, 4096 bytes.
const MTU: u32 = 4200;
/// Frames between two looks at whether to go on.
const SLICE: usize = 100;

pub(super) struct Stage {
    // Dropped in this order.
    _veth: VethPair,
    hosts: Namespace,
    tap: Namespace,
}

impl Stage {
    pub(super) fn set() -> Result<Self> {
        let hosts = Namespace::create("demo_hosts")?;
        let tap = Namespace::create("demo_tap")?;
        let ends = VethConfig::default();
        let config = VethConfig {
            mtu: MTU,
            left: VethEnd { name: FABRIC.to_owned(), ..ends.left.clone() },
            right: VethEnd { name: MIRROR.to_owned(), ..ends.right.clone() },
            ..ends
        };
        let veth = VethPair::create(&hosts, &tap, &config)?;
        Ok(Self { _veth: veth, hosts, tap })
    }

    /// The namespace that the collector runs in.
    pub(super) fn tap(&self) -> &Namespace {
        &self.tap
    }

    pub(super) fn start_collector(&self, program: &Path) -> Result<Daemon<'_>> {
        let mut command = self.tap.command(program);
        let address = COLLECTOR.to_string();
        command.args(["--iface", MIRROR, "--direction", "ingress", "--listen", &address]);
        // Settings of this shell must not change what is shown.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("ROCE_") {
                command.env_remove(name);
            }
        }
        Daemon::start(&self.tap, command, COLLECTOR, "/readyz").context("starting the collector")
    }

    /// Plays `frames` at `rate` frames a second, once, while `go_on` says so.
    pub(super) fn play(
        &self,
        frames: &[Frame],
        rate: u32,
        go_on: impl Fn() -> bool + Sync,
    ) -> Result<Sent> {
        let sent = self.hosts.run(|| -> Result<Sent> {
            let mut sender = Sender::open(FABRIC)?;
            let mut total = Sent::default();
            for slice in frames.chunks(SLICE) {
                if interrupt::is_interrupted() || !go_on() {
                    break;
                }
                let sent = sender.send(slice, Pace::FramesPerSecond(rate))?;
                total.frames += sent.frames;
                total.bytes += sent.bytes;
                total.dropped += sent.dropped;
                total.elapsed += sent.elapsed;
            }
            Ok(total)
        })?;
        sent.context("playing the traffic")
    }
}
