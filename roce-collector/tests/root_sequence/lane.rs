//! A veth pair of its own with the datapath at one end.

use std::collections::BTreeMap;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use roce_collector::attach::{DirectionChoice, HookChoice, KernelFacts, LinkSource};
use roce_collector::bpf::{
    AttachRequest, Attachments, Datapath, DatapathOptions, FlowTable, RecordState,
};
use roce_collector::capture::{CaptureReader, Frame, LinkType, TapLoss, Timestamp};
use roce_collector::flow::{RecordSnapshot, RecordTotals, SequenceReport};
use roce_collector::read::Engine;
use roce_common::event::{EventKind, FlowEvent};
use roce_common::flow::{FlowKey, RecordTag, WideKey};
use roce_common::marking::MarkingPolicy;
use roce_common::psn::Psn;
use roce_testkit::netns::{Namespace, VethConfig, VethPair};
use roce_testkit::replay::replay_timed;
use roce_testkit::scenario::Scenario;
use tokio::runtime::Builder;

const POLICY: MarkingPolicy = MarkingPolicy::DEFAULT;
const PATIENCE: Duration = Duration::from_secs(5);
/// Longer pauses are cut to this, for both sides. Above every retransmission timer in the captures.
const LONGEST_PAUSE: Duration = Duration::from_millis(300);
const INTERFACE: &str = "right0";
/// From here on, events of a record may have been held back.
const MANY_EVENTS: u64 = 64;

pub(crate) struct Lane {
    left: Namespace,
    datapath: Datapath,
    // Dropped in this order: detached before the interfaces go.
    _attachments: Attachments,
    _veth: VethPair,
    _right: Namespace,
}

pub(crate) struct Compared {
    pub(crate) spaces: usize,
    pub(crate) differences: Vec<String>,
}

/// What is known of one PSN space.
#[derive(Debug, PartialEq)]
struct Space {
    first: Option<u32>,
    highest: Option<u32>,
    /// With timeouts among the go-back-N episodes.
    figures: Option<SequenceReport>,
    timeouts: u64,
}

/// By key of the record.
type Spaces = BTreeMap<String, Space>;

impl Lane {
    pub(crate) fn new() -> Self {
        let left = Namespace::create("left").expect("this test needs root: run it with sudo");
        let right = Namespace::create("right").expect("as above");
        let config = VethConfig { mtu: 9000, ..VethConfig::default() };
        let veth = VethPair::create(&left, &right, &config).expect("a veth pair");
        let (datapath, attachments) = right.run(attach).expect("the namespace is there");
        Self { left, datapath, _attachments: attachments, _veth: veth, _right: right }
    }

    /// Plays a capture and compares.
    pub(crate) fn compare(&mut self, path: &Path) -> Compared {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let frames = frames(path);
        let packets = self.datapath.taps.read(0).packets();
        let expected = of_file(&frames);
        let timed = frames.iter().map(|(time, frame)| (*time, frame));
        let sent = replay_timed(&self.left, "left0", timed, 1.0).expect("it plays");
        assert_eq!(sent.dropped, 0, "{name}");
        self.await_packets(packets + expected.packets, &name);
        let mut kernel = Spaces::new();
        take(&self.datapath.narrow, &mut kernel);
        take(&self.datapath.wide, &mut kernel);
        let keys: Vec<_> = kernel.keys().collect();
        assert_eq!(keys, expected.spaces.keys().collect::<Vec<_>>(), "{name}");
        self.check_events(&name, &kernel);
        let differences =
            expected.spaces.iter().filter(|(key, space)| !space.is_confirmed_by(&kernel[*key]));
        let differences = differences
            .map(|(key, space)| {
                format!("{name} {key}\n  file   {space:?}\n  kernel {:?}", kernel[key])
            })
            .collect();
        Compared { spaces: kernel.len(), differences }
    }
}

impl Lane {
    /// Plays a scenario in its own time; the events that the kernel tells of it.
    pub(crate) fn events_of(&mut self, scenario: &Scenario) -> Vec<FlowEvent> {
        let packets = self.datapath.taps.read(0).packets();
        let frames = &scenario.frames;
        let timed = frames.iter().map(|frame| (Duration::from_nanos(frame.nanos), frame));
        let sent = replay_timed(&self.left, "left0", timed, 1.0).expect("it plays");
        assert_eq!(sent.dropped, 0, "{}", scenario.name);
        self.await_packets(packets + frames.len() as u64, scenario.name);
        std::iter::from_fn(|| self.datapath.events.take()).collect()
    }

    fn await_packets(&self, wanted: u64, name: &str) {
        let start = Instant::now();
        while self.datapath.taps.read(0).packets() < wanted && start.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(self.datapath.taps.read(0).packets(), wanted, "{name}");
    }

