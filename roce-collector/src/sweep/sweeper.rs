//! The state between two looks at the tables.

use std::time::Duration;

use roce_common::flow::{NarrowKey, WideKey};
use roce_common::marking::MarkingPolicy;
use roce_common::tap::TapCounters;

use super::history::Histories;
use super::ladders::LadderStep;
use super::ledger::Ledger;
use super::pairing::link_answers;
use super::records::{Records, SeenRecord, Sweep};
use super::spill::Spill;
use super::stories::Stories;
use super::troubles::Troubles;
use super::{DeviceFigures, Moment, Tables, View};
use crate::bpf::DatapathError;
use crate::flow::Record;
use crate::incident::WireTrouble;

/// What a sweeper goes by.
#[derive(Clone, Copy, Debug)]
pub struct SweepOptions {
    /// Interfaces; each has two taps.
    pub devices: u8,
    /// Expected marking, the same that the kernel programs have.
    pub marking: MarkingPolicy,
    /// Time without a packet after which a record is taken out.
    pub flow_idle: Duration,
    /// Pairs of hosts that are told apart.
    pub max_peers: usize,
    /// Queue pairs with series.
    pub qp_series: usize,
}

/// Events that one sweep takes: the ring buffer has room for fewer.
const MAX_EVENTS: usize = 4096;

/// Keeps totals of everything the tables ever held.
#[derive(Debug)]
pub struct Sweeper {
    options: SweepOptions,
    narrow: Records<NarrowKey>,
    wide: Records<WideKey>,
    spill: Spill,
    ledger: Ledger,
    pub(super) histories: Histories,
    pub(super) stories: Stories,
    troubles: Troubles,
    taps: Vec<TapCounters>,
    /// Taps that are known to have lost packets since the last sweep, as bits.
    lossy_taps: u32,
    sequence_states: usize,
}

impl Sweeper {
    /// A sweeper for these tables, which has seen nothing yet.
    pub fn new(options: SweepOptions, tables: &dyn Tables) -> Self {
        Self {
            options,
            narrow: Records::new(tables.narrow().len()),
            wide: Records::new(tables.wide().len()),
            spill: Spill::default(),
            ledger: Ledger::new(options.max_peers, options.qp_series),
            histories: Histories::default(),
            stories: Stories::default(),
            troubles: Troubles::default(),
            taps: vec![TapCounters::default(); usize::from(options.devices) * 2],
            lossy_taps: 0,
            sequence_states: tables.sequence_states(),
        }
    }

    /// The interface of this device lost frames before its hooks saw them: what has gone missing since the
    /// last sweep, the tap may not have seen.
    pub fn note_interface_loss(&mut self, device: u8) {
        self.lossy_taps |= 1 << (device * 2);
    }

    /// Takes up the events that have come, at most a ring buffer full, and says how many. Call it often: where
    /// there are none it costs next to nothing.
    pub fn take_events(&mut self, tables: &mut dyn Tables, now: Moment) -> usize {
        let events = std::iter::from_fn(|| tables.next_event()).take(MAX_EVENTS);
        let mut count = 0;
        for event in events {
            self.stories.take(&event, (now.wall, now.boot_ns));
            self.troubles.note_event(&event, now.wall);
            count += 1;
        }
        count
    }

    /// Senders that have climbed a retry ladder since the last call, in order.
    pub fn take_ladder_steps(&mut self) -> Vec<LadderStep> {
        let mut steps = self.stories.ladder_steps.take();
        if steps.is_empty() {
            return Vec::new();
        }
        for record in self.records() {
            let Some(src_qp) = record.totals.peer_qp else { continue };
            for (_, step) in steps.iter_mut().filter(|(key, _)| *key == record.key) {
                step.src_qp = Some(src_qp);
            }
        }
        steps.into_iter().map(|(_, step)| step).collect()
    }

