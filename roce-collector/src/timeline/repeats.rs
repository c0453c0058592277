//! Packets that come again: which of them are one rewind, and why the sender went back.

use roce_common::psn::Psn;
use roce_common::sequence::PacketClass;
use roce_common::wire::Operation;

use super::log::Noted;
use super::recorder::{Heard, Said};
use super::{Budget, Change, Event, FillOutcome, Moment, Packet, Recorder, RewindCause};

/// A repeat this many PSNs behind the one before it still belongs to the same rewind: what lies between
/// was dropped again.
const MAX_SKIP: i32 = 64;

impl Recorder {
    /// A packet behind its turn.
    pub(super) fn again(&mut self, packet: Packet, change: &Change<'_>, budget: &mut Budget) {
        let Packet { moment, psn, opcode } = packet;
        let is_read = opcode.operation() == Operation::RdmaReadRequest;
        // The span of a READ is of its responses.
        let last = if is_read { psn } else { psn.plus(change.span.max(1) - 1) };
        let filled = u32::from(change.class == PacketClass::Fill);
        let latest = self.log.as_mut().and_then(|log| log.latest_mut());
        let latest = latest.filter(|noted| goes_on(&noted.event, psn));
        let start = latest.as_ref().and_then(|noted| Start::of(noted));
        let (from, packets_before, filled_before) =
            start.map_or((psn, 0, 0), |start| (start.psn, start.packets, start.filled));
        let rewind = |cause| Event::Rewind {
            psn: from.get(),
            last: last.get(),
            packets: packets_before + 1,
            filled: filled_before + filled,
            was_acknowledged: change.was_acknowledged,
            cause,
        };
        let began = change.after.timeouts != change.before.timeouts
            || change.after.go_back_n_episodes != change.before.go_back_n_episodes;
        let waited = self.heard.filter(|heard| heard.what == Said::NotReady && heard.psn == psn);
        if began {
            let is_timeout = change.after.timeouts != change.before.timeouts;
            let heard = self.heard.filter(|heard| heard.psn == from);
            let moment = start.map_or(moment, |start| start.moment);
            let cause = cause(moment, change.idle, is_timeout, is_read, heard);
            self.undecided += filled_before + filled;
            match latest {
                Some(noted) if start.is_some() => noted.event = rewind(cause),
                _ => {
                    let event = Event::Rewind {
                        psn: psn.get(),
                        last: last.get(),
                        packets: 1,
                        filled,
                        was_acknowledged: change.was_acknowledged,
                        cause,
                    };
                    self.note(moment, event, budget);
                }
            }
            return;
        }
        if let Some(noted) = latest {
            match &mut noted.event {
                Event::Rewind { last: end, packets, filled: all, .. } => {
                    (*end, *packets, *all) = (last.get(), *packets + 1, *all + filled);
                    self.undecided += filled;
                    return;
                }
                Event::Repeated { last: end, packets, .. } if filled == 0 => {
                    (*end, *packets) = (last.get(), *packets + 1);
                    return;
                }
                Event::Filled { last: end, packets, outcome: FillOutcome::Open, .. }
                    if filled == 1 && psn.distance_from(Psn::new(*end)) == 1 =>
                {
                    (*end, *packets) = (last.get(), *packets + 1);
                    return;
                }
                _ => {}
            }
        }
        let (psn, last) = (psn.get(), last.get());
        let event = if filled == 1 {
            let after_us = self.since_gap(packet);
            Event::Filled { psn, last, packets: 1, after_us, outcome: FillOutcome::Open }
        } else if let Some(heard) = waited {
            let after_us = moment.micros_since(heard.moment);
            let cause = RewindCause::Rnr { after_us };
            Event::Rewind { psn, last, packets: 1, filled: 0, was_acknowledged: false, cause }
        } else {
            Event::Repeated { psn, last, packets: 1 }
        };
        self.note(moment, event, budget);
    }
}

/// Where packets that come again began, before it was clear that it is a rewind.
#[derive(Clone, Copy)]
struct Start {
    moment: Moment,
    psn: Psn,
    packets: u32,
    filled: u32,
}

impl Start {
    const fn of(noted: &Noted) -> Option<Self> {
        let moment = noted.moment;
        match noted.event {
            Event::Repeated { psn, packets, .. } => {
                Some(Self { moment, psn: Psn::new(psn), packets, filled: 0 })
            }
            Event::Filled { psn, packets, outcome: FillOutcome::Open, .. } => {
                Some(Self { moment, psn: Psn::new(psn), packets, filled: packets })
            }
            _ => None,
        }
    }
}

/// Whether a packet that comes again may belong to `event`.
fn goes_on(event: &Event, psn: Psn) -> bool {
    match *event {
        Event::Rewind { last, .. } | Event::Repeated { last, .. } | Event::Filled { last, .. } => {
            (1..=MAX_SKIP).contains(&psn.distance_from(Psn::new(last)))
        }
        _ => false,
    }
}

fn cause(
    moment: Moment,
    idle: u32,
    is_timeout: bool,
    is_read: bool,
    heard: Option<Heard>,
) -> RewindCause {
    let after = |heard: Heard| moment.micros_since(heard.moment);
    match heard {
        _ if is_timeout => RewindCause::Timeout { silent_us: idle.into() },
        Some(heard) if heard.what == Said::Nak => RewindCause::Nak { after_us: after(heard) },
        Some(heard) if heard.what == Said::NotReady => RewindCause::Rnr { after_us: after(heard) },
        Some(_) => RewindCause::ImpliedNak,
        None if is_read => RewindCause::ImpliedNak,
        None => RewindCause::Unexplained,
    }
}
