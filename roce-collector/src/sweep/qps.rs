//! Totals of queue pairs, as long as they have a record, and the choice of those with series.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::net::IpAddr;

use super::Counts;

/// What goes from one host to one queue pair of another, seen at a tap: requests, responses and CNPs,
/// of all source queue pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct QpKey {
    /// Tap that saw it.
    pub tap: u8,
    /// Sender.
    pub src: IpAddr,
    /// Receiver.
    pub dst: IpAddr,
    /// Destination QP.
    pub dst_qp: u32,
}

/// Place of a queue pair in [`QpTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QpIndex(u32);

/// The worst and the busiest each leave a fourth of the series to the others.
const RESERVED_PART: usize = 4;
/// A series stays for so many seconds at least, and as long as its queue pair was in trouble in them.
const MIN_SERIES_SECONDS: u32 = 300;
/// Seconds for which a queue pair that was in trouble may still take the place of another.
const RECENT_SECONDS: u32 = 60;

/// All queue pairs that have a record.
#[derive(Debug)]
pub(super) struct QpTable {
    index: HashMap<QpKey, QpIndex>,
    entries: Vec<Entry>,
    vacant: Vec<QpIndex>,
    /// Series taken by the worst and by the busiest.
    worst: usize,
    busiest: usize,
    max_series: usize,
    /// Second of the sweep that goes on.
    now: u32,
}

#[derive(Debug)]
struct Entry {
    key: QpKey,
    counts: Counts,
    records: u32,
    /// Of these, those whose PSNs nobody looks at.
    untracked: u32,
    /// Tries of the retry ladder that its sender is on.
    ladder: u32,
    series: Option<Series>,
    /// Second in which it got them.
    series_since: u32,
    /// Second of the last loss, retransmission or NAK.
    troubled: Option<u32>,
}

/// Why a queue pair has series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Series {
    Worst,
    Busiest,
}

impl QpTable {
    pub(super) fn new(max_series: usize) -> Self {
        Self {
            index: HashMap::new(),
            entries: Vec::new(),
            vacant: Vec::new(),
            worst: 0,
            busiest: 0,
            max_series,
            now: 0,
        }
    }

    /// Begins a sweep at the second `now`.
    pub(super) const fn begin(&mut self, now: u32) {
        self.now = now;
    }

    /// Adds a record to a queue pair.
    pub(super) fn open(&mut self, key: QpKey) -> QpIndex {
        if let Some(&place) = self.index.get(&key) {
            self.entries[place.0 as usize].records += 1;
            return place;
        }
        let entry = Entry {
            key,
            counts: Counts::default(),
            records: 1,
            untracked: 0,
            ladder: 0,
            series: None,
            series_since: 0,
            troubled: None,
        };
        let place = if let Some(place) = self.vacant.pop() {
            self.entries[place.0 as usize] = entry;
            place
        } else {
            self.entries.push(entry);
            QpIndex(self.entries.len() as u32 - 1)
        };
        self.index.insert(key, place);
        place
    }

    /// Takes a record away; whether it was the last one, with which the queue pair ends.
    pub(super) fn close(&mut self, place: QpIndex) -> bool {
        let entry = &mut self.entries[place.0 as usize];
        entry.records -= 1;
        // Those that are left say it again in their next sweep.
        entry.ladder = 0;
        if entry.records != 0 {
            return false;
        }
        let key = entry.key;
        self.take(place.0 as usize);
        self.index.remove(&key);
        self.vacant.push(place);
        true
    }

    pub(super) fn count(&mut self, place: QpIndex, counts: Counts) {
        let entry = &mut self.entries[place.0 as usize];
        entry.counts += counts;
        let [psns, naks, _] = counts.trouble();
        if psns + naks != 0 {
            entry.troubled = Some(self.now);
        }
    }

    /// A record of the queue pair has PSNs that nobody looks at, or no longer.
    pub(super) fn note_untracked(&mut self, place: QpIndex, is_untracked: bool) {
        let untracked = &mut self.entries[place.0 as usize].untracked;
        *untracked = if is_untracked { *untracked + 1 } else { untracked.saturating_sub(1) };
    }

    pub(super) fn set_ladder(&mut self, place: QpIndex, tries: u32) {
        self.entries[place.0 as usize].ladder = tries;
    }

    /// Gives free series away: to the worst of those in trouble, then to the busiest. Then those that came
    /// into trouble lately get places of queue pairs that had none for long.
    pub(super) fn choose(&mut self) {
        let share = self.share();
        let free = |table: &Self| table.max_series - table.worst - table.busiest;
        let places = free(self).min(share.saturating_sub(self.worst));
        let in_trouble = |entry: &Entry| Some(entry.counts.trouble()).filter(|t| *t != [0; 3]);
        for place in self.best(places, in_trouble) {
            self.give(place, Series::Worst);
        }
        let places = free(self).min(share.saturating_sub(self.busiest));
        for place in self.best(places, |entry| Some(entry.counts.packets)) {
            self.give(place, Series::Busiest);
        }
        self.replace();
    }

