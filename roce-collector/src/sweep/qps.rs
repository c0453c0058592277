//! Totals of queue pairs, as long as they have a record, and the choice of those with series.

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
}

#[derive(Debug)]
struct Entry {
    key: QpKey,
    counts: Counts,
    records: u32,
    series: Option<Series>,
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
        }
    }

    /// Adds a record to a queue pair.
    pub(super) fn open(&mut self, key: QpKey) -> QpIndex {
        if let Some(&place) = self.index.get(&key) {
            self.entries[place.0 as usize].records += 1;
            return place;
        }
        let entry = Entry { key, counts: Counts::default(), records: 1, series: None };
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
        if entry.records != 0 {
            return false;
        }
        match entry.series.take() {
            Some(Series::Worst) => self.worst -= 1,
            Some(Series::Busiest) => self.busiest -= 1,
            None => {}
        }
        self.index.remove(&entry.key);
        self.vacant.push(place);
        true
    }

    pub(super) fn count(&mut self, place: QpIndex, counts: Counts) {
        self.entries[place.0 as usize].counts += counts;
    }

    /// Gives free series away: to the worst of those in trouble, then to the busiest.
    ///
    /// Series once given are kept, for a series that comes and goes is useless.
    pub(super) fn choose(&mut self) {
        let share = self.max_series - self.max_series / RESERVED_PART;
        let free = |table: &Self| table.max_series - table.worst - table.busiest;
        let places = free(self).min(share.saturating_sub(self.worst));
        for place in self.best(places, |counts| Some(counts.trouble()).filter(|t| *t != (0, 0))) {
            self.entries[place].series = Some(Series::Worst);
            self.worst += 1;
        }
        let places = free(self).min(share.saturating_sub(self.busiest));
        for place in self.best(places, |counts| Some(counts.packets)) {
            self.entries[place].series = Some(Series::Busiest);
            self.busiest += 1;
        }
    }

    /// Places of the queue pairs without series that `rank` puts highest.
    fn best<R: Ord>(&self, places: usize, rank: impl Fn(&Counts) -> Option<R>) -> Vec<usize> {
        if places == 0 || self.index.len() == self.worst + self.busiest {
            return Vec::new();
        }
        let without = self.entries.iter().enumerate();
        let without = without.filter(|(_, entry)| entry.records != 0 && entry.series.is_none());
        let mut ranked: Vec<_> =
            without.filter_map(|(place, entry)| Some((rank(&entry.counts)?, place))).collect();
        if ranked.len() > places {
            ranked.select_nth_unstable_by(places - 1, |a, b| b.cmp(a));
            ranked.truncate(places);
        }
        ranked.into_iter().map(|(_, place)| place).collect()
    }

    /// The queue pairs with series.
    pub(super) fn series(&self) -> impl Iterator<Item = (QpKey, Counts)> {
        let with = self.entries.iter().filter(|entry| entry.series.is_some());
        with.map(|entry| (entry.key, entry.counts))
    }

    /// Every tap that has queue pairs, once for each of them.
    pub(super) fn taps(&self) -> impl Iterator<Item = u8> {
        self.index.keys().map(|key| key.tap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn key(dst_qp: u32) -> QpKey {
        let host = IpAddr::from(Ipv4Addr::LOCALHOST);
        QpKey { tap: 0, src: host, dst: host, dst_qp }
    }

    fn qps(table: &QpTable) -> Vec<u32> {
        let mut qps: Vec<_> = table.series().map(|(key, _)| key.dst_qp).collect();
        qps.sort_unstable();
        qps
    }

    #[test]
    fn the_worst_and_the_busiest_get_series_and_keep_them() {
        let mut table = QpTable::new(4);
        let places: Vec<_> = (0..20).map(|qp| table.open(key(qp))).collect();
        for (packets, &place) in (0..).zip(&places) {
            table.count(place, Counts { packets, ..Counts::default() });
        }
        table.count(places[3], Counts { naks: 1, ..Counts::default() });
        table.count(places[4], Counts { ce: 900, ..Counts::default() });
        table.choose();
        assert_eq!(qps(&table), [3, 4, 18, 19]);

        table.count(places[5], Counts { packets: 1000, naks: 50, ..Counts::default() });
        table.choose();
        assert_eq!(qps(&table), [3, 4, 18, 19], "no series is taken away");

        assert!(table.close(places[18]));
        table.choose();
        assert_eq!(qps(&table), [3, 4, 5, 19]);
    }

    #[test]
    fn the_busiest_leave_room_for_those_that_get_into_trouble_later() {
        let mut table = QpTable::new(4);
        let places: Vec<_> = (0..20).map(|qp| table.open(key(qp))).collect();
        table.choose();
        assert_eq!(table.series().count(), 3);
        let late =
            places.iter().rev().find(|place| table.entries[place.0 as usize].series.is_none());
        let late = *late.unwrap();
        table.count(late, Counts { cnps: 1, ..Counts::default() });
        table.choose();
        assert_eq!(table.series().count(), 4);
        assert!(qps(&table).contains(&late.0));
    }

    #[test]
    fn a_queue_pair_lives_as_long_as_its_last_record() {
        let mut table = QpTable::new(4);
        let request = table.open(key(7));
        let response = table.open(key(7));
        assert_eq!(request, response);
        table.count(request, Counts { packets: 5, ..Counts::default() });
        assert!(!table.close(request));
        assert!(table.close(response));
        let again = table.open(key(7));
        table.choose();
        assert_eq!(table.series().next().unwrap().1, Counts::default());
        assert_eq!(again, request, "places are used again");
    }
}
