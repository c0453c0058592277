//! Which recorded packets are wanted.

use std::net::IpAddr;

use roce_common::flow::WideKey;

use crate::flow::FlowId;

/// Two hosts and their queue pairs, as far as they are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection {
    /// One host.
    pub a: Option<IpAddr>,
    /// Its queue pair.
    pub a_qp: Option<u32>,
    /// The other host.
    pub b: Option<IpAddr>,
    /// Its queue pair.
    pub b_qp: Option<u32>,
}

impl Connection {
    /// Whether packets of the record with this key belong to it, in either direction. Nothing that is known speaks
    /// against it, and the queue pair that they go to or both hosts speak for it.
    pub fn has_record(&self, key: &WideKey) -> bool {
        FlowId::of(key).is_some_and(|id| {
            let goes_to = |src: Option<IpAddr>, dst: Option<IpAddr>, qp: Option<u32>| {
                src.is_none_or(|src| src == id.src)
                    && dst.is_none_or(|dst| dst == id.dst)
                    && qp.is_none_or(|qp| qp == id.dst_qp)
                    && (qp.is_some() || src.is_some() && dst.is_some())
            };
            goes_to(self.a, self.b, self.b_qp) || goes_to(self.b, self.a, self.a_qp)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use roce_common::wire::{Parsed, SliceReader, parse_ethernet};
    use roce_testkit::packet::Opcode;
    use roce_testkit::scenario;

    fn key(frame: &[u8]) -> WideKey {
        let reader = SliceReader(frame);
        let Parsed::Roce(packet) = parse_ethernet(&reader) else { panic!("{frame:02x?}") };
        WideKey::of(&reader, &packet).expect("addresses")
    }

    #[test]
    fn both_directions_of_one_pair_of_queue_pairs() {
        let lab = scenario::Connection::ipv6(1);
        let (a, b) = (lab.requester, lab.responder);
        let whole = Connection { a: Some(a.ip), a_qp: Some(a.qp), b: Some(b.ip), b_qp: Some(b.qp) };
        let there = key(&lab.forward(Opcode::RC_SEND_ONLY).build());
        let back = key(&lab.backward(Opcode::RC_ACKNOWLEDGE).build());
        assert!(whole.has_record(&there) && whole.has_record(&back));
        let swapped =
            Connection { a: Some(b.ip), a_qp: Some(b.qp), b: Some(a.ip), b_qp: Some(a.qp) };
        assert!(swapped.has_record(&there) && swapped.has_record(&back));
        let other = Connection { b_qp: Some(b.qp + 1), ..whole };
        assert!(!other.has_record(&there) && other.has_record(&back));
        let unknown = Connection { b_qp: None, ..whole };
        assert!(unknown.has_record(&there));
        let elsewhere = Connection { b: Some(a.ip), ..whole };
        assert!(!elsewhere.has_record(&there) && !elsewhere.has_record(&back));
        let by_qp = Connection { a: None, b: None, ..whole };
        assert!(by_qp.has_record(&there) && by_qp.has_record(&back));
        let half = Connection { a: None, a_qp: None, b_qp: None, ..whole };
        assert!(!half.has_record(&there) && !half.has_record(&back), "one host is not enough");
    }
}