    /// The most series that the worst may have, and the busiest.
    const fn share(&self) -> usize {
        self.max_series - self.max_series / RESERVED_PART
    }

    fn give(&mut self, place: usize, series: Series) {
        let entry = &mut self.entries[place];
        (entry.series, entry.series_since) = (Some(series), self.now);
        match series {
            Series::Worst => self.worst += 1,
            Series::Busiest => self.busiest += 1,
        }
    }

    /// Gives places of the least interesting queue pairs to those that came into trouble.
    ///
    /// So that series do not flap, a place changes hands at most once in [`MIN_SERIES_SECONDS`].
    fn replace(&mut self) {
        let now = self.now;
        let is_recent = |time: u32, seconds| now.saturating_sub(time) < seconds;
        let came_into_trouble = |entry: &Entry| {
            let time = entry.troubled.filter(|time| is_recent(*time, RECENT_SECONDS))?;
            Some((entry.counts.trouble(), time))
        };
        let wanting = self.best(self.max_series, came_into_trouble);
        if wanting.is_empty() {
            return;
        }
        let is_settled = |entry: &Entry| {
            let times = entry.troubled.into_iter().chain([entry.series_since]);
            times.max().is_some_and(|time| !is_recent(time, MIN_SERIES_SECONDS))
        };
        let with = self.entries.iter().enumerate();
        let with = with.filter(|(_, entry)| entry.series.is_some() && is_settled(entry));
        let mut quiet: Vec<_> = with
            .map(|(place, entry)| {
                let rank = (entry.troubled, entry.counts.trouble(), entry.counts.packets);
                (rank, place)
            })
            .collect();
        quiet.sort_unstable();
        let mut spare_busiest = self.busiest.saturating_sub(self.max_series / RESERVED_PART);
        let mut quiet = quiet.into_iter().filter(|(_, place)| {
            if self.entries[*place].series == Some(Series::Worst) {
                return true;
            }
            let is_spare = spare_busiest != 0;
            spare_busiest = spare_busiest.saturating_sub(1);
            is_spare
        });
        let changes: Vec<_> =
            wanting.into_iter().map_while(|new| Some((quiet.next()?.1, new))).collect();
        for (old, new) in changes {
            self.take(old);
            self.give(new, Series::Worst);
        }
    }

    fn take(&mut self, place: usize) {
        match self.entries[place].series.take() {
            Some(Series::Worst) => self.worst -= 1,
            Some(Series::Busiest) => self.busiest -= 1,
            None => {}
        }
    }

    /// Places of the queue pairs without series that `rank` puts highest.
    fn best<R: Ord>(&self, places: usize, rank: impl Fn(&Entry) -> Option<R>) -> Vec<usize> {
        if places == 0 || self.index.len() == self.worst + self.busiest {
            return Vec::new();
        }
        let without = self.entries.iter().enumerate();
        let without = without.filter(|(_, entry)| entry.records != 0 && entry.series.is_none());
        let mut ranked: Vec<_> =
            without.filter_map(|(place, entry)| Some((rank(entry)?, place))).collect();
        if ranked.len() > places {
            ranked.select_nth_unstable_by(places - 1, |a, b| b.cmp(a));
            ranked.truncate(places);
        }
        ranked.sort_unstable_by(|a, b| b.cmp(a));
        ranked.into_iter().map(|(_, place)| place).collect()
    }

    /// The queue pairs with series.
    pub(super) fn series(&self) -> impl Iterator<Item = (QpKey, Counts)> {
        let with = self.entries.iter().filter(|entry| entry.series.is_some());
        with.map(|entry| {
            let psns = entry.counts.psns.filter(|_| entry.untracked == 0);
            (entry.key, Counts { psns, ..entry.counts })
        })
    }

    /// Queue pairs whose sender is on a retry ladder, and its tries: as many as may have series, the most
    /// tries first.
    pub(super) fn ladders(&self) -> Vec<(QpKey, u32)> {
        let on_ladder = |entry: &&Entry| entry.records != 0 && entry.ladder != 0;
        let mut ladders: Vec<_> = self.entries.iter().filter(on_ladder).collect();
        ladders.sort_by_key(|entry| (Reverse(entry.ladder), entry.key.tap, entry.key.dst_qp));
        ladders.truncate(self.max_series);
        ladders.into_iter().map(|entry| (entry.key, entry.ladder)).collect()
    }

    /// Every tap that has queue pairs, once for each of them.
    pub(super) fn taps(&self) -> impl Iterator<Item = u8> {
        self.index.keys().map(|key| key.tap)
    }
}

#[cfg(test)]
mod tests;
