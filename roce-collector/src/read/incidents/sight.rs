//! What the tap of a file saw of one connection, as the rules want it.

use std::time::Duration;

use roce_common::tap::{NAK_COUNTERS, NAK_RNR};

use super::Tap;
use super::connection::{Connection, Connections};
use crate::capture::Timestamp;
use crate::diagnosis::{Answers, Ladder, Neighbours, Payload, Place, Requests, TapSight, Traffic};
use crate::flow::{NakReport, RecordTotals};
use crate::read::{Climb, Notes};
use crate::timeline::{Event, Recorder};

/// A connection whose first packet comes so long after that of the tap began in its sight.
const START: Duration = Duration::from_secs(2);

impl Connections<'_> {
    /// What `tap` saw of a connection.
    pub(super) fn sight(&self, connection: &Connection, tap: Tap<'_>) -> TapSight {
        let place =
            match [connection.requester, connection.responder].map(|ip| tap.hosts.contains(&ip)) {
                [true, false] => Place::AtRequester,
                [false, true] => Place::AtResponder,
                _ => Place::OnTheWay,
            };
        TapSight {
            tap: tap.name.to_owned(),
            place,
            requests: connection.requests.map(|record| self.requests(connection, record)),
            answers: self.answers(connection),
            rejected: self.messages(connection).iter().find_map(|message| match message.event {
                Event::Reject { reason } => Some(reason),
                _ => None,
            }),
        }
    }

    fn requests(&self, connection: &Connection, record: usize) -> Requests {
        let totals = self.totals(record);
        let ladder = self.ladder(record);
        let after_ack = self.notes(record).and_then(Notes::after_ack);
        let notifications = connection.notifications.iter();
        let told = notifications.clone().map(|&record| self.totals(record).packets).sum();
        let marked = self.recorder(record).and_then(last_congestion);
        let notified = notifications.filter_map(|&record| last_congestion(self.recorder(record)?));
        Requests {
            packets: totals.packets,
            last_seen: self.last_seen(record),
            sequence: totals.sequence,
            ladder: ladder.map(|climb| as_ladder(&climb)),
            rewinds_after_ack: after_ack.filter(|again| !again.went_on).map_or(0, |it| it.rewinds),
            ecn: totals.ecn,
            dscp: totals.dscp.clone(),
            wrong_dscp: totals.wrong_dscp,
            cnps: told,
            last_congestion: marked.into_iter().chain(notified).max(),
            payload: ladder.filter(|climb| !climb.was_answered).and_then(|climb| {
                let (repeated, passed) = climb.payload?;
                Some(Payload { passed, repeated })
            }),
            was_disconnected: self.was_disconnected(connection, ladder.as_ref()),
            // Where no answer can be seen, "never answered" cannot be said.
            is_from_start: self.sees_answers(connection) && self.is_from_start(connection, record),
        }
    }

    /// The ladder of a PSN to which an answer is due.
    fn ladder(&self, record: usize) -> Option<Climb> {
        self.notes(record)?.ladder().filter(|climb| !climb.is_behind_gap)
    }

    fn answers(&self, connection: &Connection) -> Option<Answers> {
        let records = &connection.answers;
        if records.is_empty() {
            return None;
        }
        let totals = || records.iter().map(|&record| self.totals(record));
        let packets = totals().map(|totals| totals.packets).sum();
        let naks = totals().fold([0; NAK_COUNTERS], |mut sum, totals| {
            sum.iter_mut().zip(totals.naks).for_each(|(sum, naks)| *sum += naks);
            sum
        });
        let is_whole = self.reading.counts.without_syndrome == 0;
        let before = connection.requests.and_then(|record| {
            let climb = self.ladder(record)?;
            Some(climb.answers_before.unwrap_or(0))
        });
        let refusals = records.iter().find_map(|&record| {
            let refusals = self.notes(record)?.refusals()?;
            let is_last = self.recorder(record)?.last_moment() <= Some(refusals.last);
            is_last.then_some(refusals.count)
        });
        Some(Answers {
            packets,
            last_seen: self.last_answer(connection),
            naks: is_whole.then(|| NakReport::of_counters(&naks)),
            rnr_naks: is_whole.then_some(naks[usize::from(NAK_RNR)]),
            rnr_in_a_row: refusals.unwrap_or(0),
            rnr_timer_ms: totals().find_map(RecordTotals::rnr_timer_ms),
            since_ladder: before.map(|before| packets.saturating_sub(before)),
        })
    }

    /// Whether the responder was seen to end the connection before the requester began to try again.
    fn was_disconnected(&self, connection: &Connection, ladder: Option<&Climb>) -> bool {
        let first_try = ladder.and_then(|climb| climb.first_try);
        let ended = self.messages(connection).into_iter().find(|message| match message.event {
            Event::DisconnectRequest { .. } => message.sender == connection.responder,
            Event::DisconnectReply => true,
            _ => false,
        });
        let ended = ended.map(|message| message.moment.time);
        ended.is_some_and(|ended| first_try.is_none_or(|first| ended < Some(first)))
    }

    fn is_from_start(&self, connection: &Connection, record: usize) -> bool {
        let is_begin = |event: &Event| {
            matches!(event, Event::ConnectRequest { .. } | Event::ConnectReply { .. })
        };
        let first = self.recorder(record).and_then(|recorder| recorder.first_moment()?.time);
        let start = self.reading.counts.first_time;
        self.messages(connection).iter().any(|message| is_begin(&message.event))
            || first.zip(start).is_some_and(|(first, start)| first.since(start) >= START)
    }

    /// Other connections of the same hosts, since the trouble of this one began at `since`.
    pub(super) fn neighbours(
        &self,
        connection: &Connection,
        since: Option<Timestamp>,
    ) -> Neighbours {
        let mut neighbours = Neighbours::default();
        for other in self.between(connection.requester, connection.responder) {
            let Some(record) = other.requests else { continue };
            let totals = self.totals(record);
            add_traffic(&mut neighbours, totals);
            let asked = self.last_seen(record);
            if other == connection || asked < since {
                continue;
            }
            neighbours.to_peer += 1;
            let is_open = || {
                let climb = self.ladder(record);
                climb.is_some_and(|climb| !climb.was_answered)
            };
            if self.last_answer(other).is_some_and(|answered| Some(answered) >= since) {
                neighbours.answered += 1;
            } else if is_open() {
                neighbours.unanswered += 1;
            }
        }
        neighbours
    }
}

