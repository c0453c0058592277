//! Which connection of a file an incident is about.

use std::collections::HashSet;
use std::net::IpAddr;
use std::time::Duration;

use super::Troubles;
use super::connection::{Connection, Connections};
use crate::capture::Timestamp;
use crate::diagnosis::Failure;

/// Finds connections by what error sources say of them.
#[derive(Debug)]
pub(super) struct Matching<'c, 'a> {
    connections: &'c Connections<'a>,
    troubles: &'c Troubles,
    hosts: HashSet<IpAddr>,
}

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Match {
    /// The one at this place.
    One(usize),
    /// The same, but it is its responder that failed.
    Other(usize),
    /// So many fit, and none of them more than the others.
    Several(usize),
    /// None.
    None,
}

/// What is known of one side.
#[derive(Clone, Copy, Debug)]
struct Side {
    ip: Option<IpAddr>,
    qp: Option<u32>,
}

/// How well a connection fits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Fit {
    qps: u8,
    is_troubled: bool,
    /// Its requests end where the failure is told of.
    ends_then: bool,
    hosts: u8,
}

/// Requests of a failed queue pair end at most so long before a program says so: the retries may all be lost on
/// the way to the tap.
const BEFORE: Duration = Duration::from_mins(1);
/// And at most so long after it, by clocks that are apart.
const AFTER: Duration = Duration::from_secs(1);

impl<'c, 'a> Matching<'c, 'a> {
    pub(super) fn new(connections: &'c Connections<'a>, troubles: &'c Troubles) -> Self {
        let ends = connections.all.iter().flat_map(|it| [it.requester, it.responder]);
        let hosts = ends.collect();
        Self { connections, troubles, hosts }
    }

    /// The connection that failed, as far as it can be told.
    ///
    /// QP numbers decide. Without one, the addresses must lead to one connection in trouble, to one that ends at
    /// that time, or to one alone.
    /// An address that is not in the file is none of the RDMA network: NCCL prints that of its TCP connection.
    pub(super) fn find(&self, failure: &Failure) -> Match {
        let side =
            |ip: Option<IpAddr>, qp| Side { ip: ip.filter(|ip| self.hosts.contains(ip)), qp };
        let local = side(failure.local_ip, failure.local_qp);
        let peer = side(failure.peer_ip, failure.peer_qp);
        let time = failure.time;
        match self.search(local, peer, time) {
            // The line may be one of the responder, which has no requests of its own.
            Match::None if local.qp.or(peer.qp).is_some() => match self.search(peer, local, time) {
                Match::One(index) => Match::Other(index),
                found => found,
            },
            found => found,
        }
    }

    fn search(&self, requester: Side, responder: Side, time: Option<Timestamp>) -> Match {
        let all = self.connections.all.iter().enumerate();
        let fitting = all.filter_map(|(index, connection)| {
            let hosts = agree(requester.ip, Some(connection.requester))?
                + agree(responder.ip, Some(connection.responder))?;
            let qps = agree(requester.qp, connection.requester_qp)?
                + agree(responder.qp, connection.responder_qp)?;
            let ends_then = self.ends_near(connection, time);
            let is_troubled = self.troubles.contains_key(&index);
            let fit = Fit { qps, is_troubled, ends_then, hosts };
            (qps + hosts > 0).then_some((fit, index))
        });
        let fitting: Vec<_> = fitting.collect();
        let Some((best, _)) = fitting.iter().max_by_key(|(fit, _)| *fit) else {
            return Match::None;
        };
        let mut found = fitting.iter().filter(|(fit, _)| fit == best).map(|(_, found)| *found);
        match (found.next(), found.count()) {
            (Some(found), 0) => Match::One(found),
            (Some(_), others) => Match::Several(others + 1),
            (None, _) => Match::None,
        }
    }

    fn ends_near(&self, connection: &Connection, time: Option<Timestamp>) -> bool {
        let last = connection.requests.and_then(|record| self.connections.last_seen(record));
        last.zip(time)
            .is_some_and(|(last, time)| time.since(last) <= BEFORE && last.since(time) <= AFTER)
    }
}

/// 1 when both are known and equal, 0 when one is not known; `None` when they contradict each other.
fn agree<T: PartialEq>(known: Option<T>, seen: Option<T>) -> Option<u8> {
    match (known, seen) {
        (Some(known), Some(seen)) => (known == seen).then_some(1),
        _ => Some(0),
    }
}
