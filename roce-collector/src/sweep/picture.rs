//! What the taps saw of connections that are in trouble, as the rules of diagnosis want it.

mod neighbours;
mod story;

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::time::Duration;

use roce_common::flow::{PsnSpace, opcode_of_index};
use roce_common::sequence::RetryLadder;
use roce_common::wire::{Opcode, Operation, Transport};

use super::history::{HISTORY_SECONDS, Second};
use super::records::SeenRecord;
use super::{Moment, Sweeper};
use crate::capture::Timestamp;
use crate::diagnosis::{Answers, Failure, Ladder, Payload, Place, Requests, Sight, TapSight};
use crate::flow::{NakReport, SequenceReport};
use crate::timeline::{Event, RewindCause};

/// A record that is new in the first sweeps may be older than the collector.
const START_SECONDS: u32 = 2;

/// The records between pairs of hosts, by sender and receiver. One look at all records serves many
/// incidents.
#[derive(Debug)]
pub struct Picture<'a> {
    sweeper: &'a Sweeper,
    devices: &'a [String],
    now: Moment,
    records: HashMap<(IpAddr, IpAddr), Vec<SeenRecord<'a>>>,
    /// Hosts that send out of these interfaces.
    senders: HashSet<(u8, IpAddr)>,
}

impl Sweeper {
    /// The records of all hosts that `failures` name; of all hosts, where one names none.
    pub fn picture<'a>(
        &'a self,
        failures: &[Failure],
        devices: &'a [String],
        now: Moment,
    ) -> Picture<'a> {
        let wanted: Option<HashSet<IpAddr>> =
            failures.iter().map(|failure| failure.peer_ip.or(failure.local_ip)).collect();
        let is_wanted = |record: &SeenRecord<'_>| {
            wanted.as_ref().is_none_or(|hosts| {
                hosts.contains(&record.id.src) || hosts.contains(&record.id.dst)
            })
        };
        let mut picture = Picture {
            sweeper: self,
            devices,
            now,
            records: HashMap::new(),
            senders: HashSet::new(),
        };
        for record in self.seen_records() {
            if record.id.tap % 2 == 1 {
                picture.senders.insert((record.id.tap / 2, record.id.src));
            }
            if is_wanted(&record) {
                picture.records.entry((record.id.src, record.id.dst)).or_default().push(record);
            }
        }
        picture
    }
}