    /// Takes up everything that changed. Call it about once a second, for some counters of the tables
    /// wrap after a few minutes at the highest rates.
    ///
    /// # Errors
    /// When the fallback map cannot be read. All else has been taken up then, and the next sweep tries
    /// it again.
    pub fn sweep(&mut self, tables: &mut dyn Tables, now: Moment) -> Result<(), DatapathError> {
        self.stories.ladder_steps.renew();
        self.take_events(tables, now);
        self.stories.age(now, self.options.flow_idle);
        // Before the records, so that they hold all that the taps count.
        let mut lossy_taps = std::mem::take(&mut self.lossy_taps);
        for (tap, counters) in (0..).zip(&mut self.taps) {
            let slot_busy = counters.slot_busy;
            *counters = tables.tap(tap);
            // Such a packet is counted, but the PSN engine did not get it.
            lossy_taps |= u32::from(counters.slot_busy != slot_busy) << tap;
        }
        self.ledger.peers.age(now.seconds());
        self.ledger.qps.begin(now.seconds());
        let mut sweep = Sweep {
            now,
            idle_seconds: self.options.flow_idle.as_secs() as u32,
            lossy_taps,
            marking: &self.options.marking,
            ledger: &mut self.ledger,
            histories: &mut self.histories,
            troubles: &mut self.troubles,
        };
        self.narrow.sweep(tables.narrow(), &mut sweep);
        self.wide.sweep(tables.wide(), &mut sweep);
        link_answers(&mut self.narrow, tables.narrow());
        link_answers(&mut self.wide, tables.wide());
        let spilled = self.taps.iter().map(|tap| tap.table_full + tap.slot_busy).sum();
        let result = self.spill.sweep(tables, spilled, &mut sweep);
        self.ledger.qps.choose();
        self.stories.look_for_trouble(&mut self.troubles, now.wall);
        self.narrow.look_for_trouble(&mut self.troubles, now);
        self.wide.look_for_trouble(&mut self.troubles, now);
        result
    }

    /// Queue pairs that die or stand still, as far as packets show it, since the last time; `devices` are the
    /// interfaces in the order of their taps.
    pub fn take_troubles(&mut self, devices: &[String]) -> Vec<WireTrouble> {
        self.troubles.take(devices)
    }

    /// What the last sweep found.
    pub fn view(&self) -> View {
        let mut devices: Vec<_> = (0..usize::from(self.options.devices))
            .map(|device| DeviceFigures { flows: 0, evicted: self.ledger.evicted(device) })
            .collect();
        for tap in self.ledger.qps.taps() {
            if let Some(device) = devices.get_mut(usize::from(tap / 2)) {
                device.flows += 1;
            }
        }
        View {
            taps: self.taps.clone(),
            sequences: self.ledger.taps[..self.taps.len()].to_vec(),
            sequence_states: self.sequence_states as u64,
            used_sequence_states: self.narrow.with_sequence() + self.wide.with_sequence(),
            devices,
            peers: self.ledger.peers.pairs().to_vec(),
            peer_rtts: self.ledger.peers.rtts(),
            qps: self.ledger.qps.series().collect(),
            ladders: self.ledger.qps.ladders(),
            busy_records: self.ledger.busy,
            unplaced_packets: self.ledger.unplaced,
            forgotten_events: self.stories.unplaced,
            refused_histories: self.histories.refused,
            dropped_troubles: self.troubles.dropped,
            dropped_ladder_steps: self.stories.ladder_steps.dropped,
        }
    }

    /// Every record of the tables, with all that is known of it.
    pub(super) fn seen_records(&self) -> impl Iterator<Item = SeenRecord<'_>> {
        self.narrow.seen().chain(self.wide.seen())
    }

    /// Every record; those of the fallback map last, so that the PSNs of a flow come from its slot.
    pub(super) fn records(&self) -> impl Iterator<Item = Record<'_>> {
        self.narrow.iter().chain(self.wide.iter()).chain(self.spill.iter())
    }
}
