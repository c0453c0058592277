//! Connections of a file, each from one requester to one responder.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use roce_common::flow::{FlowKey, PsnSpace};
use roce_common::wire::Transport;

use crate::capture::Timestamp;
use crate::flow::{FlowId, RecordTotals};
use crate::pair::{CmEvent, QpEnd, SourceQps};
use crate::read::{Notes, Reading, SequenceFacts, stories};
use crate::timeline::{Entry, Event, Recorder};

/// The requests of one QP to another, and what comes back. A pair that asks both ways is two of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Connection {
    pub(super) requester: IpAddr,
    pub(super) requester_qp: Option<u32>,
    pub(super) responder: IpAddr,
    pub(super) responder_qp: Option<u32>,
    /// Record of the requests; `None` where the file has only what answers them.
    pub(super) requests: Option<usize>,
    /// Records of ACKs and READ responses.
    pub(super) answers: Vec<usize>,
    /// Records of congestion notifications to the requester.
    pub(super) notifications: Vec<usize>,
}

/// All connections of a file.
#[derive(Debug)]
pub(super) struct Connections<'a> {
    pub(super) reading: &'a Reading,
    pub(super) all: Vec<Connection>,
    ways: HashMap<Way, Records>,
    /// By requester and responder.
    between: HashMap<(IpAddr, IpAddr), Vec<usize>>,
    /// Senders and receivers of anything.
    directions: HashSet<(IpAddr, IpAddr)>,
    /// Messages of the connection manager by the ends that they are about.
    messages: HashMap<QpEnd, Vec<&'a CmEvent>>,
}

/// From one host to one QP of another.
type Way = (IpAddr, IpAddr, u32);

/// Records that go one way.
#[derive(Debug, Default)]
struct Records {
    requests: Vec<usize>,
    answers: Vec<usize>,
    notifications: Vec<usize>,
    is_claimed: bool,
}

impl<'a> Connections<'a> {
    /// Finds the reliable connections of `reading`.
    pub(super) fn of(reading: &'a Reading) -> Self {
        let sources = SourceQps::of(&reading.pairs);
        let mut ways: HashMap<Way, Records> = HashMap::new();
        let mut requests = Vec::new();
        let mut directions = HashSet::new();
        for (index, (key, ..)) in reading.records.iter().enumerate() {
            let (Some(id), Some(tag)) = (FlowId::of(key), key.tag()) else { continue };
            let way = (id.src, id.dst, id.dst_qp);
            directions.insert((id.src, id.dst));
            match (tag.transport(), tag.space()) {
                (Transport::Cnp, _) => ways.entry(way).or_default().notifications.push(index),
                (Transport::Rc | Transport::Xrc, PsnSpace::Request) => {
                    ways.entry(way).or_default().requests.push(index);
                    requests.push((index, id));
                }
                (Transport::Rc | Transport::Xrc, _) => {
                    ways.entry(way).or_default().answers.push(index);
                }
                _ => {}
            }
        }
        let mut all: Vec<_> = requests
            .into_iter()
            .map(|(index, id)| {
                let requester_qp = sources.find(id.src, id.dst, id.dst_qp);
                let back = requester_qp.and_then(|qp| ways.get_mut(&(id.dst, id.src, qp)));
                let (answers, notifications) = back.map_or_else(Default::default, |way| {
                    way.is_claimed = true;
                    (way.answers.clone(), way.notifications.clone())
                });
                Connection {
                    requester: id.src,
                    requester_qp,
                    responder: id.dst,
                    responder_qp: Some(id.dst_qp),
                    requests: Some(index),
                    answers,
                    notifications,
                }
            })
            .collect();
        let mut alone: Vec<_> = ways
            .iter()
            .filter(|(_, way)| !way.is_claimed && !way.answers.is_empty())
            .map(|(&(src, dst, dst_qp), way)| Connection {
                requester: dst,
                requester_qp: Some(dst_qp),
                responder: src,
                responder_qp: sources.find(src, dst, dst_qp),
                requests: None,
                answers: way.answers.clone(),
                notifications: way.notifications.clone(),
            })
            .collect();
        alone.sort_by_key(|connection| connection.answers.first().copied());
        all.append(&mut alone);
        let mut between: HashMap<_, Vec<_>> = HashMap::new();
        for (index, connection) in all.iter().enumerate() {
            let hosts = (connection.requester, connection.responder);
            between.entry(hosts).or_default().push(index);
        }
        let mut messages: HashMap<_, Vec<_>> = HashMap::new();
        for event in &reading.connection_events {
            messages.entry(event.end).or_default().push(event);
        }
        Self { reading, all, ways, between, directions, messages }
    }

