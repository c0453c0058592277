//! Frames in the order of their times, and the truth of them.

use std::io;

use super::connection::Connection;
use super::truth::{PsnTruth, Truth};
use crate::capture::{Format, PcapWriter};
use crate::packet::Packet;

/// Time between two frames unless a scenario says otherwise.
const GAP: u64 = 1_000;
/// When captures of scenarios begin: 2025-01-01 00:00:00 UTC, in nanoseconds since the epoch.
const EPOCH: u64 = 1_735_689_600_000_000_000;

/// One frame on the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Nanoseconds since the scenario began.
    pub nanos: u64,
    /// The Ethernet frame without FCS.
    pub bytes: Vec<u8>,
}

impl AsRef<[u8]> for Frame {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// What the tap sees, and what it should say about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scenario {
    /// What it shows.
    pub name: &'static str,
    /// In the order of their times.
    pub frames: Vec<Frame>,
    /// What was sent.
    pub truth: Truth,
}

impl Scenario {
    /// Several scenarios at the same time, their frames merged by time.
    pub fn together(name: &'static str, scenarios: impl IntoIterator<Item = Self>) -> Self {
        let mut all = Self { name, frames: Vec::new(), truth: Truth::default() };
        for scenario in scenarios {
            all.frames.extend(scenario.frames);
            all.truth.merge(&scenario.truth);
        }
        all.frames.sort_by_key(|frame| frame.nanos); // stable: each scenario keeps its order
        all
    }

    /// The frames as a pcap file.
    ///
    /// # Errors
    /// Those of writing to memory: none in practice.
    pub fn to_pcap(&self, format: Format) -> io::Result<Vec<u8>> {
        let mut writer = PcapWriter::new(Vec::new(), format)?;
        for frame in &self.frames {
            writer.write(EPOCH + frame.nanos, &frame.bytes)?;
        }
        writer.finish()
    }
}

/// A scenario being written.
#[derive(Debug)]
pub(super) struct Script {
    scenario: Scenario,
    now: u64,
    /// IPv4 identification: every packet sent gets its own, so a copy made by a mirror can be told
    /// from a retransmission.
    ip_id: u16,
}

impl Script {
    pub(super) fn new(name: &'static str) -> Self {
        let scenario = Scenario { name, frames: Vec::new(), truth: Truth::default() };
        Self { scenario, now: 0, ip_id: 0 }
    }

    /// Sends `packet` past the tap.
    pub(super) fn send(&mut self, packet: Packet) {
        self.ip_id = self.ip_id.wrapping_add(1);
        let packet = packet.ip_id(self.ip_id);
        self.scenario.truth.record(&packet.facts());
        self.scenario.frames.push(Frame { nanos: self.now, bytes: packet.build() });
        self.now += GAP;
    }

    pub(super) fn send_all(&mut self, packets: impl IntoIterator<Item = Packet>) {
        for packet in packets {
            self.send(packet);
        }
    }

    /// Lets time pass.
    pub(super) const fn wait(&mut self, nanos: u64) {
        self.now += nanos;
    }

    /// Says what became of the PSNs of the requests of `connection`.
    pub(super) fn psns(&mut self, connection: &Connection, psn: PsnTruth) {
        let key = connection.request_flow();
        self.scenario.truth.flows.entry(key).or_default().psn = psn;
    }

    pub(super) fn finish(self) -> Scenario {
        self.scenario
    }
}
