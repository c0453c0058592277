//! Missing PSNs that came after all: late, or sent again.

use roce_common::psn::Psn;
use roce_common::sequence::SequenceTotals;

use super::{Budget, Event, FillOutcome, Moment, Packet, Recorder};

/// Events looked back at, for the gap that a packet fills and for fills that the engine decides.
const LOOK_BACK: usize = 16;

impl Recorder {
    /// Carries over what the engine decided about fills, as far as it is plain which ones it meant.
    pub(super) fn decide(
        &mut self,
        moment: Moment,
        before: &SequenceTotals,
        after: &SequenceTotals,
        budget: &mut Budget,
    ) {
        let late = after.reordered.wrapping_sub(before.reordered);
        let recovered = after.recovered.wrapping_sub(before.recovered);
        if late == 0 && recovered == 0 {
            return;
        }
        let open: u32 = self.open_fills().map(|(packets, _)| packets).sum();
        let outcome = if late == open && recovered <= self.undecided {
            Some(FillOutcome::Late)
        } else if late == 0 && self.undecided + open == recovered {
            Some(FillOutcome::SentAgain)
        } else {
            None
        };
        match outcome {
            Some(outcome) if open > 0 => {
                self.open_fills().for_each(|(_, undecided)| *undecided = outcome);
            }
            _ if late > 0 => self.note(moment, Event::Late { packets: late }, budget),
            _ => {}
        }
        let in_rewinds =
            (late + recovered).saturating_sub(if outcome.is_some() { open } else { 0 });
        self.undecided = self.undecided.saturating_sub(in_rewinds);
    }

    fn open_fills(&mut self) -> impl Iterator<Item = (u32, &mut FillOutcome)> {
        let log = self.log.as_mut().into_iter();
        log.flat_map(|log| log.backwards_mut().take(LOOK_BACK)).filter_map(|noted| match &mut noted
            .event
        {
            Event::Filled { packets, outcome: outcome @ FillOutcome::Open, .. } => {
                Some((*packets, outcome))
            }
            _ => None,
        })
    }

    /// Microseconds since the gap that `packet` fills.
    pub(super) fn since_gap(&mut self, packet: Packet) -> Option<u64> {
        let log = self.log.as_mut()?;
        let gap = log.backwards_mut().take(LOOK_BACK).find(|noted| {
            matches!(noted.event, Event::Gap { psn, last, .. }
                if packet.psn.distance_from(Psn::new(psn)) >= 0
                    && packet.psn.distance_from(Psn::new(last)) <= 0)
        })?;
        packet.moment.micros_since(gap.moment)
    }
}
