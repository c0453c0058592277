//! Which two queue pairs talk to each other, as far as the wire says.
//!
//! A packet names only the QP it goes to. Three things tell the other one: CM messages name both; a
//! response carries a PSN that the peer sent not long ago; and Linux takes the UDP source port from both
//! QP numbers, so that the two directions have the same one.

mod cm;
mod evidence;
mod port;

use std::collections::HashMap;

use roce_common::flow::{FlowKey, PsnSpace, RecordTag, WideKey};
use roce_common::psn::Psn;
use roce_common::sequence::SequenceWord;
use roce_common::wire::RocePacket;

use crate::capture::Timestamp;
use crate::timeline::Moment;

pub use cm::CmEvent;
use cm::Connections;
pub use evidence::{QpEnd, QpPair, SourceQps};

/// PSNs behind the next one that a response may answer.
const OUTSTANDING: i32 = 1 << 12;
/// Records between two hosts that are compared for one response.
const MAX_CANDIDATES: usize = 64;
/// Pairs of ended connections that are remembered.
const MAX_ENDED: usize = 1 << 16;
/// Answers outside the window after which a pairing is given up, unless many more were inside.
const MAX_MISSES: u32 = 8;

/// One QP of one host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Qp {
    host: [u32; 4],
    number: u32,
}

/// Learns pairs from packets.
#[derive(Debug, Default)]
pub struct Pairing {
    records: Vec<Record>,
    /// Request records by sender and receiver.
    requests: HashMap<([u32; 4], [u32; 4]), Vec<usize>>,
    /// The same by UDP source port, too.
    by_port: HashMap<([u32; 4], [u32; 4], u16), Vec<usize>>,
    /// Records of any kind by sender and receiver.
    between: HashMap<([u32; 4], [u32; 4]), Vec<usize>>,
    /// Records by the QP they go to.
    to: HashMap<Qp, Vec<usize>>,
    connections: Connections,
    /// Pairs of connections that ended because one of the QP numbers was used again.
    ended: Vec<QpPair>,
}

/// What is known of one record.
#[derive(Clone, Copy, Debug, Default)]
struct Record {
    key: Option<WideKey>,
    source_port: u16,
    /// Of answers, the record of the requests.
    requests: Option<usize>,
    /// Of requests, the record of the READ responses.
    responses: Option<usize>,
    /// And of the ACKs.
    acknowledges: Option<usize>,
    by_cm: bool,
    same_port: bool,
    hits: u32,
    misses: u32,
}

impl Pairing {
    /// Takes an RC or XRC packet of the record `index`. Of an answer, the record of the requests; of a
    /// request, that of the READ responses. `word` gives the PSN state of a record.
    pub fn packet(
        &mut self,
        index: usize,
        key: &WideKey,
        packet: &RocePacket,
        word: impl Fn(usize) -> Option<SequenceWord>,
    ) -> Option<usize> {
        let is_answer = key.tag()?.space() != PsnSpace::Request;
        if self.add(index, key) {
            let to = Qp { host: key.destination, number: key.dest_qp() };
            self.to.entry(to).or_default().push(index);
            if !is_answer {
                let between = self.requests.entry((key.source, key.destination)).or_default();
                between.push(index);
                let port = (key.source, key.destination, packet.source_port);
                self.by_port.entry(port).or_default().push(index);
            }
        }
        self.records[index].source_port = packet.source_port;
        if !is_answer {
            return self.records[index].responses;
        }
        let psn = packet.bth.psn();
        match self.records[index].requests {
            None => self.find(index, key, psn, &word),
            Some(peer) => self.check(index, peer, psn, &word),
        }
    }

    /// Takes a congestion notification of the record `index`.
    pub fn notification(&mut self, index: usize, key: &WideKey) {
        self.add(index, key);
    }

    /// Whether this is the first packet of the record.
    fn add(&mut self, index: usize, key: &WideKey) -> bool {
        if self.records.len() <= index {
            self.records.resize_with(index + 1, Record::default);
        }
        let is_new = self.records[index].key.is_none();
        if is_new {
            self.records[index].key = Some(*key);
            self.between.entry((key.source, key.destination)).or_default().push(index);
        }
        is_new
    }

    fn find(
        &mut self,
        index: usize,
        key: &WideKey,
        psn: Psn,
        word: &impl Fn(usize) -> Option<SequenceWord>,
    ) -> Option<usize> {
        let own = Qp { host: key.destination, number: key.dest_qp() };
        let named = self.connections.peer_of(own);
        let port = self.records[index].source_port;
        let (from, to) = (key.destination, key.source);
        let fitting: Vec<usize> = if let Some(other) = named {
            let requests = self.to.get(&other).into_iter().flatten().copied();
            let is_its = |index: &usize| {
                self.records[*index].key.is_some_and(|request| is_request_of(&request, key))
            };
            requests.filter(is_its).collect()
        } else {
            let with_port = self.by_port.get(&(from, to, port));
            let mut fitting = self.outstanding(with_port, key, psn, word);
            if fitting.is_empty() {
                fitting = self.outstanding(self.requests.get(&(from, to)), key, psn, word);
            }
            if fitting.len() > 1 {
                // Connections that began at the same PSN: the port may tell them apart.
                fitting.retain(|index| self.records[*index].has_port_of(own.number));
            }
            fitting
        };
        let &[peer] = &fitting[..] else { return None };
        *self.records[peer].answers_like(key)? = Some(index);
        let same_port = self.records[peer].source_port == port && port != 0;
        let record = &mut self.records[index];
        (record.requests, record.by_cm, record.same_port) =
            (Some(peer), named.is_some(), same_port);
        (record.hits, record.misses) = (1, 0);
        Some(peer)
    }

