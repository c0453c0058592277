//! Everything one scrape is rendered from.

use std::sync::Arc;
use std::time::Duration;

use roce_common::marking::MarkingPolicy;
use roce_common::tap::TapCounters;

use crate::bpf::QpWatchFigures;
use crate::incident::IncidentFigures;
use crate::inventory::Figures;
use crate::logs::LogCounters;
use crate::recorder::RecorderCounts;
use crate::sweep::{Durations, TapSequences, View};

/// The state of the collector after a sweep.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Figures of the sweep.
    pub view: Arc<View>,
    /// Names of the interfaces, by their place in the list.
    pub interfaces: Arc<[String]>,
    /// What is attached to each tap: two for each interface, ingress and egress.
    pub hooks: Vec<Option<HookLabel>>,
    /// Expected marking.
    pub marking: MarkingPolicy,
    /// Share of the packets of the NIC that the hooks see, by interface; `None` where it is not known.
    pub visible_ratios: Vec<Option<f64>>,
    /// Whether the hooks see as good as nothing of the traffic of an interface: then its packet counters say
    /// nothing, and are not exported.
    pub is_blind: Vec<bool>,
    /// How long the sweeps took.
    pub durations: Durations,
    /// Run time of the kernel programs, where it is measured.
    pub programs: Vec<ProgramRuns>,
    /// Queue pairs that the kernel lists; `None` where there is no RDMA.
    pub inventory: Option<Arc<Figures>>,
    /// Probes on queue pairs; `None` where they are turned off.
    pub qp_watch: Option<Arc<QpWatchFigures>>,
    /// What was read from log sources; `None` where there are none.
    pub logs: Option<Arc<LogCounters>>,
    /// What the flight recorder did; `None` without one.
    pub recorder: Option<RecorderCounts>,
    /// Failures of queue pairs; `None` where nothing tells of them.
    pub incidents: Option<Arc<IncidentFigures>>,
}

/// What a tap is attached by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HookLabel {
    /// `xdp` or `tc`.
    pub hook: &'static str,
    /// `native`, `generic`, `tcx` or `clsact`.
    pub mode: &'static str,
}

/// How often a kernel program ran and for how long.
#[derive(Clone, Debug)]
pub struct ProgramRuns {
    /// Its name.
    pub program: String,
    /// Runs.
    pub runs: u64,
    /// Time of all of them.
    pub time: Duration,
}

/// A tap that something is attached to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tap<'a> {
    number: u8,
    pub(super) device: &'a str,
    pub(super) direction: &'static str,
    pub(super) hook: HookLabel,
    pub(super) counters: &'a TapCounters,
    pub(super) sequences: Option<&'a TapSequences>,
}

/// Name of the direction of a tap.
pub const fn direction(tap: u8) -> &'static str {
    if tap.is_multiple_of(2) { "ingress" } else { "egress" }
}

impl Snapshot {
    /// The taps that something is attached to.
    pub(super) fn attached_taps(&self) -> impl Iterator<Item = Tap<'_>> + Clone {
        (0_u8..).zip(&self.hooks).zip(&self.view.taps).filter_map(|((tap, hook), counters)| {
            let device = self.device(tap / 2)?;
            let sequences = self.view.sequences.get(usize::from(tap));
            let (direction, hook) = (direction(tap), (*hook)?);
            Some(Tap { number: tap, device, direction, hook, counters, sequences })
        })
    }

    /// The taps that see what passes them.
    pub(super) fn taps(&self) -> impl Iterator<Item = Tap<'_>> + Clone {
        self.attached_taps().filter(|tap| self.sees_tap(tap.number))
    }

    /// The interfaces that something is attached to, with their place in the list.
    pub(super) fn attached_devices(&self) -> impl Iterator<Item = (usize, &str)> + Clone {
        let devices = (0_u8..).zip(self.interfaces.iter());
        devices
            .filter(|(device, _)| self.is_attached(*device))
            .map(|(device, name)| (usize::from(device), name.as_str()))
    }

    /// The interfaces of which something sees what passes.
    pub(super) fn devices(&self) -> impl Iterator<Item = (usize, &str)> + Clone {
        self.attached_devices().filter(|(device, _)| !self.is_blind_at(*device))
    }

    /// Name of an interface.
    pub(super) fn device(&self, device: u8) -> Option<&str> {
        self.interfaces.get(usize::from(device)).map(String::as_str)
    }

    fn is_tap_attached(&self, tap: u8) -> bool {
        self.hooks.get(usize::from(tap)).is_some_and(Option::is_some)
    }

    fn is_attached(&self, device: u8) -> bool {
        self.is_tap_attached(device * 2) || self.is_tap_attached(device * 2 + 1)
    }

    /// Whether a tap sees what passes it.
    pub fn sees_tap(&self, tap: u8) -> bool {
        self.is_tap_attached(tap) && !self.is_blind_at(usize::from(tap / 2))
    }

    /// Whether a tap of an interface sees what passes it.
    pub(super) fn sees(&self, device: u8) -> bool {
        self.is_attached(device) && !self.is_blind_at(usize::from(device))
    }

    fn is_blind_at(&self, device: usize) -> bool {
        self.is_blind.get(device).copied().unwrap_or(false)
    }

    /// Whether anything is attached at all.
    pub fn is_any_attached(&self) -> bool {
        self.hooks.iter().any(Option::is_some)
    }
}
