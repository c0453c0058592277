//! Rates and order over several samples.

use super::super::testing::{flow, sample, troubled, view};
use super::*;
use crate::live::grade::Grade;

fn qps(view: &View) -> Vec<u32> {
    view.flows.iter().map(|flow| flow.report.dst_qp).collect()
}

fn packet_rate(view: &View, place: usize) -> Option<f64> {
    view.flows[place].rates.map(|rates| rates.packets_per_second)
}

#[test]
fn the_first_sample_has_no_rates() {
    let view = view(vec![sample(10, vec![flow(1, 500)])]);
    assert_eq!((view.interval, packet_rate(&view, 0)), (None, None));
    assert!(view.taps.iter().all(|tap| tap.rates.is_none()));
}

#[test]
fn rates_are_differences_over_the_time_between() {
    let view =
        view(vec![sample(10, vec![flow(1, 500)]), sample(12, vec![flow(1, 900), flow(2, 60)])]);
    assert_eq!(view.interval, Some(Duration::from_secs(2)));
    assert_eq!((packet_rate(&view, 0), packet_rate(&view, 1)), (Some(200.0), Some(30.0)));
    let tap = view.taps[0].rates.unwrap();
    assert_eq!((tap.packets_per_second, tap.bits_per_second), (230.0, 184_000.0));
    assert_eq!(view.taps[0].watched_packets, Some(460));
}

#[test]
fn a_flow_that_was_beyond_the_limit_has_no_rate() {
    let mut first = sample(10, vec![flow(1, 500)]);
    first.matching = 2;
    let view = view(vec![first, sample(11, vec![flow(1, 510), flow(2, 9_000_000)])]);
    assert_eq!(qps(&view), [2, 1]);
    assert_eq!((packet_rate(&view, 0), packet_rate(&view, 1)), (None, Some(10.0)));
}

#[test]
fn a_flow_that_began_anew_counts_from_zero() {
    let view = view(vec![sample(10, vec![flow(1, 500)]), sample(11, vec![flow(1, 7)])]);
    assert_eq!(packet_rate(&view, 0), Some(7.0));
}

#[test]
fn a_sample_of_the_same_time_shows_no_rates() {
    let view = view(vec![sample(10, vec![flow(1, 500)]), sample(10, vec![flow(1, 500)])]);
    assert_eq!(packet_rate(&view, 0), None);
}

#[test]
fn trouble_stands_first_until_it_is_old() {
    let (calm, bad) = (flow(1, 1_000_000), troubled(2, 100));
    let mut model = Model::default();
    let shown = model.take(sample(100, vec![calm.clone(), bad.clone()]));
    assert_eq!(qps(&shown), [2, 1]);
    assert_eq!(shown.flows[0].grade, Grade::Lossy);
    let shown = model.take(sample(105, vec![calm.clone(), bad.clone()]));
    assert_eq!(qps(&shown), [2, 1]);
    let shown = model.take(sample(111, vec![flow(1, 1_000_001), bad]));
    assert_eq!(qps(&shown), [1, 2]);
    assert_eq!(shown.flows[1].grade, Grade::Calm);
}

#[test]
fn marks_and_dscps_are_those_of_now() {
    let mut mended = troubled(2, 100);
    (mended.packets, mended.wire_bytes) = (150, 15_000);
    mended.dscp.insert(26, 50);
    let view = view(vec![sample(10, vec![troubled(2, 100)]), sample(11, vec![mended])]);
    let flow = &view.flows[0];
    assert_eq!(flow.mismarked, MismarkedReport::default());
    assert_eq!(flow.dscp, [(26, 50)].into());
    assert_eq!(flow.report.mismarked.dscp, 100, "the totals stay");
}
