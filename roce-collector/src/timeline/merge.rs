//! The stories of a pair in one line of time.

use std::collections::HashSet;
use std::net::IpAddr;

use roce_common::flow::PsnSpace;
use serde::Serialize;

use super::{Event, Moment, Packet, Recorder, RewindCause};
use crate::capture::Timestamp;

/// A silence at the end is mentioned from here on, in microseconds.
const LONG: u64 = 1_000_000;

/// Something that happened, as it stands in JSON: `t`, `src`, `dst_qp`, `frame`, `what` in words, and
/// the `kind` with its figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// When; `null` where the tap gave no time.
    pub t: Option<Timestamp>,
    /// Number of the frame, from 1.
    pub frame: u64,
    /// Who sent the packet that showed it.
    pub src: IpAddr,
    /// The QP to which it went.
    pub dst_qp: u32,
    /// In words.
    pub what: String,
    /// In figures.
    #[serde(flatten)]
    pub event: Event,
}

/// One record's part of the story.
#[derive(Clone, Copy, Debug)]
pub struct Story<'a> {
    /// Who sent its packets.
    pub src: IpAddr,
    /// Where they went.
    pub dst_qp: u32,
    /// Requests, or what answers those of the other direction.
    pub space: PsnSpace,
    /// Congestion notifications have a record of their own, and no PSNs.
    pub is_cnp: bool,
    /// What was written down.
    pub recorder: &'a Recorder,
}

/// The entries of all `stories`, in order, with what can be said at the end; `connection` are events
/// with their senders and QPs from elsewhere, `end` is the last moment of the tap.
pub fn merge(
    stories: &[Story<'_>],
    connection: impl IntoIterator<Item = (Moment, IpAddr, u32, Event)>,
    end: Moment,
) -> Vec<Entry> {
    let mut all: Vec<(Moment, IpAddr, u32, Event)> = connection.into_iter().collect();
    for story in stories {
        let Story { src, dst_qp, recorder, .. } = *story;
        let events = recorder.log.iter().flat_map(|log| log.events());
        all.extend(events.map(|noted| (noted.moment, src, dst_qp, noted.event)));
        all.extend(frame_of(story));
    }
    all.extend(unanswered(stories));
    // What one frame says keeps its order; a first packet is before all that it did.
    all.sort_by_key(|(moment, .., event)| (moment.frame, rank(event)));
    // A timeout says how long the silence was.
    let timeouts: HashSet<_> =
        all.iter().filter(|all| is_timeout(&all.3)).map(|all| all.0).collect();
    all.retain(|(moment, .., event)| {
        !(matches!(event, Event::Silence { .. }) && timeouts.contains(moment))
    });
    let last = all.iter().map(|(moment, ..)| *moment).max();
    if let Some(last) = last
        && let Some((_, src, dst_qp, _)) = all.last().copied()
        && let Some(silent_us) = end.micros_since(last).filter(|silent| *silent >= LONG)
    {
        all.push((last, src, dst_qp, Event::Nothing { silent_us }));
    }
    let entry = |(moment, src, dst_qp, event): (Moment, IpAddr, u32, Event)| Entry {
        t: moment.time,
        frame: moment.frame,
        src,
        dst_qp,
        what: event.to_string(),
        event,
    };
    all.into_iter().map(entry).collect()
}

/// Place among the events of one frame.
const fn rank(event: &Event) -> u8 {
    match event {
        Event::Silence { .. } | Event::First { .. } | Event::FirstAnswer { .. } => 0,
        Event::Last { .. } | Event::LastAnswer { .. } => 2,
        Event::Unanswered { .. } => 3,
        _ => 1,
    }
}

const fn is_timeout(event: &Event) -> bool {
    matches!(event, Event::Rewind { cause: RewindCause::Timeout { .. }, .. })
}

/// First and last packet. Of an answer that is a NAK, the NAK says more.
fn frame_of(story: &Story<'_>) -> impl Iterator<Item = (Moment, IpAddr, u32, Event)> + use<> {
    let Story { src, dst_qp, space, is_cnp, recorder } = *story;
    let is_answer = space != PsnSpace::Request;
    let shown = |packet: &Packet| !(is_cnp || is_answer && recorder.has_refusal(packet.moment));
    let named = |packet: Packet, event: fn(&'static str, u32) -> Event| {
        let (opcode, psn) = (packet.opcode.operation().name(), packet.psn.get());
        (packet.moment, src, dst_qp, event(opcode, psn))
    };
    let first = recorder.first.filter(shown).map(|packet| {
        named(
            packet,
            if is_answer {
                |opcode, psn| Event::FirstAnswer { opcode, psn }
            } else {
                |opcode, psn| Event::First { opcode, psn }
            },
        )
    });
    let is_other =
        |packet: &Packet| Some(packet.moment) != recorder.first.map(|first| first.moment);
    let last = recorder.last.filter(shown).filter(is_other).map(|packet| {
        named(
            packet,
            if is_answer {
                |opcode, psn| Event::LastAnswer { opcode, psn }
            } else {
                |opcode, psn| Event::Last { opcode, psn }
            },
        )
    });
    first.into_iter().chain(last)
}

/// Requests that the last answer does not cover.
fn unanswered(stories: &[Story<'_>]) -> Vec<(Moment, IpAddr, u32, Event)> {
    let requests = stories.iter().filter(|story| story.space == PsnSpace::Request && !story.is_cnp);
    requests
        .filter_map(|asks| {
            let is_its = |story: &&Story<'_>| {
                story.space != PsnSpace::Request && story.src != asks.src && !story.is_cnp
            };
            let answers = stories.iter().filter(is_its).filter_map(|story| {
                let answer = story.recorder.last?;
                // A NAK names the PSN that it refuses.
                let refused = u32::from(story.recorder.has_refusal(answer.moment));
                Some((answer.moment, answer.psn.plus(1 - refused)))
            });
            let (answered, from) = answers.max_by_key(|(moment, _)| *moment)?;
            let (last, highest) = (asks.recorder.last?, asks.recorder.highest?);
            (highest.distance_from(from) >= 0).then(|| {
                let event = Event::Unanswered { psn: from.get(), last: highest.get() };
                (last.moment.max(answered), asks.src, asks.dst_qp, event)
            })
        })
        .collect()
}
