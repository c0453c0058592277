//! What is shown of one sample.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use super::Rates;
use super::grade::Grade;
use crate::capture::Timestamp;
use crate::flow::{FlowReport, MismarkedReport};
use crate::http::HookReport;
use crate::read::FlowFilter;
use crate::sweep::Counts;

/// What the user asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Question {
    /// Queue pair.
    pub qp: Option<u32>,
    /// Sender or receiver.
    pub peer: Option<IpAddr>,
}

/// One sample with what the samples before add to it.
#[derive(Clone, Debug)]
pub struct View {
    /// When the tables were looked at.
    pub time: Timestamp,
    /// Time since the sample before; `None` for the first one.
    pub interval: Option<Duration>,
    /// Time since the first sample.
    pub watched: Duration,
    /// What is attached.
    pub taps: Vec<TapView>,
    /// Flows, those in trouble first.
    pub flows: Vec<FlowView>,
    /// How many match, also those that are not in `flows`.
    pub matching: usize,
    /// What cannot be seen, in words.
    pub blind: Vec<String>,
    /// What else happened, in words.
    pub notes: Vec<String>,
}

/// Everything that passed a tap.
#[derive(Clone, Debug)]
pub struct TapView {
    /// What it is, and what it saw.
    pub hook: HookReport,
    /// Packets since the first sample; `None` when they are not known.
    pub watched_packets: Option<u64>,
    /// Figures of the interval; `None` when they are not known.
    pub rates: Option<Rates>,
}

/// A flow.
#[derive(Clone, Debug)]
pub struct FlowView {
    /// All that is known of it.
    pub report: FlowReport,
    /// What was counted since the sample before, if that is known. Its PSNs are those that were decided then.
    pub growth: Option<Counts>,
    /// Marks that are wrong: of this interval if it had packets, else of all time.
    pub mismarked: MismarkedReport,
    /// Packets by DSCP: of this interval if it had packets, else of all time.
    pub dscp: BTreeMap<u8, u64>,
    /// Figures of the interval, if they are known.
    pub rates: Option<Rates>,
    /// Trouble of the last seconds.
    pub grade: Grade,
}

impl Question {
    /// The flows that answer it.
    pub const fn filter(self) -> FlowFilter {
        FlowFilter { qp: self.qp, peer: self.peer }
    }
}
