//! From a failure and the connection that it is of to an incident.

use std::time::Duration;

use super::connection::Connection;
use super::matching::{Match, Matching};
use super::troubles::NO_TIME;
use super::{Scene, Told};
use crate::capture::Timestamp;
use crate::diagnosis::{Case, Evidence, Failure, Neighbours, Outcome, Sight, diagnose};
use crate::incident::{Group, Incident, TimelineEntry, WireKind, WireTrouble};
use crate::timeline::{self, Line, fold};

/// Lines of the connection's time line in an incident: of its beginning and of its end.
const FIRST: usize = 4;
const LAST: usize = 16;

impl Scene<'_> {
    /// The incident that a group is told as, and the connection that it is of.
    pub(super) fn incident(&self, matching: &Matching<'_, '_>, group: &Group) -> Told {
        let mut failure = group.failure();
        failure.time = failure.time.filter(|time| *time != NO_TIME);
        let is_in_time = self.span.is_none_or(|span| span.may_have(failure.time));
        let found = if is_in_time { matching.find(&failure) } else { Match::None };
        let index = match found {
            Match::One(index) | Match::Other(index) => Some(index),
            Match::Several(_) | Match::None => None,
        };
        let connection = index.map(|index| &self.connections.all[index]);
        let trouble = index.and_then(|index| self.troubles.get(&index)?.first());
        let (sight, neighbours) = match connection {
            Some(connection) => {
                complete(&mut failure, connection, matches!(found, Match::Other(_)));
                let since = self.trouble_of(connection).or(failure.time);
                let sight = self.connections.sight(connection, self.tap);
                (Sight::Seen(vec![sight]), self.connections.neighbours(connection, since))
            }
            None if is_in_time => (Sight::NotFound, Neighbours::default()),
            None => (Sight::NotLooked, Neighbours::default()),
        };
        let case = Case { failure, sight, neighbours, facts: self.facts.clone() };
        let mut diagnosis = diagnose(&case);
        diagnosis.finding.evidence.extend(what_was_found(&found, is_in_time));
        let end = connection.zip(trouble).and_then(|(it, trouble)| self.end_of(it, trouble));
        diagnosis.finding.evidence.extend(end);
        let deaf = connection.filter(|connection| !self.connections.sees_answers(connection));
        diagnosis.finding.evidence.extend(deaf.map(|connection| {
            let Connection { requester, responder, .. } = connection;
            Evidence::new(
                "not seen",
                format!("anything from {responder} to {requester}: answers may be there"),
            )
        }));
        let story = connection.map_or_else(Vec::new, |connection| self.story(connection));
        let mut incident = Incident::of(group, &case, &diagnosis, story);
        if connection.is_some() {
            // Programs may name addresses of another network.
            (incident.local.ip, incident.peer.ip) = (case.failure.local_ip, case.failure.peer_ip);
        }
        // An answered ladder is one of before the trouble in which the file ends.
        if incident.outcome == Outcome::Recovered && trouble.is_some() {
            incident.outcome = Outcome::Unknown;
        }
        (incident, index)
    }

    /// When the trouble of a connection began.
    fn trouble_of(&self, connection: &Connection) -> Option<Timestamp> {
        let climb = self.connections.notes(connection.requests?)?.ladder()?;
        climb.first_try
    }

    /// What came after the last try of a connection that gave up, or may have.
    fn end_of(&self, connection: &Connection, trouble: &WireTrouble) -> Option<Evidence> {
        let last = trouble.time;
        let what = match trouble.kind {
            WireKind::GaveUp { .. } => "after the last try",
            WireKind::NotReady { .. } => "after the last RNR NAK",
            WireKind::Stalled { .. } | WireKind::FatalNak { .. } => return None,
        };
        let value = if let Some(closed) = self.connections.closed_after(connection, last) {
            format!("the connection was ended (CM DREQ) {} later", words(closed.since(last)))
        } else {
            match self.span.map(|span| span.last.since(last)) {
                None => "nothing".to_owned(),
                Some(Duration::ZERO) => {
                    "the capture ends: whether it went on is not known".to_owned()
                }
                Some(silence) => {
                    format!("nothing for {}, to the end of the capture", words(silence))
                }
            }
        };
        Some(Evidence::new(what, value))
    }

    /// What happened to a connection, in short.
    fn story(&self, connection: &Connection) -> Vec<TimelineEntry> {
        let entries = self.connections.timeline(connection);
        let mut time = None;
        let lines = fold(&entries, FIRST, LAST);
        let told = lines.into_iter().map(|line| {
            let what = match line {
                Line::Entry(entry) => {
                    time = entry.t;
                    format!("{} to QP {:#x}: {}", entry.src, entry.dst_qp, entry.what)
                }
                Line::Like { period: 1, entries } => format!("... {entries} more like this ..."),
                Line::Like { period, entries } => {
                    format!("... {entries} more like the last {period} ...")
                }
                Line::Omitted(entries) => format!("... {entries} entries left out ..."),
            };
            TimelineEntry { t: time, what }
        });
        told.collect()
    }
}

fn words(duration: Duration) -> String {
    timeline::duration(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX))
}

/// What packets say of both ends, where error sources do not.
fn complete(failure: &mut Failure, connection: &Connection, is_of_responder: bool) {
    let mut near = (connection.requester, connection.requester_qp);
    let mut far = (connection.responder, connection.responder_qp);
    if is_of_responder {
        std::mem::swap(&mut near, &mut far);
    }
    (failure.local_ip, failure.peer_ip) = (Some(near.0), Some(far.0));
    failure.local_qp = failure.local_qp.or(near.1);
    failure.peer_qp = failure.peer_qp.or(far.1);
}

/// Why no packets are shown, where that needs words.
fn what_was_found(found: &Match, is_in_time: bool) -> Option<Evidence> {
    let why = match found {
        Match::One(_) | Match::Other(_) => return None,
        Match::Several(count) => {
            format!(
                "{count} connections fit what is known of this one; a QP number would tell which"
            )
        }
        Match::None if is_in_time => "none of this queue pair in the file".to_owned(),
        Match::None => "not of the time of the file".to_owned(),
    };
    Some(Evidence::new("packets", why))
}