    /// Whether the tap sees what the responder's host sends to the requester's at all.
    pub(super) fn sees_answers(&self, connection: &Connection) -> bool {
        self.directions.contains(&(connection.responder, connection.requester))
    }

    /// Those between the same hosts, in the same direction.
    pub(super) fn between(
        &self,
        requester: IpAddr,
        responder: IpAddr,
    ) -> impl Iterator<Item = &Connection> {
        let indexes = self.between.get(&(requester, responder)).into_iter().flatten();
        indexes.map(|&index| &self.all[index])
    }

    pub(super) fn totals(&self, record: usize) -> &'a RecordTotals {
        &self.reading.records[record].1
    }

    pub(super) fn last_seen(&self, record: usize) -> Option<Timestamp> {
        self.reading.records[record].2
    }

    pub(super) fn recorder(&self, record: usize) -> Option<&'a Recorder> {
        self.reading.recorders.get(record)
    }

    pub(super) fn facts(&self, record: usize) -> Option<&'a SequenceFacts> {
        self.reading.facts.get(record)
    }

    pub(super) fn notes(&self, record: usize) -> Option<&'a Notes> {
        self.facts(record)?.notes.as_deref()
    }

    /// When the last of the answers was seen.
    pub(super) fn last_answer(&self, connection: &Connection) -> Option<Timestamp> {
        connection.answers.iter().filter_map(|&record| self.last_seen(record)).max()
    }

    /// What happened to a connection, in both directions.
    pub(super) fn timeline(&self, connection: &Connection) -> Vec<Entry> {
        let Connection { requester, responder, .. } = *connection;
        let there = connection.responder_qp.map(|qp| (requester, responder, qp));
        let back = connection.requester_qp.map(|qp| (responder, requester, qp));
        let ways = [there, back].into_iter().flatten().filter_map(|way| self.ways.get(&way));
        let records = ways.flat_map(|way| [&way.requests, &way.answers, &way.notifications]);
        let records = records.flatten().copied();
        stories::of_records(self.reading, records, self.messages(connection).into_iter())
    }

    /// Messages of the connection manager about a connection, in order.
    pub(super) fn messages(&self, connection: &Connection) -> Vec<&'a CmEvent> {
        let ends = connection.ends().into_iter().flatten();
        let messages = ends.filter_map(|end| self.messages.get(&end)).flatten();
        let mut messages: Vec<_> = messages.copied().collect();
        messages.sort_by_key(|event| event.moment.frame);
        messages.dedup_by_key(|event| event.moment.frame);
        messages
    }

    /// When one side first said that the connection ends, after `since`.
    pub(super) fn closed_after(
        &self,
        connection: &Connection,
        since: Timestamp,
    ) -> Option<Timestamp> {
        let is_end = |event: &Event| {
            matches!(event, Event::DisconnectRequest { .. } | Event::DisconnectReply)
        };
        let messages = self.messages(connection).into_iter();
        let ends = messages.filter(|message| is_end(&message.event));
        ends.filter_map(|message| message.moment.time).find(|time| *time >= since)
    }
}

impl Connection {
    /// Both ends, as far as they are known.
    pub(super) fn ends(&self) -> [Option<QpEnd>; 2] {
        let end = |ip, qp: Option<u32>| qp.map(|qp| QpEnd { ip, qp });
        [end(self.requester, self.requester_qp), end(self.responder, self.responder_qp)]
    }
}
