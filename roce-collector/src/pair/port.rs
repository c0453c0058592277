//! The UDP source port that Linux makes of two QP numbers.

use roce_common::flow::{FlowKey, PsnSpace};
use roce_common::wire::Transport;

use super::{Pairing, QpEnd, QpPair, Record};
use crate::flow::FlowId;

/// QPs of one host that are tried for one record.
const MAX_TRIED: usize = 256;
/// One of so many ports that a random pair of numbers could have had.
const PORTS: f64 = 16_384.0;

/// The port of a connection between two QPs, the same for both directions, where no flow label is set.
/// Source: Linux `rdma_calc_flow_label` and `rdma_flow_label_to_udp_sport`. Some NICs have ports of their
/// own, so another port says nothing.
pub(super) const fn linux_port(a: u32, b: u32) -> u16 {
    let mut label = a as u64 * b as u64;
    label ^= label >> 20;
    label ^= label >> 40;
    let label = (label & 0x000f_ffff) as u32;
    ((label & 0x3fff) ^ (label >> 14)) as u16 | 0xc000
}

impl Record {
    /// Whether the record's port is what Linux makes of its QP and `other`.
    pub(super) fn has_port_of(&self, other: u32) -> bool {
        let own = self.key.map(|key| key.dest_qp());
        own.is_some_and(|own| self.source_port == linux_port(own, other))
    }
}

impl Pairing {
    /// Pairs of which no answer tells, only the ports: UC, and captures of requests and CNPs alone.
    pub(super) fn pairs_by_port(&self) -> impl Iterator<Item = QpPair> + '_ {
        self.records.iter().filter_map(|record| self.pair_by_port(record))
    }

    fn pair_by_port(&self, record: &Record) -> Option<QpPair> {
        let key = record.key?;
        let tag = key.tag()?;
        let is_alone = record.responses.is_none() && record.acknowledges.is_none();
        if tag.space() != PsnSpace::Request || tag.transport() == Transport::Cnp || !is_alone {
            return None;
        }
        let back = self.between.get(&(key.destination, key.source))?;
        let tried = back.iter().rev().take(MAX_TRIED);
        let numbers = tried.filter_map(|index| Some(self.records.get(*index)?.key?.dest_qp()));
        let mut fitting: Vec<_> = numbers.filter(|number| record.has_port_of(*number)).collect();
        fitting.sort_unstable();
        fitting.dedup();
        let &[number] = &fitting[..] else { return None };
        let id = FlowId::of(&key)?;
        let (one, other) = (QpEnd { ip: id.src, qp: number }, QpEnd { ip: id.dst, qp: id.dst_qp });
        // NICs may have ports of their own.
        let doubt = 0.2 + back.len().min(MAX_TRIED) as f64 / PORTS;
        Some(QpPair {
            a: one.min(other),
            b: one.max(other),
            confidence: ((1.0 - doubt) * 100.0).round() / 100.0,
            evidence: vec![format!(
                "UDP port {} is what Linux makes of both QP numbers",
                record.source_port
            )],
            opened: None,
            closed: None,
            timeline: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_of_a_real_driver() {
        // captures/lab: QP 0x11 on both sides has port 49441.
        assert_eq!(linux_port(0x11, 0x11), 49_441);
        assert_eq!(linux_port(0x12_3456, 0x65_4321), linux_port(0x65_4321, 0x12_3456));
        assert!(linux_port(0xff_ffff, 0xff_ffff) >= 0xc000);
    }
}
