//! The last two minutes of active records, second by second.

use std::collections::VecDeque;

use super::Counts;

/// Seconds that are kept of a record.
pub(super) const HISTORY_SECONDS: u32 = 120;
/// Records that have a history at a time: with 8 KiB for a whole one, 16 MiB at most.
const MAX_HISTORIES: usize = 2048;
/// Histories that are looked at for one that may be given to another record.
const MAX_LOOKS: usize = 32;

/// What one record counted in one second, by the names of [`Counts`]. Seconds in which it counted nothing
/// are not kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Second {
    /// Seconds of [`super::Moment::uptime`].
    pub(super) at: u32,
    pub(super) packets: u32,
    pub(super) payload_bytes: u64,
    pub(super) lost: u32,
    pub(super) recovered: u32,
    pub(super) unseen: u32,
    pub(super) reordered: u32,
    pub(super) retransmitted: u32,
    pub(super) retransmitted_bytes: u32,
    pub(super) timeouts: u32,
    pub(super) go_back_n_episodes: u32,
    pub(super) ce: u32,
    pub(super) naks: u32,
    pub(super) mismarked: u32,
}

/// A record's place among the histories. It may have been given to another record meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HistoryId {
    place: u32,
    generation: u32,
}

/// The histories of all records that have one.
#[derive(Debug, Default)]
pub(super) struct Histories {
    entries: Vec<Entry>,
    /// Where the search for one to give away goes on.
    hand: usize,
    /// Seconds with trouble of records that got none, all sweeps together.
    pub(super) refused: u64,
}

#[derive(Debug, Default)]
struct Entry {
    generation: u32,
    seconds: VecDeque<Second>,
    /// The latest second with trouble.
    troubled: Option<u32>,
}

impl Second {
    pub(super) fn of(at: u32, counts: &Counts, payload_bytes: u64) -> Self {
        let narrow = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        let psns = counts.psns.unwrap_or_default();
        Self {
            at,
            packets: narrow(counts.packets),
            payload_bytes,
            lost: narrow(psns.lost),
            recovered: narrow(psns.recovered),
            unseen: narrow(psns.unseen),
            reordered: narrow(psns.reordered),
            retransmitted: narrow(psns.retransmitted),
            retransmitted_bytes: narrow(psns.retransmitted_bytes),
            timeouts: narrow(psns.timeouts),
            go_back_n_episodes: narrow(psns.go_back_n_episodes),
            ce: narrow(counts.ce),
            naks: narrow(counts.naks),
            mismarked: narrow(counts.mismarked),
        }
    }

    /// Whether anything went wrong in it.
    pub(super) const fn is_troubled(&self) -> bool {
        self.lost | self.retransmitted | self.timeouts | self.naks != 0
    }

    const fn is_empty(&self) -> bool {
        self.packets == 0 && self.unseen == 0 && self.reordered == 0 && !self.is_troubled()
    }

    /// Payload bytes of a packet, on average.
    pub(super) fn mean_payload(&self) -> Option<u32> {
        let mean = self.payload_bytes.checked_div(self.packets.into())?;
        u32::try_from(mean).ok()
    }
}

impl Histories {
    /// Adds a second to the history of a record, which gets one when it has none and there is one to be had.
    pub(super) fn note(&mut self, id: &mut Option<HistoryId>, second: Second) {
        if second.is_empty() {
            return;
        }
        let place = id.filter(|id| self.is_current(*id)).map(|id| id.place as usize);
        let Some(place) = place.or_else(|| self.take(second.at, second.is_troubled())) else {
            self.refused += u64::from(second.is_troubled());
            *id = None;
            return;
        };
        let entry = &mut self.entries[place];
        *id = Some(HistoryId { place: place as u32, generation: entry.generation });
        if second.is_troubled() {
            entry.troubled = Some(second.at);
        }
        while let Some(first) = entry.seconds.front()
            && (first.at.saturating_add(HISTORY_SECONDS) <= second.at
                || entry.seconds.len() >= HISTORY_SECONDS as usize)
        {
            entry.seconds.pop_front();
        }
        entry.seconds.push_back(second);
    }

    /// The seconds of a record, oldest first; empty when it has no history.
    pub(super) fn of(&self, id: Option<HistoryId>) -> impl Iterator<Item = &Second> {
        let current = id.filter(|id| self.is_current(*id));
        current.into_iter().flat_map(|id| &self.entries[id.place as usize].seconds)
    }

    /// Ends the history of a record that is gone.
    pub(super) fn close(&mut self, id: Option<HistoryId>) {
        if let Some(id) = id.filter(|id| self.is_current(*id)) {
            self.clear(id.place as usize);
        }
    }

    fn is_current(&self, id: HistoryId) -> bool {
        let entry = self.entries.get(id.place as usize);
        entry.is_some_and(|entry| entry.generation == id.generation)
    }

    /// A new history, else that of a record which is idle; for one in trouble also that of one without.
    fn take(&mut self, now: u32, is_troubled: bool) -> Option<usize> {
        if self.entries.len() < MAX_HISTORIES {
            self.entries.push(Entry::default());
            return Some(self.entries.len() - 1);
        }
        let is_recent = |at: Option<u32>| at.is_some_and(|at| at + HISTORY_SECONDS > now);
        for _ in 0..MAX_LOOKS {
            self.hand = (self.hand + 1) % self.entries.len();
            let entry = &self.entries[self.hand];
            let is_active = is_recent(entry.seconds.back().map(|second| second.at));
            if !is_active || (is_troubled && !is_recent(entry.troubled)) {
                self.clear(self.hand);
                return Some(self.hand);
            }
        }
        None
    }

    fn clear(&mut self, place: usize) {
        let entry = &mut self.entries[place];
        entry.generation = entry.generation.wrapping_add(1);
        entry.seconds.clear();
        entry.troubled = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(at: u32, timeouts: u32) -> Second {
        Second { at, packets: 1, timeouts, ..Second::default() }
    }

    #[test]
    fn two_minutes_are_kept() {
        let mut histories = Histories::default();
        let mut id = None;
        for at in 0..1000 {
            histories.note(&mut id, second(at, 0));
        }
        let seconds: Vec<_> = histories.of(id).map(|second| second.at).collect();
        assert!(seconds.into_iter().eq(880..1000));
        histories.close(id);
        assert_eq!(histories.of(id).count(), 0);
    }

    #[test]
    fn trouble_takes_the_place_of_quiet_records_only() {
        let mut histories = Histories::default();
        let mut quiet = vec![None; MAX_HISTORIES];
        for id in &mut quiet {
            histories.note(id, second(10, 0));
        }
        let mut late = None;
        histories.note(&mut late, second(11, 0));
        assert_eq!((late, histories.refused), (None, 0), "no room for one more without trouble");
        let mut troubled = vec![None; MAX_HISTORIES];
        for id in &mut troubled {
            histories.note(id, second(12, 1));
        }
        assert!(troubled.iter().all(|id| histories.of(*id).count() == 1));
        assert!(quiet.iter().all(|id| histories.of(*id).count() == 0));
        let mut more = None;
        histories.note(&mut more, second(13, 1));
        assert_eq!((more, histories.refused), (None, 1));
        histories.note(&mut more, second(12 + HISTORY_SECONDS, 0));
        assert!(more.is_some(), "what is idle for long is given away");
    }
}
