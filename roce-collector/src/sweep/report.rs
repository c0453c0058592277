//! Flows for people and programs that ask.

use std::cmp::Reverse;

use super::Sweeper;
use crate::flow::{Flow, FlowReport};
use crate::read::FlowFilter;

/// The answer to a question for flows.
#[derive(Clone, Debug)]
pub struct FlowList {
    /// The flows, those in trouble first, with the tap that saw each.
    pub flows: Vec<(u8, FlowReport)>,
    /// How many there are in all, also beyond the limit.
    pub matching: usize,
}

impl Sweeper {
    /// A flow with what happened to it lately.
    fn report(&self, flow: &Flow<'_>) -> FlowReport {
        let timeline = self.stories.of_flow(&flow.id);
        FlowReport { timeline: (!timeline.is_empty()).then_some(timeline), ..FlowReport::of(flow) }
    }

    /// The flows that `filter` picks, at most `limit`, those in trouble first.
    pub fn flows(&self, filter: &FlowFilter, limit: usize) -> FlowList {
        let asked = |id| filter.matches(&id);
        let records =
            self.records().filter(|record| crate::flow::FlowId::of(&record.key).is_some_and(asked));
        let mut flows = Flow::join(records);
        let matching = flows.len();
        // Reports are costly, so only those that are wanted are made.
        flows.sort_by_cached_key(|flow| {
            let mismarked = flow.sum(|totals| totals.mismarked);
            let naks: u64 = flow.naks().iter().sum();
            let [.., ce] = flow.ecn();
            Reverse((naks, mismarked, ce, flow.cnps(), flow.packets()))
        });
        flows.truncate(limit);
        let flows = flows.iter().map(|flow| (flow.id.tap, self.report(flow))).collect();
        FlowList { flows, matching }
    }
}
