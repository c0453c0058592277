//! Which flows are asked for.

use std::net::IpAddr;

use crate::flow::FlowId;
use crate::incident::Incident;
use crate::pair::QpPair;

/// Picks flows by QP and by peer. The default picks all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowFilter {
    /// Destination or, where known, source QP.
    pub qp: Option<u32>,
    /// Sender or receiver.
    pub peer: Option<IpAddr>,
}

impl FlowFilter {
    /// Whether a flow is asked for.
    pub fn matches(&self, id: &FlowId) -> bool {
        self.qp.is_none_or(|qp| id.dst_qp == qp || id.src_qp == Some(qp))
            && self.peer.is_none_or(|peer| id.src == peer || id.dst == peer)
    }

    /// Whether a pair is asked for.
    pub fn matches_pair(&self, pair: &QpPair) -> bool {
        let ends = [pair.a, pair.b];
        self.qp.is_none_or(|qp| ends.iter().any(|end| end.qp == qp))
            && self.peer.is_none_or(|peer| ends.iter().any(|end| end.ip == peer))
    }

    /// Those incidents that are asked for. One that names no QP is asked for by none.
    pub(super) fn pick(&self, mut incidents: Vec<Incident>) -> Vec<Incident> {
        let is_wanted = |incident: &Incident| {
            let Incident { local, peer, .. } = incident;
            self.qp.is_none_or(|qp| local.qp == Some(qp) || peer.qp == Some(qp))
                && self.peer.is_none_or(|ip| local.ip == Some(ip) || peer.ip == Some(ip))
        };
        incidents.retain(is_wanted);
        incidents
    }

    /// Whether every flow matches.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
