//! Flows for people and programs that ask.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use super::Sweeper;
use crate::flow::{AnswersReport, Flow, FlowId, FlowReport};
use crate::read::FlowFilter;

/// The answer to a question for flows.
#[derive(Clone, Debug)]
pub struct FlowList {
    /// The flows, those in trouble first, with the tap that saw each.
    pub flows: Vec<(u8, FlowReport)>,
    /// How many there are in all, also beyond the limit.
    pub matching: usize,
}

/// Interface, sender, receiver, destination QP.
type Ends = (u8, IpAddr, IpAddr, u32);

impl Sweeper {
    /// The flows that `filter` picks, at most `limit`, those in trouble first.
    pub fn flows(&self, filter: &FlowFilter, limit: usize) -> FlowList {
        let flows = self.candidates(filter);
        let is_asked = |flow: &Flow<'_>| {
            let src_qp = flow.src_qp();
            filter.matches(&FlowId { src_qp, ..flow.id })
        };
        let mut asked: Vec<_> = (0..flows.len()).filter(|index| is_asked(&flows[*index])).collect();
        let matching = asked.len();
        // Reports are costly, so only those that are wanted are made.
        asked.sort_by_cached_key(|index| rank(&flows[*index]));
        asked.truncate(limit);
        FlowList { flows: self.reports(&flows, &asked), matching }
    }

    /// The flows that `filter` may pick, and those that may answer them. To join all of a large table takes
    /// too long when a few are asked for.
    fn candidates(&self, filter: &FlowFilter) -> Vec<Flow<'_>> {
        if filter.is_empty() {
            return Flow::join(self.records());
        }
        let mut asked: HashSet<Ends> = HashSet::new();
        for record in self.records() {
            let Some(id) = FlowId::of(&record.key) else { continue };
            let src_qp = id.src_qp.or(record.totals.peer_qp);
            if filter.matches(&FlowId { src_qp, ..id }) {
                let device = id.tap / 2;
                asked.insert((device, id.src, id.dst, id.dst_qp));
                asked.extend(src_qp.map(|src_qp| (device, id.dst, id.src, src_qp)));
            }
        }
        let is_asked = |id: FlowId| asked.contains(&(id.tap / 2, id.src, id.dst, id.dst_qp));
        Flow::join(self.records().filter(|record| FlowId::of(&record.key).is_some_and(is_asked)))
    }

    /// Reports of the flows at `wanted`, each with the answers to it.
    fn reports(&self, flows: &[Flow<'_>], wanted: &[usize]) -> Vec<(u8, FlowReport)> {
        // What answers them travels the other way, in whichever direction of the same interface.
        let peers: HashSet<Ends> = wanted
            .iter()
            .filter_map(|index| {
                let FlowId { tap, src, dst, .. } = flows[*index].id;
                Some((tap / 2, dst, src, flows[*index].src_qp()?))
            })
            .collect();
        let is_peer = |flow: &Flow<'_>| {
            let FlowId { tap, src, dst, dst_qp, .. } = flow.id;
            peers.contains(&(tap / 2, src, dst, dst_qp))
        };
        let is_wanted: HashSet<_> = wanted.iter().copied().collect();
        let others = (0..flows.len()).filter(|index| !is_wanted.contains(index));
        let others = others.filter(|index| is_peer(&flows[*index]));
        let mut by_device: HashMap<u8, (Vec<usize>, Vec<FlowReport>)> = HashMap::new();
        for index in wanted.iter().copied().chain(others) {
            let (indices, reports) = by_device.entry(flows[index].id.tap / 2).or_default();
            indices.push(index);
            reports.push(self.report(&flows[index]));
        }
        let mut made = HashMap::new();
        for (indices, mut reports) in by_device.into_values() {
            AnswersReport::assign(&mut reports);
            made.extend(indices.into_iter().zip(reports));
        }
        let report = |index: &usize| Some((flows[*index].id.tap, made.remove(index)?));
        wanted.iter().filter_map(report).collect()
    }

    /// A flow with what happened to it lately.
    fn report(&self, flow: &Flow<'_>) -> FlowReport {
        let mut report = FlowReport::of(flow);
        report.set_spread(&flow.spread());
        report.retries = flow.retries();
        let timeline = self.stories.of_flow(&flow.id, flow.src_qp());
        report.timeline = (!timeline.is_empty()).then_some(timeline);
        report
    }
}

/// The worst first.
fn rank(flow: &Flow<'_>) -> impl Ord + use<> {
    let sequences = || flow.records().filter_map(|(_, totals)| totals.sequence);
    let lost: u64 = sequences().map(|sequence| sequence.lost).sum();
    let retransmitted: u64 = sequences().map(|sequence| sequence.retransmitted).sum();
    let mismarked = flow.sum(|totals| totals.mismarked);
    let naks: u64 = flow.naks().iter().sum();
    let [.., ce] = flow.ecn();
    let ladder = flow.ladder();
    Reverse((lost, naks, retransmitted, ladder, mismarked, ce, flow.cnps(), flow.packets()))
}
