//! Makes views of samples.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use super::grade::{Troubles, order};
use super::sample::{flow_counts, growth};
use super::{FlowView, Rates, Sample, TapView, View};
use crate::capture::Timestamp;
use crate::flow::{FlowReport, MismarkedReport};
use crate::http::HookReport;
use crate::sweep::Counts;

/// Remembers what the next sample is compared with.
#[derive(Debug, Default)]
pub struct Model {
    first: Option<First>,
    before: Option<Before>,
}

#[derive(Debug)]
struct First {
    time: Timestamp,
    taps: TapCounts,
}

/// By device and direction.
type TapCounts = HashMap<(String, String), Counts>;

#[derive(Debug)]
struct Before {
    time: Timestamp,
    taps: TapCounts,
    flows: HashMap<FlowKey, Known>,
    /// Whether a flow that is not in `flows` had no packets.
    is_complete: bool,
}

#[derive(Debug)]
struct Known {
    report: FlowReport,
    troubles: Troubles,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct FlowKey {
    device: Option<String>,
    direction: Option<String>,
    ends: (IpAddr, IpAddr),
    dst_qp: u32,
    src_qp: Option<u32>,
    version: String,
    transport: String,
}

impl Model {
    /// Takes a sample and says what it shows.
    ///
    /// A sample of the same time as the one before shows no rates.
    pub fn take(&mut self, sample: Sample) -> View {
        let is_complete = sample.is_complete();
        let Sample { time, taps, flows, matching, blind, notes } = sample;
        let first = self.first.get_or_insert_with(|| First { time, taps: seen(&taps) });
        let before = self.before.take();
        let interval = before.as_ref().map(|before| time.since(before.time));
        let interval = interval.filter(|interval| !interval.is_zero());

        let tap_views = taps.iter().map(|hook| {
            let grown =
                |before: &TapCounts| Some(growth(before.get(&tap_key(hook))?, hook.seen.as_ref()?));
            let rates = before.as_ref().and_then(|before| grown(&before.taps)).zip(interval);
            TapView {
                hook: hook.clone(),
                watched_packets: grown(&first.taps).map(|counts| counts.packets),
                rates: rates.map(|(counts, interval)| Rates::of(&counts, interval)),
            }
        });
        let tap_views = tap_views.collect();
        let watched = time.since(first.time);

        let mut known = HashMap::with_capacity(flows.len());
        let mut views = Vec::with_capacity(flows.len());
        for report in flows {
            let key = FlowKey::of(&report);
            let (view, troubles) = flow_view(&report, &key, time, interval, before.as_ref());
            views.push(view);
            known.insert(key, Known { report, troubles });
        }
        sort(&mut views);
        self.before = Some(Before { time, taps: seen(&taps), flows: known, is_complete });
        View { time, interval, watched, taps: tap_views, flows: views, matching, blind, notes }
    }
}

fn tap_key(hook: &HookReport) -> (String, String) {
    (hook.device.clone(), hook.direction.to_string())
}

fn seen(taps: &[HookReport]) -> TapCounts {
    taps.iter().filter_map(|hook| Some((tap_key(hook), hook.seen?))).collect()
}

fn flow_view(
    report: &FlowReport,
    key: &FlowKey,
    now: Timestamp,
    interval: Option<Duration>,
    before: Option<&Before>,
) -> (FlowView, Troubles) {
    let known = before.and_then(|before| before.flows.get(key));
    let earlier = match (known, before) {
        (Some(known), _) if known.report.packets <= report.packets => Some(Some(&known.report)),
        // It is new, or began anew: all it has counted is of this interval.
        (Some(_), _) => Some(None),
        (None, Some(before)) if before.is_complete => Some(None),
        (None, _) => None,
    };
    let counts = flow_counts(report);
    let grown = earlier.map(|earlier| match earlier {
        Some(earlier) => growth(&flow_counts(earlier), &counts),
        None => counts,
    });
    let mut troubles = known.map(|known| known.troubles).unwrap_or_default();
    // Of a flow that is seen for the first time nobody knows how old its trouble is.
    troubles.add(&grown.unwrap_or(counts), now);
    let since = earlier.flatten().filter(|earlier| earlier.packets < report.packets);
    let view = FlowView {
        report: report.clone(),
        growth: grown,
        mismarked: since.map_or(report.mismarked, |earlier| MismarkedReport {
            dscp: report.mismarked.dscp.saturating_sub(earlier.mismarked.dscp),
            not_ect: report.mismarked.not_ect.saturating_sub(earlier.mismarked.not_ect),
        }),
        dscp: report
            .dscp
            .iter()
            .map(|(value, packets)| {
                let earlier = since.and_then(|earlier| earlier.dscp.get(value));
                (*value, packets.saturating_sub(earlier.copied().unwrap_or(0)))
            })
            .filter(|(_, packets)| *packets != 0)
            .collect(),
        rates: grown.zip(interval).map(|(grown, interval)| Rates::of(&grown, interval)),
        grade: troubles.grade(now),
    };
    (view, troubles)
}

/// By trouble, then by rate; where there are no rates, by packets.
fn sort(flows: &mut [FlowView]) {
    flows.sort_by_cached_key(|flow| {
        let recent = flow.growth.map_or(flow.report.packets, |growth| growth.packets);
        (flow.grade, std::cmp::Reverse(recent), order(&flow.report))
    });
}

impl FlowKey {
    fn of(report: &FlowReport) -> Self {
        Self {
            device: report.device.clone(),
            direction: report.direction.as_deref().map(str::to_owned),
            ends: (report.src, report.dst),
            dst_qp: report.dst_qp,
            src_qp: report.src_qp,
            version: report.version.to_string(),
            transport: report.transport.to_string(),
        }
    }
}

#[cfg(test)]
mod tests;
