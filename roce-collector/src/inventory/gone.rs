//! Queue pairs that were there until a short while ago, and what that says of a peer.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{Change, Qp, QpEvent, QpState};
use crate::bpf::{QpFailure, QpFailureKind};
use crate::capture::Timestamp;
use crate::diagnosis::PeerQp;

/// Queue pairs that are remembered; of more, the oldest are forgotten.
const MAX_GONE: usize = 4096;
/// Queue pairs that vanished, oldest first.
#[derive(Debug, Default)]
pub struct GoneQps(VecDeque<Gone>);

#[derive(Debug)]
struct Gone {
    device: Arc<str>,
    lqpn: u32,
    rqpn: Option<u32>,
    time: Timestamp,
}

/// A connection, as its requester knows it.
#[derive(Clone, Copy, Debug)]
pub struct Connection<'a> {
    /// RDMA device of the requester, where known.
    pub device: Option<&'a str>,
    /// QP of the requester.
    pub local_qp: u32,
    /// QP of the responder.
    pub peer_qp: u32,
    /// When its trouble began: what becomes of the peer later may follow from that.
    pub time: Timestamp,
}

impl GoneQps {
    /// Takes an event.
    pub fn note(&mut self, event: &QpEvent) {
        if event.change != Change::Vanished {
            return;
        }
        let Qp { device, lqpn, rqpn, .. } = &event.qp;
        let device = Arc::clone(device);
        self.push(Gone { device, lqpn: *lqpn, rqpn: *rqpn, time: event.time });
    }

    /// Takes what a probe in the kernel saw: it knows of an end at once.
    pub fn note_destroyed(&mut self, failure: &QpFailure) {
        if failure.what == QpFailureKind::Destroyed {
            let device = Arc::clone(&failure.device);
            let rqpn = failure.settings.rqpn;
            self.push(Gone { device, lqpn: failure.lqpn, rqpn, time: failure.time });
        }
    }

    fn push(&mut self, gone: Gone) {
        if self.0.len() == MAX_GONE {
            self.0.pop_front();
        }
        self.0.push_back(gone);
    }

    /// What had become of the responder's queue pair, if it belongs to this host, too; `listed` are all queue
    /// pairs of this host. Numbers repeat from host to host: both must fit, and the requester's own queue pair
    /// must be another one.
    pub fn peer(&self, listed: &[Qp], connection: &Connection<'_>) -> PeerQp {
        let Connection { device, local_qp, peer_qp, time } = *connection;
        let is_pair = |lqpn: u32, rqpn: Option<u32>| lqpn == peer_qp && rqpn == Some(local_qp);
        let is_other = |other: &str| match device {
            Some(device) => device != other,
            // Without a name only the numbers tell the two ends apart.
            None => local_qp != peer_qp,
        };
        let was_gone = |gone: &Gone| {
            is_pair(gone.lqpn, gone.rqpn) && is_other(&gone.device) && gone.time <= time
        };
        if self.0.iter().any(was_gone) {
            return PeerQp::Gone;
        }
        let fitting = listed.iter().filter(|qp| is_pair(qp.lqpn, qp.rqpn) && is_other(&qp.device));
        match fitting.collect::<Vec<_>>()[..] {
            [qp] if qp.state == QpState::ERR && qp.state_since <= time => PeerQp::Failed,
            [qp] if qp.state != QpState::ERR && qp.missed == 0 => PeerQp::Alive,
            _ => PeerQp::NotKnown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::QpType;

    fn at(second: u64) -> Timestamp {
        Timestamp::from_nanos(second * 1_000_000_000)
    }

    fn qp(device: &str, lqpn: u32, rqpn: u32, state: QpState) -> Qp {
        Qp {
            device: device.into(),
            device_index: 0,
            port: Some(1),
            netdev: None,
            lqpn,
            rqpn: Some(rqpn),
            qp_type: QpType::RC,
            subtype: None,
            state,
            sq_psn: None,
            rq_psn: None,
            path_migration: None,
            task: None,
            owner: None,
            kernel_name: None,
            first_seen: at(0),
            state_since: at(0),
            missed: 0,
        }
    }

    fn connection(
        device: Option<&'static str>,
        local_qp: u32,
        peer_qp: u32,
    ) -> Connection<'static> {
        Connection { device, local_qp, peer_qp, time: at(100) }
    }

    #[test]
    fn a_peer_on_the_same_host_is_found_by_both_numbers() {
        let mut gone = GoneQps::default();
        let listed = [qp("rxa", 17, 18, QpState::ERR), qp("rxb", 18, 17, QpState::RTS)];
        let wanted = connection(Some("rxa"), 17, 18);
        assert_eq!(gone.peer(&listed, &wanted), PeerQp::Alive);
        assert_eq!(gone.peer(&listed[..1], &wanted), PeerQp::NotKnown);
        let vanished = qp("rxb", 18, 17, QpState::RTS);
        for (second, expected) in [(101, PeerQp::NotKnown), (100, PeerQp::Gone)] {
            gone.note(&QpEvent {
                time: at(second),
                change: Change::Vanished,
                qp: vanished.clone(),
            });
            assert_eq!(gone.peer(&listed[..1], &wanted), expected, "gone at {second}");
        }
    }

    #[test]
    fn an_error_that_follows_is_no_cause() {
        let gone = GoneQps::default();
        let mut peer = qp("rxb", 18, 17, QpState::ERR);
        for (second, expected) in [(100, PeerQp::Failed), (101, PeerQp::NotKnown)] {
            peer.state_since = at(second);
            let listed = [peer.clone()];
            assert_eq!(gone.peer(&listed, &connection(Some("rxa"), 17, 18)), expected);
        }
    }

    #[test]
    fn its_own_queue_pair_is_no_peer() {
        let gone = GoneQps::default();
        let own = [qp("rxa", 17, 17, QpState::ERR)];
        assert_eq!(gone.peer(&own, &connection(Some("rxa"), 17, 17)), PeerQp::NotKnown);
        assert_eq!(gone.peer(&own, &connection(None, 17, 17)), PeerQp::NotKnown);
        assert_eq!(gone.peer(&own, &connection(Some("rxb"), 17, 17)), PeerQp::Failed);
    }
}
