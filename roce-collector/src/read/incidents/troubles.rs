//! Queue pairs that died or stand still, as far as the packets of a file show it.

use std::time::Duration;

use super::connection::{Connection, Connections};
use crate::capture::Timestamp;
use crate::diagnosis::MOST_RETRIES;
use crate::incident::{WireKind, WireTrouble};
use crate::read::{AfterAck, Climb, Refusals};
use crate::timeline::{Event, Recorder};

/// Tries without an answer before the end of a stream is more than its end.
const MIN_TRIES: u32 = 3;
/// A sender that is silent for so many times its longest pause between two tries has given up, ...
const SILENT_PAUSES: u32 = 4;
/// ... but not before this.
const MIN_SILENCE: Duration = Duration::from_secs(1);

/// The troubles of one connection, each kind once.
pub(super) fn troubles(connections: &Connections<'_>, connection: &Connection) -> Vec<WireTrouble> {
    let mut kinds = refusals(connections, connection);
    if kinds.is_empty() {
        kinds.extend(not_ready(connections, connection));
    }
    if kinds.is_empty() {
        kinds.extend(unanswered(connections, connection));
    }
    let trouble = |(time, kind): (Option<Timestamp>, WireKind)| WireTrouble {
        time: time.or(connections.reading.counts.first_time).unwrap_or(NO_TIME),
        device: None,
        requester: connection.requester,
        requester_qp: connection.requester_qp,
        responder: connection.responder,
        responder_qp: connection.responder_qp,
        kind,
    };
    kinds.into_iter().map(trouble).collect()
}

/// Stands for the time of what a file without times shows.
pub(super) const NO_TIME: Timestamp = Timestamp::from_nanos(0);

type Found = (Option<Timestamp>, WireKind);

/// NAKs after which a queue pair is in error, IBTA 9.9.2: one of each code, the first.
fn refusals(connections: &Connections<'_>, connection: &Connection) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    let recorders = connection.answers.iter().filter_map(|&record| connections.recorder(record));
    for (moment, event) in recorders.flat_map(Recorder::events) {
        let Event::Nak { code, psn } = event else { continue };
        let is_known = |(_, kind): &Found| matches!(kind, WireKind::FatalNak { code: known, .. } if *known == code);
        if code != "psn_sequence_error" && !found.iter().any(is_known) {
            found.push((moment.time, WireKind::FatalNak { code, psn }));
        }
    }
    found
}

/// The receiver was not ready, and the sender did not ask again.
fn not_ready(connections: &Connections<'_>, connection: &Connection) -> Option<Found> {
    let refused = |&record: &usize| Some((record, connections.notes(record)?.refusals()?));
    let (record, refusals) = connection.answers.iter().find_map(refused)?;
    let Refusals { psn, count, last, wait } = refusals;
    let has_other_answer = connections.recorder(record)?.last_moment() > Some(last);
    let asked = connection.requests.and_then(|record| connections.recorder(record)?.last_moment());
    if has_other_answer || asked.is_some_and(|asked| asked.frame > last.frame) {
        return None;
    }
    let refusals = u32::try_from(count).unwrap_or(u32::MAX);
    let is_over = match last.time {
        Some(time) => has_ended(connections, connection, time, wait),
        None => false,
    };
    // Where the file ends with it, the sender may go on: the standard has a counter for "for ever".
    let is_end = is_over || refusals >= MIN_TRIES;
    is_end.then_some((last.time, WireKind::NotReady { psn: psn.get(), refusals }))
}

/// Requests were sent again and again without an answer, or although they had been answered.
fn unanswered(connections: &Connections<'_>, connection: &Connection) -> Option<Found> {
    let requests = connection.requests?;
    let notes = connections.notes(requests)?;
    let climb = notes.ladder().filter(|climb| is_open(climb, connection)).map(Tries::from);
    let again = notes.after_ack().filter(|again| !again.went_on).map(Tries::from);
    let tries = climb.into_iter().chain(again).max_by_key(|tries| tries.count)?;
    if tries.count < MIN_TRIES {
        return None;
    }
    let last = tries.last?;
    let seen = connections.last_seen(requests).filter(|_| tries.ended.is_none()).unwrap_or(last);
    let end = tries.ended.or_else(|| connections.closed_after(connection, last));
    let is_closed = end.is_some_and(|end| end >= seen);
    let end = end.filter(|_| is_closed).or(connections.reading.counts.last_time);
    let silence = end.map_or(Duration::ZERO, |end| end.since(seen));
    let patience = (tries.pause * SILENT_PAUSES).max(MIN_SILENCE);
    let psn = tries.psn;
    let kind = if !is_closed && silence < patience && tries.count > MOST_RETRIES {
        let age = tries.first.map_or(Duration::ZERO, |first| last.since(first));
        WireKind::Stalled { psn, tries: tries.count, age }
    } else if !connections.sees_answers(connection) {
        return None; // The last try may have had its answer.
    } else if is_closed || silence >= patience || tries.pause > Duration::ZERO {
        WireKind::GaveUp { psn, tries: tries.count, silence }
    } else {
        return None;
    };
    Some((Some(last), kind))
}

/// Whether nobody answered, as far as the tap can tell: where it sees no answers at all, new PSNs after the
/// last try say that there was one.
fn is_open(climb: &Climb, connection: &Connection) -> bool {
    let seems_answered = climb.went_on && connection.answers.is_empty();
    !climb.was_answered && !seems_answered
}

/// Whether the connection was over after `last`: by a message of the connection manager, or by a silence of
/// many times `pause`.
fn has_ended(
    connections: &Connections<'_>,
    connection: &Connection,
    last: Timestamp,
    pause: Duration,
) -> bool {
    let patience = (pause * SILENT_PAUSES).max(MIN_SILENCE);
    let silence = connections.reading.counts.last_time.map(|end| end.since(last));
    connections.closed_after(connection, last).is_some()
        || silence.is_some_and(|silence| silence >= patience)
}

/// Tries of one PSN.
struct Tries {
    psn: u32,
    count: u32,
    first: Option<Timestamp>,
    last: Option<Timestamp>,
    /// The longest silence before one.
    pause: Duration,
    /// When the connection ended, where a new one followed.
    ended: Option<Timestamp>,
}

impl From<Climb> for Tries {
    fn from(climb: Climb) -> Self {
        Self {
            psn: climb.psn.get(),
            count: climb.tries,
            first: climb.first_try,
            last: climb.last_try,
            pause: climb.longest_silence,
            ended: climb.ended,
        }
    }
}

impl From<AfterAck> for Tries {
    fn from(again: AfterAck) -> Self {
        Self {
            psn: again.psn.get(),
            count: again.rewinds,
            first: again.first,
            last: again.last,
            pause: again.longest_silence,
            ended: None,
        }
    }
}
