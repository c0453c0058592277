//! Two namespaces with a veth pair, and the datapath attached in one of them.

use std::net::IpAddr;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use roce_collector::attach::{
    AttachError, AttachTable, DirectionChoice, Event, HookChoice, KernelFacts, LinkSource, Links,
};
use roce_collector::bpf::{AttachRequest, Attachments, Datapath, DatapathOptions};
use roce_common::marking::MarkingPolicy;
use roce_testkit::netns::{Namespace, VethConfig, VethPair};
use roce_testkit::packet::{Opcode, Packet};
use roce_testkit::replay::replay;
use roce_testkit::send::Pace;
use tokio::runtime::{Builder, Runtime};

const PATIENCE: Duration = Duration::from_secs(5);

/// Frames go from `left` to `right`, where the datapath is.
pub(crate) struct Lab {
    pub(crate) left: Namespace,
    pub(crate) right: Namespace,
    pub(crate) veth: VethPair,
}

/// A datapath attached in the namespace of the thread that made it.
pub(crate) struct Tap {
    pub(crate) attachments: Attachments,
    datapath: Datapath,
    source: LinkSource,
    runtime: Runtime,
    names: Vec<String>,
}

/// What to attach to, with names separated by commas: a request without the kernel facts.
#[derive(Clone, Copy)]
pub(crate) struct Wish<'a> {
    pub(crate) interface: &'a str,
    pub(crate) hook: HookChoice,
    pub(crate) direction: DirectionChoice,
}

impl Lab {
    pub(crate) fn new(mtu: u32) -> Self {
        let left = Namespace::create("left").unwrap();
        let right = Namespace::create("right").unwrap();
        let mut config = VethConfig { mtu, queues: 2, ..VethConfig::default() };
        config.left.addresses = vec![(address(1), 24)];
        config.right.addresses = vec![(address(2), 24)];
        let veth = VethPair::create(&left, &right, &config).unwrap();
        Self { left, right, veth }
    }

    /// Sends `count` frames with `payload` bytes to the right end.
    pub(crate) fn send(&self, count: u32, payload: usize) {
        let frames = (0..count).map(|psn| write(psn, payload).build());
        let sent = replay(&self.left, "left0", frames, Pace::Unlimited).unwrap();
        assert_eq!((sent.frames, sent.dropped), (u64::from(count), 0));
    }

    /// Runs `ip` in the right namespace.
    pub(crate) fn ip(&self, arguments: &str) -> String {
        let output = self.right.command("ip").args(arguments.split_whitespace()).output().unwrap();
        assert!(output.status.success(), "ip {arguments}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }
}

impl<'a> Wish<'a> {
    pub(crate) fn ingress(hook: HookChoice) -> Self {
        Self { interface: "right0", hook, direction: DirectionChoice::Ingress }
    }

    pub(crate) fn both(hook: HookChoice) -> Self {
        Self { interface: "right0", hook, direction: DirectionChoice::Both }
    }

    pub(crate) fn on(self, interface: &'a str) -> Self {
        Self { interface, ..self }
    }
}

impl Tap {
    pub(crate) fn attach(wish: Wish<'_>) -> Result<Self, AttachError> {
        Self::attach_with(wish, KernelFacts::default(), Path::new("/sys"))
    }

    pub(crate) fn attach_with(
        wish: Wish<'_>,
        kernel: KernelFacts,
        sysfs: &Path,
    ) -> Result<Self, AttachError> {
        let names: Vec<String> = wish.interface.split(',').map(str::to_owned).collect();
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let source = runtime.block_on(async { LinkSource::open(sysfs) })?;
        let links = runtime.block_on(source.read(&names))?;
        let mut datapath =
            Datapath::load(&DatapathOptions { interfaces: names.len() as u32, ..options() })?;
        let Wish { hook, direction, .. } = wish;
        let request = AttachRequest { interfaces: names.clone(), hook, direction, kernel };
        let attachments = Attachments::attach(&mut datapath, &links, request)?;
        Ok(Self { attachments, datapath, source, runtime, names })
    }

    pub(crate) fn links(&self) -> Links {
        self.runtime.block_on(self.source.read(&self.names)).unwrap()
    }

    pub(crate) fn reconcile(&mut self) -> Vec<Event> {
        let links = self.links();
        self.attachments.reconcile(&mut self.datapath, &links)
    }

    pub(crate) fn table(&self) -> &AttachTable {
        self.attachments.table()
    }

    /// What is attached, in short: `ingress native, egress tcx`.
    pub(crate) fn modes(&self) -> String {
        let hooks = self.table().attached();
        let hooks: Vec<_> = hooks.map(|hook| format!("{} {}", hook.direction, hook.mode)).collect();
        hooks.join(", ")
    }

    /// Waits until tap 0 (ingress) or 1 (egress) has seen `expected` packets, and no more.
    pub(crate) fn expect_packets(&self, tap: u8, expected: u64) {
        let start = Instant::now();
        while self.packets(tap) < expected && start.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(self.packets(tap), expected, "tap {tap}:\n{}", self.table());
    }

    pub(crate) fn packets(&self, tap: u8) -> u64 {
        self.datapath.taps.read(tap).packets()
    }

    pub(crate) fn wire_bytes(&self, tap: u8) -> u64 {
        self.datapath.taps.read(tap).wire_bytes
    }
}

pub(crate) fn options() -> DatapathOptions {
    DatapathOptions {
        max_flows: 1024,
        interfaces: 1,
        marking: MarkingPolicy::DEFAULT,
        recorders: 0,
    }
}

pub(crate) fn address(last: u8) -> IpAddr {
    IpAddr::from([192, 0, 2, last])
}

/// A packet from left to right.
pub(crate) fn write(psn: u32, payload: usize) -> Packet {
    Packet::new(Opcode::RC_RDMA_WRITE_MIDDLE)
        .macs([0x02, 0, 0, 0, 0xff, 1], [0x02, 0, 0, 0, 0xff, 2])
        .ip(address(1), address(2))
        .dest_qp(0x45)
        .psn(psn)
        .payload_len(payload)
}

/// Waits until `condition` holds.
pub(crate) fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < PATIENCE, "waited {PATIENCE:?} until {what}");
        thread::sleep(Duration::from_millis(5));
    }
}
