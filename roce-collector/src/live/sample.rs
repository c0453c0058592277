//! What a source says at one time.

use crate::capture::Timestamp;
use crate::flow::FlowReport;
use crate::http::HookReport;
use crate::sweep::{Counts, PsnCounts};

/// The state of all flows that were asked for.
#[derive(Clone, Debug)]
pub struct Sample {
    /// When the tables were looked at.
    pub time: Timestamp,
    /// What is attached, with everything it saw, also of flows that were not asked for.
    pub taps: Vec<HookReport>,
    /// The flows, with device and direction.
    pub flows: Vec<FlowReport>,
    /// How many match, also those that are not in `flows`.
    pub matching: usize,
    /// What cannot be seen, in words.
    pub blind: Vec<String>,
    /// What else happened, in words.
    pub notes: Vec<String>,
}

impl Sample {
    /// Whether every flow that matches is there.
    pub fn is_complete(&self) -> bool {
        self.flows.len() >= self.matching
    }
}

/// The counters of a flow that are shown; NAKs with RNR NAKs.
pub(super) fn flow_counts(flow: &FlowReport) -> Counts {
    Counts {
        packets: flow.packets,
        bytes: flow.wire_bytes,
        ce: flow.ecn.ce,
        cnps: flow.cnps,
        naks: flow.naks.map_or(0, |naks| naks.total()) + flow.rnr_naks.unwrap_or(0),
        // A packet may be wrong in both ways.
        mismarked: flow.mismarked.dscp.max(flow.mismarked.not_ect),
        psns: flow.sequence().map(PsnCounts::from),
    }
}

/// What was counted between two looks. A counter that went back began anew: then all of it was.
pub(super) fn growth(before: &Counts, now: &Counts) -> Counts {
    if now.packets < before.packets {
        return *now;
    }
    now.since(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_began_anew_grew_by_all_it_has() {
        let counts = |packets, bytes| Counts { packets, bytes, ..Counts::default() };
        assert_eq!(growth(&counts(10, 1000), &counts(15, 1500)), counts(5, 500));
        assert_eq!(growth(&counts(10, 1000), &counts(3, 300)), counts(3, 300));
    }
}