fn as_ladder(climb: &Climb) -> Ladder {
    Ladder {
        psn: climb.psn.get(),
        tries: climb.tries,
        first_try: climb.first_try,
        age: climb.first_try.zip(climb.last_try).map(|(first, last)| last.since(first)),
        longest_silence: climb.longest_silence,
        was_answered: climb.was_answered,
    }
}

/// When the last CE mark or congestion notification of a record was seen.
fn last_congestion(recorder: &Recorder) -> Option<Timestamp> {
    let congestion = recorder.events().filter_map(|(moment, event)| match event {
        Event::CeMarks { during_us, .. } | Event::Cnp { during_us, .. } => {
            let start = moment.time?.as_nanos();
            Some(Timestamp::from_nanos(start + during_us.unwrap_or(0) * 1000))
        }
        _ => None,
    });
    congestion.max()
}

/// Losses of a record whose packets are marked both ways belong to neither: nobody knows which were lost.
fn add_traffic(neighbours: &mut Neighbours, totals: &RecordTotals) {
    let wrong = totals.wrong_dscp.min(totals.packets);
    let right = totals.packets - wrong;
    neighbours.wrongly_marked.packets += wrong;
    neighbours.rightly_marked.packets += right;
    let Some(sequence) = totals.sequence else { return };
    let losses = Traffic { packets: 0, lost: sequence.lost, retransmitted: sequence.retransmitted };
    match (right, wrong) {
        (_, 0) => add(&mut neighbours.rightly_marked, losses),
        (0, _) => add(&mut neighbours.wrongly_marked, losses),
        _ => {}
    }
}

fn add(sum: &mut Traffic, traffic: Traffic) {
    sum.packets += traffic.packets;
    sum.lost += traffic.lost;
    sum.retransmitted += traffic.retransmitted;
}
