//! The time lines of the flows that were asked for.

use std::net::IpAddr;

use roce_common::flow::FlowKey;
use roce_common::wire::Transport;

use super::Reading;
use crate::flow::{FlowId, FlowReport};
use crate::pair::{QpEnd, QpPair};
use crate::timeline::{Entry, Moment, Story, merge};

/// What goes from one host to one QP of another.
type Way = (IpAddr, QpEnd);

/// Gives every pair its time line.
pub(super) fn tell_pairs(reading: &Reading, pairs: &mut [QpPair]) {
    for pair in pairs {
        let ways = [(pair.a.ip, pair.b), (pair.b.ip, pair.a)];
        pair.timeline = Some(timeline(reading, &ways, &[pair.a, pair.b]));
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

fn timeline(reading: &Reading, ways: &[Way], ends: &[QpEnd]) -> Vec<Entry> {
    let records = reading.records.iter().zip(&reading.recorders);
    let stories: Vec<_> = records
        .filter_map(|((key, ..), recorder)| {
            let (id, tag) = (FlowId::of(key)?, key.tag()?);
            let way = (id.src, QpEnd { ip: id.dst, qp: id.dst_qp });
            ways.contains(&way).then_some(Story {
                src: id.src,
                dst_qp: id.dst_qp,
                space: tag.space(),
                is_cnp: tag.transport() == Transport::Cnp,
                recorder,
            })
        })
        .collect();
    let connection = reading.connection_events.iter().filter(|event| ends.contains(&event.end));
    let connection = connection.map(|event| (event.moment, event.sender, 1, event.event));
    let end = Moment { frame: reading.counts.total, time: reading.counts.last_time };
    merge(&stories, connection, end)
}