    /// Events tell of every gap and rewind that the counters have, unless there are very many.
    fn check_events(&mut self, name: &str, kernel: &Spaces) {
        let mut told: BTreeMap<String, (u64, u64, u64)> = BTreeMap::new();
        while let Some(event) = self.datapath.events.take() {
            let (gaps, rewinds, all) = told.entry(format!("{:x?}", event.key)).or_default();
            *all += 1;
            match EventKind::of_code(event.kind).expect("a kind that is known") {
                EventKind::Gap => *gaps += u64::from(event.count),
                EventKind::Rewind => *rewinds += 1,
                EventKind::Nak => {}
            }
        }
        for (key, space) in kernel {
            let Some(figures) = space.figures else { continue };
            let (gaps, rewinds, all) = told.get(key).copied().unwrap_or_default();
            let missing = figures.lost + figures.unseen + figures.reordered + figures.open;
            assert!(gaps <= missing, "{name} {key}: {gaps} PSNs in events, {missing} missing");
            assert!(
                rewinds <= figures.go_back_n_episodes,
                "{name} {key}: {rewinds} in events, {figures:?}"
            );
            if all < MANY_EVENTS && missing != 0 && figures.retransmitted != 0 {
                assert!(gaps + rewinds != 0, "{name} {key}: no event of {figures:?}");
            }
        }
        assert_eq!(self.datapath.taps.read(0).events_lost, 0, "{name}");
    }
}

fn attach() -> (Datapath, Attachments) {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    let source = runtime.block_on(async { LinkSource::open(Path::new("/sys")) }).expect("netlink");
    let names = vec![INTERFACE.to_owned()];
    let links = runtime.block_on(source.read(&names)).expect("the interface");
    let options = DatapathOptions { max_flows: 4096, interfaces: 1, marking: POLICY, recorders: 0 };
    let mut datapath = Datapath::load(&options).expect("root and BPF");
    let request = AttachRequest {
        interfaces: names,
        hook: HookChoice::Auto,
        direction: DirectionChoice::Ingress,
        kernel: KernelFacts::default(),
    };
    let attachments = Attachments::attach(&mut datapath, &links, request).expect("it attaches");
    (datapath, attachments)
}

/// Frames with the time since the first one, long pauses cut.
fn frames(path: &Path) -> Vec<(Duration, Vec<u8>)> {
    let mut reader = CaptureReader::open(path).expect("a good capture");
    let mut frames = Vec::new();
    let (mut clock, mut before) = (Duration::ZERO, None);
    while let Some(frame) = reader.next_frame().expect("a good capture") {
        if frame.link_type != LinkType::Ethernet || frame.data.len() < 34 {
            continue;
        }
        let time = frame.time.expect("pcap has times");
        clock += before.map_or(Duration::ZERO, |before| time.since(before)).min(LONGEST_PAUSE);
        before = Some(time);
        frames.push((clock, frame.data.to_vec()));
    }
    frames
}

struct Expected {
    spaces: Spaces,
    packets: u64,
}

fn of_file(frames: &[(Duration, Vec<u8>)]) -> Expected {
    let mut engine = Engine::new(1 << 16, POLICY);
    for (time, data) in frames {
        engine.frame(&Frame {
            data,
            wire_len: data.len() as u32,
            time: Some(Timestamp::from_nanos(1_000_000_000 + time.as_nanos() as u64)),
            link_type: LinkType::Ethernet,
            interface: 0,
            loss: TapLoss::None,
            statistics: 0,
        });
    }
    let reading = engine.finish();
    let packets = reading.tap.packets();
    let spaces = reading.records.iter().map(|(key, totals, _)| space(key, totals)).collect();
    Expected { spaces, packets }
}

/// Reads every record of a table and takes it out.
fn take<K: FlowKey + Into<WideKey>>(table: &FlowTable<K>, spaces: &mut Spaces) {
    for index in 0..table.len() {
        let Some(slot) = table.slot(index).filter(|slot| slot.key.tag().is_some()) else {
            continue;
        };
        table.settle(index);
        let RecordState { slot, cold, sequence } = table.evict(index, &slot).expect("it is quiet");
        let mut now = RecordSnapshot::of(&slot, &cold, &POLICY);
        if slot.key.tag().is_some_and(RecordTag::has_psn_order) {
            now = now.with_sequence(sequence.map(|state| state.totals).unwrap_or_default());
        }
        let mut totals = RecordTotals::default();
        totals.advance(&RecordSnapshot::default(), &now);
        spaces.extend([space(&slot.key.into(), &totals)]);
    }
}

fn space(key: &WideKey, totals: &RecordTotals) -> (String, Space) {
    let fold = |report: SequenceReport| SequenceReport {
        go_back_n_episodes: report.go_back_n_episodes + report.timeouts,
        timeouts: 0,
        ..report
    };
    let space = Space {
        first: totals.first_psn.map(Psn::get),
        highest: totals.highest_psn.map(Psn::get),
        figures: totals.sequence.map(fold),
        timeouts: totals.sequence.map_or(0, |report| report.timeouts),
    };
    (format!("{key:x?}"), space)
}

impl Space {
    /// Only of silences that are about as long as the shortest timeout may the two think differently: a
    /// replay is not exact to the microsecond, and the kernel's coarse clock ticks in jiffies.
    fn is_confirmed_by(&self, kernel: &Self) -> bool {
        let rewinds = |space: &Self| space.figures.map_or(0, |figures| figures.go_back_n_episodes);
        let others = |space: &Self| {
            let figures = space.figures;
            figures.map(|figures| SequenceReport { go_back_n_episodes: 0, ..figures })
        };
        (self.first, self.highest, others(self)) == (kernel.first, kernel.highest, others(kernel))
            && rewinds(self).abs_diff(rewinds(kernel)) <= self.timeouts.div_ceil(10)
            && self.timeouts.abs_diff(kernel.timeouts) <= self.timeouts / 4 + 2
    }
}
