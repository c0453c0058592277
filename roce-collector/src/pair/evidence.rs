//! What a pair is reported as.

use std::collections::HashMap;
use std::net::IpAddr;

use roce_common::flow::{FlowKey, WideKey};
use serde::Serialize;

use super::{Pairing, Qp, Record};
use crate::capture::Timestamp;
use crate::flow::FlowId;
use crate::timeline::Entry;

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct QpEnd {
    /// Host.
    pub ip: IpAddr,
    /// QP number.
    pub qp: u32,
}

/// Two QPs that talk to each other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QpPair {
    /// One end, the lower address.
    pub a: QpEnd,
    /// The other.
    pub b: QpEnd,
    /// How sure that is, 0 to 1.
    pub confidence: f64,
    /// Why.
    pub evidence: Vec<String>,
    /// When the connection came up, where connection manager messages say so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opened: Option<Timestamp>,
    /// When one side began to end it, or refused it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed: Option<Timestamp>,
    /// What happened to it, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Vec<Entry>>,
}

/// Source QPs of flows, from pairs that are likely.
#[derive(Debug, Default)]
pub struct SourceQps(HashMap<(IpAddr, QpEnd), u32>);

/// A pair below this says nothing about a flow.
const LIKELY: f64 = 0.5;

impl SourceQps {
    /// Takes the likely ones of `pairs`.
    pub fn of(pairs: &[QpPair]) -> Self {
        let likely = pairs.iter().filter(|pair| pair.confidence >= LIKELY);
        Self(
            likely
                .flat_map(|QpPair { a, b, .. }| [((a.ip, *b), a.qp), ((b.ip, *a), b.qp)])
                .collect(),
        )
    }

    /// QP of the sender `src` that talks to `dst_qp` of `dst`.
    pub fn find(&self, src: IpAddr, dst: IpAddr, dst_qp: u32) -> Option<u32> {
        self.0.get(&(src, QpEnd { ip: dst, qp: dst_qp })).copied()
    }

    /// The identity with its source QP, where that is known.
    #[must_use]
    pub fn complete(&self, id: FlowId) -> FlowId {
        FlowId { src_qp: id.src_qp.or_else(|| self.find(id.src, id.dst, id.dst_qp)), ..id }
    }
}

impl Pairing {
    /// All pairs, each once, in order of their ends.
    pub fn pairs(&self) -> Vec<QpPair> {
        let current = self.records.iter().filter_map(|record| self.pair_of(record));
        let known = current.chain(self.ended.iter().cloned());
        let mut pairs: Vec<_> = known.chain(self.pairs_by_port()).collect();
        // The better of the two directions stays.
        let order = |pair: &QpPair| (pair.a, pair.b);
        pairs.sort_by(|x, y| order(x).cmp(&order(y)).then(y.confidence.total_cmp(&x.confidence)));
        pairs.dedup_by_key(|pair| order(pair));
        pairs
    }

    pub(super) fn pair_of(&self, answers: &Record) -> Option<QpPair> {
        if answers.hits == 0 {
            return None; // the requests' side of the same pair
        }
        let requests = self.records.get(answers.requests?)?;
        let (one, other) = (end(&answers.key?)?, end(&requests.key?)?);
        let mut evidence = Vec::new();
        let mut doubt = 1.0;
        if answers.by_cm {
            evidence.push("connection manager messages name both".to_owned());
            doubt *= 0.01;
        }
        let all = answers.hits + answers.misses;
        evidence.push(format!("{} of {all} answers have a PSN that was outstanding", answers.hits));
        let share = f64::from(answers.hits) / f64::from(all);
        doubt *= 1.0 - share * f64::from(answers.hits.min(16)) / 20.0;
        if answers.same_port {
            evidence.push(format!("both send from UDP port {}", answers.source_port));
            doubt *= 0.5;
        }
        if requests.has_port_of(answers.key?.dest_qp()) {
            evidence.push("that port is what Linux makes of both QP numbers".to_owned());
            doubt *= 0.1;
        }
        let between = (requests.key?.source, requests.key?.destination);
        if self.requests.get(&between).is_some_and(|all| all.len() == 1) {
            evidence.push("no other QP asked anything that way".to_owned());
            doubt *= 0.5;
        }
        let life = answers.key.and_then(|key| {
            self.connections.life_of(Qp { host: key.destination, number: key.dest_qp() })
        });
        let life = life.unwrap_or_default();
        if life.connections > 1 {
            evidence.push(format!("the QP number was used for {} connections", life.connections));
        }
        let confidence = ((1.0 - doubt) * 100.0).round().min(99.0) / 100.0;
        Some(QpPair {
            a: one.min(other),
            b: one.max(other),
            confidence,
            evidence,
            opened: life.opened,
            closed: life.closed,
            timeline: None,
        })
    }
}

fn end(key: &WideKey) -> Option<QpEnd> {
    let id = FlowId::of(key)?;
    Some(QpEnd { ip: id.dst, qp: id.dst_qp })
}
