//! What other connections of the same two hosts met meanwhile.

use std::collections::HashMap;
use std::net::IpAddr;

use super::{Picture, is_of, is_request};
use crate::diagnosis::{Failure, Neighbours, Traffic};
use crate::sweep::records::SeenRecord;

/// Other connections count as witnesses when they were active in so many seconds before.
const WITNESS_SECONDS: u32 = 10;

impl Picture<'_> {
    /// Other connections from the requester's host to the responder's.
    pub fn neighbours(&self, failure: &Failure) -> Neighbours {
        let mut neighbours = Neighbours::default();
        let (Some(requester), Some(responder)) = (failure.local_ip, failure.peer_ip) else {
            return neighbours;
        };
        let since = self.troubled_since(requester, responder, failure);
        let mut witnesses: HashMap<u32, bool> = HashMap::new();
        for record in self.between(requester, responder).filter(|record| is_request(record)) {
            self.add_traffic(&mut neighbours, record, since);
            if is_of(record, failure) || !self.is_witness(record) {
                continue;
            }
            let Some(source_qp) = record.totals.peer_qp else { continue };
            let mut back = self.between(responder, requester);
            let is_answered = back.any(|answers| {
                answers.id.dst_qp == source_qp && !is_request(answers) && self.is_witness(answers)
            });
            *witnesses.entry(record.id.dst_qp).or_default() |= is_answered;
        }
        neighbours.to_peer = witnesses.len() as u32;
        neighbours.answered = witnesses.values().filter(|is_answered| **is_answered).count() as u32;
        neighbours.unanswered = neighbours.to_peer - neighbours.answered;
        neighbours
    }

    /// The second in which the trouble of a connection began; what others met before is another story.
    fn troubled_since(&self, requester: IpAddr, responder: IpAddr, failure: &Failure) -> u32 {
        let requests = self.between(requester, responder).filter(|record| is_of(record, failure));
        let seconds = requests.flat_map(|record| self.seconds(record));
        let first = seconds.filter(|second| second.is_troubled()).map(|second| second.at).min();
        let recent = self.now.seconds().saturating_sub(WITNESS_SECONDS);
        first.map_or(recent, |first| first.min(recent))
    }

    fn add_traffic(&self, neighbours: &mut Neighbours, record: &SeenRecord<'_>, since: u32) {
        let mut traffic = Traffic::default();
        let mut mismarked = 0;
        for second in self.seconds(record).filter(|second| second.at >= since) {
            traffic.packets += u64::from(second.packets);
            traffic.lost += u64::from(second.lost);
            traffic.retransmitted += u64::from(second.retransmitted);
            mismarked += u64::from(second.mismarked);
        }
        let is_wrong = mismarked * 2 > traffic.packets;
        let sum =
            if is_wrong { &mut neighbours.wrongly_marked } else { &mut neighbours.rightly_marked };
        sum.packets += traffic.packets;
        sum.lost += traffic.lost;
        sum.retransmitted += traffic.retransmitted;
    }

    fn is_witness(&self, record: &SeenRecord<'_>) -> bool {
        let from = self.now.seconds().saturating_sub(WITNESS_SECONDS);
        self.seconds(record).any(|second| second.at >= from && second.packets > 0)
    }
}
