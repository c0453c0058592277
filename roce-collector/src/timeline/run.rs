//! Packets of a kind that come close together: one event.

use super::Moment;

/// Shorter pauses do not end a run, in microseconds.
const PAUSE: u64 = 100_000;

/// Packets of one kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub start: Moment,
    last: Moment,
    pub packets: u32,
}

impl Run {
    /// Adds a packet to `run`; the run that ended before it, if one did.
    pub(super) fn add(run: &mut Option<Self>, moment: Moment) -> Option<Self> {
        match run {
            Some(run) if moment.micros_since(run.last).is_none_or(|pause| pause < PAUSE) => {
                run.last = moment;
                run.packets = run.packets.saturating_add(1);
                None
            }
            _ => run.replace(Self { start: moment, last: moment, packets: 1 }),
        }
    }

    pub(super) fn during_us(&self) -> Option<u64> {
        self.last.micros_since(self.start)
    }
}
