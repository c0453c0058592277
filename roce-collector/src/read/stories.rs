//! The time lines of the flows that were asked for.

use std::collections::BTreeSet;
use std::net::IpAddr;

use roce_common::flow::{FlowKey, WideKey};
use roce_common::wire::Transport;
use serde::Serialize;

use super::{FlowFilter, Reading};
use crate::flow::{FlowId, FlowReport};
use crate::pair::{CmEvent, QpEnd, QpPair};
use crate::timeline::{Entry, Moment, Story, merge};

/// What goes from one host to one QP of another.
type Way = (IpAddr, QpEnd);

/// A QP whose connection never carried anything, as far as the file shows.
#[derive(Clone, Debug, Serialize)]
pub struct Unconnected {
    /// The QP.
    #[serde(flatten)]
    pub end: QpEnd,
    /// What was said about it.
    pub timeline: Vec<Entry>,
}

impl Reading {
    /// What happened between two QPs, both directions in order; empty when none of it is in the file.
    pub fn timeline(&self, a: QpEnd, b: QpEnd) -> Vec<Entry> {
        timeline(self, &[(a.ip, b), (b.ip, a)], &[a, b])
    }
}

/// Gives every pair its time line.
pub(super) fn tell_pairs(reading: &Reading, pairs: &mut [QpPair]) {
    for pair in pairs {
        pair.timeline = Some(reading.timeline(pair.a, pair.b));
    }
}

/// Gives flows that belong to none of `pairs` their time lines.
pub(super) fn tell_flows(reading: &Reading, pairs: &[QpPair], flows: &mut [FlowReport]) {
    for flow in flows {
        let end = QpEnd { ip: flow.dst, qp: flow.dst_qp };
        let is_of = |pair: &QpPair| {
            (pair.a == end && pair.b.ip == flow.src) || (pair.b == end && pair.a.ip == flow.src)
        };
        if pairs.iter().any(is_of) {
            continue;
        }
        flow.timeline = Some(timeline(reading, &[(flow.src, end)], &[end]));
    }
}

/// QPs that `filter` asks for, that have messages of the connection manager and are in none of `pairs`.
pub(super) fn tell_others(
    reading: &Reading,
    filter: &FlowFilter,
    pairs: &[QpPair],
) -> Vec<Unconnected> {
    let named = reading.connection_events.iter().map(|event| event.end);
    let is_asked_for =
        |end: &QpEnd| filter.qp == Some(end.qp) && filter.peer.is_none_or(|peer| peer == end.ip);
    let is_paired = |end: &QpEnd| pairs.iter().any(|pair| pair.a == *end || pair.b == *end);
    let ends: BTreeSet<_> = named.filter(|end| is_asked_for(end) && !is_paired(end)).collect();
    let tell = |end: QpEnd| Unconnected { end, timeline: timeline(reading, &[], &[end]) };
    ends.into_iter().map(tell).collect()
}

fn timeline(reading: &Reading, ways: &[Way], ends: &[QpEnd]) -> Vec<Entry> {
    let is_its = |key: &WideKey| {
        FlowId::of(key)
            .is_some_and(|id| ways.contains(&(id.src, QpEnd { ip: id.dst, qp: id.dst_qp })))
    };
    let records = reading.records.iter().enumerate().filter(|(_, (key, ..))| is_its(key));
    let connection = reading.connection_events.iter().filter(|event| ends.contains(&event.end));
    of_records(reading, records.map(|(index, _)| index), connection)
}

/// What happened to some records, with the connection manager's messages about them.
pub(super) fn of_records<'a>(
    reading: &Reading,
    records: impl Iterator<Item = usize>,
    connection: impl Iterator<Item = &'a CmEvent>,
) -> Vec<Entry> {
    let story = |index: usize| {
        let ((key, ..), recorder) = (reading.records.get(index)?, reading.recorders.get(index)?);
        let (id, tag) = (FlowId::of(key)?, key.tag()?);
        Some(Story {
            src: id.src,
            dst_qp: id.dst_qp,
            space: tag.space(),
            is_cnp: tag.transport() == Transport::Cnp,
            recorder,
        })
    };
    let stories: Vec<_> = records.filter_map(story).collect();
    let connection = connection.map(|event| (event.moment, event.sender, 1, event.event));
    let end = Moment { frame: reading.counts.total, time: reading.counts.last_time };
    merge(&stories, connection, end)
}
