//! What is wrong or odd about a capture, in words.

mod frames;
mod marking;

use serde::Serialize;

use super::Reading;
use crate::flow::{Flow, FlowId};

/// One thing to look at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Stable name.
    pub id: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What it is about: flows, hosts, or the capture.
    pub subject: String,
    /// What was seen, in figures.
    pub message: String,
    /// What to do.
    pub fix: String,
}

/// How bad a finding is; the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Traffic is broken.
    Fail,
    /// It works now, or the figures are to be read with care.
    Warn,
    /// Good to know.
    Info,
}

impl Severity {
    /// As in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fail => "fail",
            Self::Warn => "warn",
            Self::Info => "info",
        }
    }
}

/// All findings about the frames of a reading and about `flows`, the worst first.
pub(super) fn find(reading: &Reading, flows: &[Flow<'_>]) -> Vec<Finding> {
    let mut findings = marking::find(reading.marking, flows);
    findings.extend(marking::find_pcp(reading));
    findings.extend(frames::find(reading, flows));
    findings.sort_by_key(|finding| finding.severity);
    findings
}

/// Subject of findings about the file as a whole.
const CAPTURE: &str = "capture";
/// Subjects named one by one.
const MAX_NAMED: usize = 4;

/// Subjects of one finding with their packets.
#[derive(Debug)]
struct Affected<T> {
    packets: u64,
    subjects: Vec<(u64, T)>,
}

impl<T> Default for Affected<T> {
    fn default() -> Self {
        Self { packets: 0, subjects: Vec::new() }
    }
}

impl<T> Affected<T> {
    fn add(&mut self, subject: T, packets: u64) {
        if packets != 0 {
            self.packets += packets;
            self.subjects.push((packets, subject));
        }
    }

    fn is_empty(&self) -> bool {
        self.subjects.is_empty()
    }

    /// `105 packets of 2 flows`.
    fn counted(&self) -> String {
        let flows = counted(self.subjects.len() as u64, "flow");
        format!("{} of {flows}", counted(self.packets, "packet"))
    }

    /// The subjects with most packets by name, the others by number.
    fn named(&mut self, name: impl Fn(&T) -> String) -> String {
        self.subjects.sort_by_key(|(packets, _)| std::cmp::Reverse(*packets));
        let named: Vec<_> = self.subjects.iter().take(MAX_NAMED).map(|(_, it)| name(it)).collect();
        match self.subjects.len() - named.len() {
            0 => named.join(", "),
            more => format!("{} and {more} more", named.join(", ")),
        }
    }
}

fn name_flow(id: &FlowId) -> String {
    format!("{} -> {} QP {:#x}", id.src, id.dst, id.dst_qp)
}

/// `1 packet`, `2 packets`.
pub(super) fn counted(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}