impl Picture<'_> {
    /// Fills in the ends of a failure that its sources do not name and packets do.
    pub fn locate(&self, failure: &mut Failure) {
        let requests = self.records.values().flatten().filter(|record| is_request(record));
        let fitting = requests.filter_map(|record| Some((self.fit(record, failure)?, record)));
        let best = fitting.max_by_key(|(fit, record)| (*fit, record.last_seen));
        let Some((_, record)) = best else { return };
        failure.local_ip = Some(record.id.src);
        failure.peer_ip = Some(record.id.dst);
        failure.local_qp = failure.local_qp.or(record.totals.peer_qp);
        failure.peer_qp = Some(record.id.dst_qp);
    }

    /// How well requests fit what is known of a failure; `None` when they contradict it, or nothing ties
    /// them to it. QP numbers are worth more than addresses, and those more than trouble at the time.
    fn fit(&self, record: &SeenRecord<'_>, failure: &Failure) -> Option<u32> {
        let agree = |known: Option<u32>, seen: Option<u32>, worth: u32| match (known, seen) {
            (Some(known), Some(seen)) if known != seen => None,
            (Some(_), Some(_)) => Some(worth),
            _ => Some(0),
        };
        let agree_on_host = |known: Option<IpAddr>, seen: IpAddr| match known {
            Some(known) if known != seen => None,
            Some(_) => Some(4),
            None => Some(0),
        };
        let by_qp = agree(failure.peer_qp, Some(record.id.dst_qp), 16)?
            + agree(failure.local_qp, record.totals.peer_qp, 16)?;
        let by_host = agree_on_host(failure.local_ip, record.id.src)?
            + agree_on_host(failure.peer_ip, record.id.dst)?;
        let by_trouble = u32::from(self.ladder(record).is_some_and(|ladder| !ladder.was_answered))
            * 2
            + u32::from(self.seconds(record).any(Second::is_troubled));
        let is_tied = by_qp > 0 || (by_host > 0 && by_trouble > 0);
        is_tied.then_some(by_qp + by_host + by_trouble)
    }

    /// What every tap saw of the connection.
    pub fn sight(&self, failure: &Failure) -> Sight {
        let (Some(requester), Some(responder)) = (failure.local_ip, failure.peer_ip) else {
            return Sight::NotFound;
        };
        let requests: Vec<_> = self
            .between(requester, responder)
            .filter(|record| is_request(record) && is_of(record, failure))
            .collect();
        let requester_qp =
            failure.local_qp.or_else(|| requests.iter().find_map(|record| record.totals.peer_qp));
        let back: Vec<_> = self
            .between(responder, requester)
            .filter(|record| Some(record.id.dst_qp) == requester_qp)
            .collect();
        let mut taps = Vec::new();
        for device in 0..self.devices.len() as u8 {
            for tap in [device * 2, device * 2 + 1] {
                let asked = requests.iter().find(|record| record.id.tap == tap);
                let other = |record: &&&SeenRecord<'_>| record.id.tap / 2 == device;
                let answers: Vec<_> = back.iter().filter(other).copied().collect();
                // Answers alone are told once for a device, with its first direction.
                let has_requests = requests.iter().any(|record| record.id.tap / 2 == device);
                if asked.is_none() && (has_requests || answers.is_empty() || tap % 2 == 1) {
                    continue;
                }
                taps.push(self.tap_sight(tap, asked.copied(), &answers, requester, responder));
            }
        }
        if taps.is_empty() { Sight::NotFound } else { Sight::Seen(taps) }
    }

    fn tap_sight(
        &self,
        tap: u8,
        asked: Option<&SeenRecord<'_>>,
        back: &[&SeenRecord<'_>],
        requester: IpAddr,
        responder: IpAddr,
    ) -> TapSight {
        let device = tap / 2;
        let sends = |host| self.senders.contains(&(device, host));
        let is_egress = asked.map(|record| record.id.tap % 2 == 1);
        let place = if is_egress.unwrap_or_else(|| sends(requester)) {
            Place::AtRequester
        } else if sends(responder) {
            Place::AtResponder
        } else {
            Place::OnTheWay
        };
        let direction = if tap.is_multiple_of(2) { "ingress" } else { "egress" };
        let name = self.devices.get(usize::from(device)).map_or("", String::as_str);
        let is_cnp = |record: &&&SeenRecord<'_>| record.tag.transport() == Transport::Cnp;
        let cnps =
            back.iter().filter(is_cnp).map(|record| self.sum(record, |second| second.packets));
        let cnps = cnps.sum();
        let notified = back
            .iter()
            .filter(is_cnp)
            .filter_map(|record| self.latest(record, |second| second.packets));
        let last_notified = notified.max();
        let answers: Vec<_> =
            back.iter().filter(|record| !is_cnp(record) && !is_request(record)).copied().collect();
        TapSight {
            tap: if asked.is_some() { format!("{name} {direction}") } else { name.to_owned() },
            place,
            requests: asked.map(|record| {
                let requests = self.requests(record);
                let last_congestion = requests.last_congestion.max(last_notified);
                Requests { cnps, last_congestion, ..requests }
            }),
            rejected: None,
            answers: (!answers.is_empty()).then(|| self.answers(asked, &answers)),
        }
    }

    fn requests(&self, record: &SeenRecord<'_>) -> Requests {
        let totals = record.totals;
        let [not_ect, ect1, ect0, _] = totals.ecn;
        Requests {
            packets: totals.packets,
            last_seen: Some(record.last_seen),
            sequence: totals.sequence.map(|totals| self.sequence(record, &totals)),
            ladder: self.ladder(record),
            rewinds_after_ack: self.rewinds_after_ack(record),
            ecn: [not_ect, ect1, ect0, self.sum(record, |second| second.ce)],
            dscp: totals.dscp.clone(),
            wrong_dscp: totals.wrong_dscp,
            cnps: 0,
            payload: self.payload(record),
            last_congestion: self.latest(record, |second| second.ce),
            was_disconnected: false,
            is_from_start: self.is_from_start(record),
        }
    }

    fn answers(&self, asked: Option<&SeenRecord<'_>>, records: &[&SeenRecord<'_>]) -> Answers {
        let naks = records.iter().fold([0; roce_common::tap::NAK_COUNTERS], |mut sum, record| {
            for (sum, naks) in sum.iter_mut().zip(record.totals.naks) {
                *sum += naks;
            }
            sum
        });
        let is_unanswered = |record: &SeenRecord<'_>| {
            record.sees_answers && self.ladder(record).is_some_and(|ladder| !ladder.was_answered)
        };
        Answers {
            packets: records.iter().map(|record| record.totals.packets).sum(),
            last_seen: records.iter().map(|record| record.last_seen).max(),
            naks: Some(NakReport::of_counters(&naks)),
            rnr_naks: Some(naks[usize::from(roce_common::tap::NAK_RNR)]),
            rnr_in_a_row: asked.map_or(0, |record| self.refusals_in_a_row(record)),
            rnr_timer_ms: records.iter().find_map(|record| record.totals.rnr_timer_ms()),
            // The engine forgets the ladder with the first answer that covers its PSN.
            since_ladder: asked.is_some_and(is_unanswered).then_some(0),
        }
    }

    /// The PSNs of the last two minutes; all that the record ever had, where it has no history.
    fn sequence(&self, record: &SeenRecord<'_>, totals: &SequenceReport) -> SequenceReport {
        if self.seconds(record).next().is_none() {
            return *totals;
        }
        let mut report = SequenceReport { open: totals.open, ..SequenceReport::default() };
        for second in self.seconds(record) {
            for (sum, count) in [
                (&mut report.lost, second.lost),
                (&mut report.recovered, second.recovered),
                (&mut report.unseen, second.unseen),
                (&mut report.reordered, second.reordered),
                (&mut report.retransmitted, second.retransmitted),
                (&mut report.go_back_n_episodes, second.go_back_n_episodes),
                (&mut report.timeouts, second.timeouts),
            ] {
                *sum += u64::from(count);
            }
        }
        report
    }

    fn ladder(&self, record: &SeenRecord<'_>) -> Option<Ladder> {
        let side = record.totals.side.as_deref()?;
        let was_answered = side.ladder.is_none();
        let ladder = side.ladder.or(side.longest_ladder)?;
        let age = ladder_age(&ladder, self.now);
        // Of an old one nobody knows whether the clock has gone round since.
        let is_recent = age < Duration::from_secs(HISTORY_SECONDS.into());
        let first_try = earlier(self.now.wall, age);
        // Nothing comes after the last try.
        let lasted = first_try.map(|first| record.last_seen.since(first));
        (!was_answered || is_recent).then(|| Ladder {
            psn: ladder.psn.get(),
            tries: ladder.tries,
            first_try,
            age: lasted.filter(|_| !was_answered),
            longest_silence: Duration::from_micros(ladder.longest_silence_us.into()),
            was_answered,
        })
    }

    /// Sizes before what the ladder repeats was sent first, and on the ladder. Averages: exact where all packets
    /// are alike. `None` where packets that fill the path MTU were acknowledged before.
    fn payload(&self, record: &SeenRecord<'_>) -> Option<Payload> {
        let totals = record.totals;
        let ladder = totals.side.as_deref()?.ladder?;
        let unanswered = totals.highest_psn?.distance_from(ladder.psn).max(0).cast_unsigned() + 1;
        let repeated = totals.sequence?.retransmitted;
        if full_packets(record) > repeated + u64::from(unanswered) {
            return None;
        }
        let silence = Duration::from_micros(ladder.longest_silence_us.into());
        let age = ladder_age(&ladder, self.now) + silence;
        // A sweep ends the second that it counts.
        let sent = self.now.uptime.saturating_sub(age).as_secs() as u32;
        let sound = |second: &&Second| second.at <= sent && !second.is_troubled();
        let passed = self.seconds(record).filter(sound).filter_map(Second::mean_payload).max()?;
        let stuck = self.seconds(record).filter(|second| second.at > sent);
        let (packets, bytes) = stuck.fold((0, 0), |(packets, bytes), second| {
            (
                packets + u64::from(second.retransmitted),
                bytes + u64::from(second.retransmitted_bytes),
            )
        });
        let repeated = u32::try_from(bytes.checked_div(packets)?).ok()?;
        Some(Payload { passed, repeated })
    }

    /// The latest rewinds, as far as all of them are in vain.
    fn rewinds_after_ack(&self, record: &SeenRecord<'_>) -> u32 {
        let is_vain = |event: &&Event| {
            matches!(
                event,
                Event::Rewind { cause: RewindCause::Timeout { .. }, was_acknowledged: true, .. }
            )
        };
        let story = self.sweeper.stories.of_record(&record.id, record.tag.space());
        story.rev().take_while(is_vain).count() as u32
    }

    /// RNR NAKs in a row, with nothing but the retries that they ask for in between.
    fn refusals_in_a_row(&self, record: &SeenRecord<'_>) -> u64 {
        let story = self.sweeper.stories.of_record(&record.id, record.tag.space());
        let refusals = story.rev().map_while(|event| match event {
            Event::RnrNak { .. } => Some(1),
            // Some responders refuse the rest of the same message once more.
            Event::Rewind { cause: RewindCause::Rnr { .. }, .. }
            | Event::Nak { code: "psn_sequence_error", .. } => Some(0),
            _ => None,
        });
        refusals.sum()
    }

    fn between(&self, from: IpAddr, to: IpAddr) -> impl Iterator<Item = &SeenRecord<'_>> + Clone {
        self.records.get(&(from, to)).into_iter().flatten()
    }

    fn seconds(&self, record: &SeenRecord<'_>) -> impl Iterator<Item = &Second> {
        let from = self.now.seconds().saturating_sub(HISTORY_SECONDS);
        self.sweeper.histories.of(record.history).filter(move |second| second.at >= from)
    }

    fn sum(&self, record: &SeenRecord<'_>, counter: impl Fn(&Second) -> u32) -> u64 {
        self.seconds(record).map(|second| u64::from(counter(second))).sum()
    }

    /// The latest second in which something was counted.
    fn latest(
        &self,
        record: &SeenRecord<'_>,
        counter: impl Fn(&Second) -> u32,
    ) -> Option<Timestamp> {
        let at = self.seconds(record).filter(|second| counter(second) > 0).last()?.at;
        let age = Duration::from_secs(self.now.seconds().saturating_sub(at).into());
        earlier(self.now.wall, age)
    }

    /// Whether its history goes back to its first packet, and that came after the start of the collector.
    fn is_from_start(&self, record: &SeenRecord<'_>) -> bool {
        let starts_late = self.seconds(record).next().is_some_and(|first| first.at > START_SECONDS);
        starts_late && self.sum(record, |second| second.packets) == record.totals.packets
    }
}

