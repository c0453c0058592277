//! Two namespaces with a veth pair, and taps on its ends.

use std::collections::BTreeMap;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use roce_collector::attach::{DirectionChoice, HookChoice, KernelFacts, LinkSource};
use roce_collector::bpf::{AttachRequest, Attachments, Datapath, DatapathOptions};
use roce_collector::capture::Timestamp;
use roce_collector::flow::FlowReport;
use roce_collector::read::FlowFilter;
use roce_collector::sweep::{Moment, SweepOptions, Sweeper, View};
use roce_common::marking::MarkingPolicy;
use roce_common::tap::TapCounters;
use roce_testkit::netns::{Namespace, VethConfig, VethPair};
use roce_testkit::scenario::FlowKey;
use roce_testkit::send::{Pace, Sender, Sent};

/// Time that frames may be under way.
const PATIENCE: Duration = Duration::from_secs(10);

/// Frames go from `left0` in `left` to `right0` in `right`.
pub(crate) struct Lab {
    pub(crate) left: Namespace,
    pub(crate) right: Namespace,
    _veth: VethPair,
}

/// The programs on one direction of an interface, and a sweeper over their tables.
pub(crate) struct Tap {
    pub(crate) datapath: Datapath,
    sweeper: Sweeper,
    start: Instant,
    number: u8,
    /// What is attached: `native`, `tcx`.
    pub(crate) mode: &'static str,
    _attachments: Attachments,
}

/// Where a tap is.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) interface: &'static str,
    pub(crate) hook: HookChoice,
    pub(crate) direction: DirectionChoice,
}

impl Place {
    pub(crate) const XDP_INGRESS: Self =
        Self { interface: "right0", hook: HookChoice::Xdp, direction: DirectionChoice::Ingress };
    pub(crate) const TC_INGRESS: Self = Self { hook: HookChoice::Tc, ..Self::XDP_INGRESS };
    pub(crate) const TC_EGRESS: Self =
        Self { interface: "left0", hook: HookChoice::Tc, direction: DirectionChoice::Egress };
}

impl Lab {
    pub(crate) fn new(mtu: u32) -> Self {
        let left = Namespace::create("left").unwrap();
        let right = Namespace::create("right").unwrap();
        let config = VethConfig { mtu, queues: 2, ..VethConfig::default() };
        let veth = VethPair::create(&left, &right, &config).unwrap();
        Self { left, right, _veth: veth }
    }

    pub(crate) fn tap(&self, place: Place, max_flows: u32) -> Tap {
        let namespace = if place.interface == "left0" { &self.left } else { &self.right };
        namespace.run(|| Tap::attach(place, max_flows)).unwrap()
    }

    /// Sends from the left end, past its TC egress.
    pub(crate) fn send<F: AsRef<[u8]> + Sync>(&self, frames: &[F]) -> Sent {
        let sent = self.left.run(|| {
            Sender::open_through_tc("left0").unwrap().send(frames, Pace::FramesPerSecond(20_000))
        });
        let sent = sent.unwrap().unwrap();
        assert_eq!((sent.frames, sent.dropped), (frames.len() as u64, 0), "{sent:?}");
        sent
    }
}

impl Tap {
    fn attach(place: Place, max_flows: u32) -> Self {
        let Place { interface, hook, direction } = place;
        let interfaces = vec![interface.to_owned()];
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let links = runtime.block_on(async {
            LinkSource::open(Path::new("/sys")).unwrap().read(&interfaces).await.unwrap()
        });
        let marking = MarkingPolicy::DEFAULT;
        let options = DatapathOptions { max_flows, interfaces: 1, marking, recorders: 0 };
        let mut datapath =
            Datapath::load(&options).expect("this test needs root and BPF: run it with sudo");
        let request = AttachRequest { interfaces, hook, direction, kernel: KernelFacts::default() };
        let attachments = Attachments::attach(&mut datapath, &links, request).unwrap();
        let mode = attachments.table().attached().next().expect("one hook").mode.name();
        let options = SweepOptions {
            devices: 1,
            marking,
            flow_idle: Duration::from_mins(5),
            max_peers: 4096,
            qp_series: 200,
        };
        Self {
            sweeper: Sweeper::new(options, &datapath),
            datapath,
            start: Instant::now(),
            number: u8::from(direction == DirectionChoice::Egress),
            mode,
            _attachments: attachments,
        }
    }

    pub(crate) fn counters(&self) -> TapCounters {
        self.datapath.taps.read(self.number)
    }

    pub(crate) fn sweep(&mut self) {
        let now = Moment { wall: Timestamp::default(), boot_ns: 0, uptime: self.start.elapsed() };
        self.sweeper.sweep(&mut self.datapath, now).unwrap();
    }

    /// Waits until so many packets were counted, and then for more that should not come.
    pub(crate) fn expect_packets(&self, expected: u64) {
        let start = Instant::now();
        while self.counters().packets() < expected && start.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(10));
        }
        thread::sleep(Duration::from_millis(50));
        assert_eq!(self.counters().packets(), expected, "packets counted and sent");
    }

    /// What the metrics are made of, after one more sweep.
    pub(crate) fn view(&mut self) -> View {
        self.sweep();
        self.sweeper.view()
    }

    /// Every flow that was counted.
    pub(crate) fn flows(&mut self) -> BTreeMap<FlowKey, FlowReport> {
        self.sweep();
        let list = self.sweeper.flows(&FlowFilter::default(), usize::MAX);
        let count = list.flows.len();
        let key = |flow: &FlowReport| FlowKey { src: flow.src, dst: flow.dst, dst_qp: flow.dst_qp };
        let flows: BTreeMap<_, _> =
            list.flows.into_iter().map(|(_, flow)| (key(&flow), flow)).collect();
        assert_eq!(flows.len(), count, "two flows with one key");
        flows
    }
}