    /// Unpaired records of requests that a response with `psn` may answer.
    fn outstanding(
        &self,
        candidates: Option<&Vec<usize>>,
        key: &WideKey,
        psn: Psn,
        word: &impl Fn(usize) -> Option<SequenceWord>,
    ) -> Vec<usize> {
        // The latest first: those of ended connections wait at the front.
        let latest = candidates.into_iter().flat_map(|all| all.iter().rev().take(MAX_CANDIDATES));
        let fits = |&candidate: &usize| {
            let record = &self.records[candidate];
            let is_free = match key.tag().map(RecordTag::space) {
                Some(PsnSpace::Response) => record.responses.is_none(),
                Some(PsnSpace::Acknowledge) => record.acknowledges.is_none(),
                Some(PsnSpace::Request) | None => false,
            };
            is_free
                && record.key.is_some_and(|request| is_request_of(&request, key))
                && is_outstanding(word(candidate), psn)
        };
        latest.copied().filter(fits).collect()
    }

    fn check(
        &mut self,
        index: usize,
        peer: usize,
        psn: Psn,
        word: &impl Fn(usize) -> Option<SequenceWord>,
    ) -> Option<usize> {
        let record = &mut self.records[index];
        if is_outstanding(word(peer), psn) {
            record.hits = record.hits.saturating_add(1);
            return Some(peer);
        }
        record.misses = record.misses.saturating_add(1);
        if record.misses > MAX_MISSES && record.misses > record.hits / 16 && !record.by_cm {
            self.separate(index);
            return None;
        }
        Some(peer)
    }

    /// Takes a UD packet or another without an order. Of a connection request or reply, the records
    /// whose QP starts anew.
    pub fn datagram(
        &mut self,
        key: &WideKey,
        packet: &RocePacket,
        frame: &[u8],
        moment: Moment,
    ) -> Vec<usize> {
        let Some((new, life)) = self.connections.datagram(key, packet, frame, moment) else {
            return Vec::new();
        };
        let restarted = self.to.get(&new).cloned().unwrap_or_default();
        for &index in &restarted {
            let record = &self.records[index];
            let answers = [record.requests.map(|_| index), record.responses, record.acknowledges];
            for answers in answers.into_iter().flatten() {
                if self.ended.len() < MAX_ENDED
                    && let Some(pair) = self.pair_of(&self.records[answers])
                {
                    self.ended.push(QpPair { opened: life.opened, closed: life.closed, ..pair });
                }
            }
            self.separate(index);
        }
        restarted
    }

    /// Forgets the peers of a record.
    fn separate(&mut self, index: usize) {
        let record = &mut self.records[index];
        let peers = [record.requests.take(), record.responses.take(), record.acknowledges.take()];
        for peer in peers.into_iter().flatten() {
            let peer = &mut self.records[peer];
            for link in [&mut peer.requests, &mut peer.responses, &mut peer.acknowledges] {
                *link = link.filter(|other| *other != index);
            }
        }
    }

    /// When a packet of the QPs of the record `index` was last seen, given when one of each record was.
    pub fn last_seen(
        &self,
        index: usize,
        of_record: impl Fn(usize) -> Option<Timestamp>,
    ) -> Option<Timestamp> {
        let record = self.records.get(index)?;
        let peer = record.requests.or(record.responses).or(record.acknowledges);
        let ends = [Some(index), peer].into_iter().flatten();
        let keys = ends.filter_map(|index| self.records.get(index)?.key);
        let qps = keys.map(|key| Qp { host: key.destination, number: key.dest_qp() });
        let records = qps.flat_map(|qp| self.to.get(&qp).into_iter().flatten());
        records.filter_map(|&record| of_record(record)).max()
    }

    /// Connection manager messages, in order; they are given out once.
    pub fn take_connection_events(&mut self) -> Vec<CmEvent> {
        self.connections.take_events()
    }

    /// Of an answer, the record of the requests.
    pub fn requests_of(&self, index: usize) -> Option<usize> {
        self.records.get(index)?.requests
    }

    /// Of requests, the record of the ACKs.
    pub fn acknowledges_to(&self, index: usize) -> Option<usize> {
        self.records.get(index)?.acknowledges
    }

    /// Of requests, the record of the READ responses.
    pub fn responses_to(&self, index: usize) -> Option<usize> {
        self.records.get(index)?.responses
    }
}

impl Record {
    /// Where a record of requests names the one of answers with this key.
    fn answers_like(&mut self, answer: &WideKey) -> Option<&mut Option<usize>> {
        match answer.tag()?.space() {
            PsnSpace::Request => None,
            PsnSpace::Response => Some(&mut self.responses),
            PsnSpace::Acknowledge => Some(&mut self.acknowledges),
        }
    }
}

/// Whether the record of `request` may hold what one of `response` answers.
fn is_request_of(request: &WideKey, response: &WideKey) -> bool {
    let (Some(asks), Some(answers)) = (request.tag(), response.tag()) else { return false };
    asks.space() == PsnSpace::Request
        && asks.transport() == answers.transport()
        && (request.source, request.destination) == (response.destination, response.source)
}

fn is_outstanding(word: Option<SequenceWord>, psn: Psn) -> bool {
    word.is_some_and(|word| {
        let back = word.next().distance_from(psn);
        // A NAK may name the PSN that is due.
        word.is_known() && (0..=OUTSTANDING).contains(&back)
    })
}