fn is_request(record: &SeenRecord<'_>) -> bool {
    record.tag.space() == PsnSpace::Request && record.tag.transport() != Transport::Cnp
}

/// Whether requests go to the responder's QP, or come from the requester's where that alone is known.
fn is_of(record: &SeenRecord<'_>, failure: &Failure) -> bool {
    match (failure.peer_qp, failure.local_qp) {
        (Some(peer_qp), _) => record.id.dst_qp == peer_qp,
        (None, local_qp) => local_qp.is_some() && record.totals.peer_qp == local_qp,
    }
}

/// Packets that fill the path MTU, whatever that is: others of their message follow.
fn full_packets(record: &SeenRecord<'_>) -> u64 {
    let is_full = |index| {
        let operation = opcode_of_index(index, record.tag).map(Opcode::operation);
        operation.is_some_and(|operation| {
            matches!(
                operation,
                Operation::SendFirst
                    | Operation::SendMiddle
                    | Operation::RdmaWriteFirst
                    | Operation::RdmaWriteMiddle
            )
        })
    };
    let counters = record.totals.opcodes.iter().enumerate();
    counters.filter(|(index, _)| is_full(*index)).map(|(_, packets)| packets).sum()
}

/// Since the first try of a ladder; the kernel counts wrapping microseconds since boot.
pub(super) fn ladder_age(ladder: &RetryLadder, now: Moment) -> Duration {
    let now_us = (now.boot_ns / 1000) as u32;
    Duration::from_micros(now_us.wrapping_sub(ladder.first_try_us).into())
}

fn earlier(time: Timestamp, by: Duration) -> Option<Timestamp> {
    Some(Timestamp::from_nanos(time.as_nanos().checked_sub(by.as_nanos() as u64)?))
}
