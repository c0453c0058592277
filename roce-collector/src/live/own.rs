//! Programs of one's own as the source.

use std::borrow::Cow;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use roce_common::marking::MarkingPolicy;

use super::{LiveError, Question, Sample};
use crate::attach::{Direction, DirectionChoice, HookChoice, KernelFacts, LinkSource, resolve};
use crate::bpf::{AttachRequest, Attachments, Datapath, DatapathOptions, event_clock_ns};
use crate::capture::Timestamp;
use crate::host::{HookPackets, HostReport, HostWatch};
use crate::http::HookReport;
use crate::sweep::{Moment, SweepOptions, Sweeper};

/// IPv4 flows that are told apart; more than anybody reads.
const MAX_FLOWS: u32 = 32_768;
/// An idle flow leaves the table after this.
const FLOW_IDLE: Duration = Duration::from_mins(5);
/// Looks at the counters of the NIC cost the driver work.
const HOST_LOOK: Duration = Duration::from_secs(5);
/// What happened is shown for this long.
const NOTE_AGE: Duration = Duration::from_secs(30);
/// Notes that are kept.
const MAX_NOTES: usize = 8;

/// What to attach to.
#[derive(Clone, Debug)]
pub struct OwnOptions {
    /// Interfaces.
    pub interfaces: Vec<String>,
    /// Hook.
    pub hook: HookChoice,
    /// Directions.
    pub direction: DirectionChoice,
    /// Expected marking.
    pub marking: MarkingPolicy,
}

/// Attached programs. Dropping it detaches them.
#[derive(Debug)]
pub(super) struct Own {
    // Dropped first: it detaches, for which the programs must be there.
    attachments: Attachments,
    datapath: Datapath,
    links: LinkSource,
    sweeper: Sweeper,
    watch: HostWatch,
    options: OwnOptions,
    question: Question,
    limit: usize,
    start: Instant,
    host: Option<(Instant, HostReport)>,
    notes: Vec<(Instant, String)>,
}

impl Own {
    /// Loads and attaches.
    pub(super) async fn open(
        options: OwnOptions,
        question: Question,
        limit: usize,
    ) -> Result<Self, LiveError> {
        let sysfs = Path::new("/sys");
        let links = LinkSource::open(sysfs)?;
        let facts = links.read(&options.interfaces).await?;
        // Bad names are said before a kernel that refuses the maps.
        resolve(&facts, &options.interfaces).map_err(crate::attach::AttachError::from)?;
        let devices = options.interfaces.len();
        let mut datapath = Datapath::load(&DatapathOptions {
            max_flows: MAX_FLOWS,
            interfaces: devices as u32,
            marking: options.marking,
            recorders: 0,
        })?;
        let sweeper = Sweeper::new(
            SweepOptions {
                devices: devices as u8,
                marking: options.marking,
                flow_idle: FLOW_IDLE,
                max_peers: 0,
                qp_series: 0,
            },
            &datapath,
        );
        let request = AttachRequest {
            interfaces: options.interfaces.clone(),
            hook: options.hook,
            direction: options.direction,
            kernel: KernelFacts::default(),
        };
        let attachments = Attachments::attach(&mut datapath, &facts, request)?;
        let watch = HostWatch::new(sysfs, &options.interfaces);
        let mut own = Self {
            attachments,
            datapath,
            links,
            sweeper,
            watch,
            options,
            question,
            limit,
            start: Instant::now(),
            host: None,
            notes: Vec::new(),
        };
        own.look_at_host();
        Ok(own)
    }

    /// Takes up what the programs counted, and attaches again where an interface came back. Call it once
    /// a second.
    pub(super) async fn step(&mut self) -> Result<(), LiveError> {
        let now = self.now();
        self.sweeper.sweep(&mut self.datapath, now)?;
        let facts = self.links.read(&self.options.interfaces).await?;
        for event in self.attachments.reconcile(&mut self.datapath, &facts) {
            self.notes.push((Instant::now(), event.to_string()));
        }
        self.notes.retain(|(time, _)| time.elapsed() < NOTE_AGE);
        let surplus = self.notes.len().saturating_sub(MAX_NOTES);
        self.notes.drain(..surplus);
        self.look_at_host();
        Ok(())
    }

    /// The state of now.
    pub(super) async fn sample(&mut self) -> Result<Sample, LiveError> {
        self.step().await?;
        let list = self.sweeper.flows(&self.question.filter(), self.limit);
        let flows = list.flows.into_iter().map(|(tap, mut flow)| {
            flow.device = self.options.interfaces.get(usize::from(tap / 2)).cloned();
            flow.direction =
                Some(Cow::Borrowed(if tap.is_multiple_of(2) { "ingress" } else { "egress" }));
            flow
        });
        let view = self.sweeper.view();
        let is_blind = |tap: u8| {
            let host = self.host.as_ref().map(|(_, host)| &host.is_blind);
            host.and_then(|blind| blind.get(usize::from(tap / 2)).copied()).unwrap_or(false)
        };
        let taps = self.taps().map(|(tap, hook)| {
            let seen = view.seen(tap.into(), &self.options.marking);
            HookReport { seen: seen.filter(|_| !is_blind(tap)), ..hook }
        });
        Ok(Sample {
            time: self.now().wall,
            taps: taps.collect(),
            flows: flows.collect(),
            matching: list.matching,
            blind: self.host.as_ref().map(|(_, host)| host.blind.clone()).unwrap_or_default(),
            notes: self.notes.iter().map(|(_, note)| note.clone()).collect(),
        })
    }

    /// What is attached, with its tap.
    fn taps(&self) -> impl Iterator<Item = (u8, HookReport)> {
        self.attachments.table().attached().filter_map(|hook| {
            let device = self.options.interfaces.iter().position(|name| name == hook.device)?;
            let tap = device as u8 * 2 + u8::from(hook.direction == Direction::Egress);
            let report = HookReport {
                device: hook.device.to_owned(),
                direction: Cow::Borrowed(hook.direction.name()),
                hook: Cow::Borrowed(hook.hook.name()),
                mode: Cow::Borrowed(hook.mode.name()),
                seen: None,
            };
            Some((tap, report))
        })
    }

    fn look_at_host(&mut self) {
        if self.host.as_ref().is_some_and(|(time, _)| time.elapsed() < HOST_LOOK) {
            return;
        }
        let counters = self.watch.count();
        let mut hooks: Vec<HookPackets> = vec![[None; 2]; self.options.interfaces.len()];
        for (tap, _) in self.taps() {
            let packets = self.datapath.taps.read(tap).packets();
            hooks[usize::from(tap / 2)][usize::from(tap % 2)] = Some(packets);
        }
        self.host = Some((Instant::now(), self.watch.compare(counters, &hooks)));
    }

    fn now(&self) -> Moment {
        let since_epoch = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        let wall = Timestamp::from_nanos(since_epoch.as_nanos() as u64);
        Moment { wall, boot_ns: event_clock_ns(), uptime: self.start.elapsed() }
    }
}
