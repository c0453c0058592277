//! Totals of pairs of hosts. They outlive the flows.

use std::collections::HashMap;
use std::net::IpAddr;

use super::Counts;
use crate::flow::{RttReport, Spread};

/// Who sends to whom, seen at an interface in either direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PeerKey {
    /// Interface, by its place in the list.
    pub device: u8,
    /// Sender and receiver; `None` for all pairs that came after the table was full.
    pub ends: Option<(IpAddr, IpAddr)>,
}

/// Place of a pair in [`PeerTable`].
#[derive(Clone, Copy, Debug)]
pub(super) struct PeerIndex(u32);

/// A bounded number of pairs, and one sum of all others for each interface.
#[derive(Debug)]
pub(super) struct PeerTable {
    index: HashMap<PeerKey, PeerIndex>,
    pairs: Vec<(PeerKey, Counts)>,
    /// Distributions of this half of the window and of the one before, of the pairs that have any.
    recent: [HashMap<u32, Spread>; 2],
    /// Second in which this half began.
    half_began: u32,
    free: usize,
}

/// Seconds after which the older half of the window is forgotten.
const HALF_WINDOW: u32 = 30;

impl PeerTable {
    pub(super) fn new(max_peers: usize) -> Self {
        Self {
            index: HashMap::new(),
            pairs: Vec::new(),
            recent: [HashMap::new(), HashMap::new()],
            half_began: 0,
            free: max_peers,
        }
    }

    /// The place of a pair; that of all others when there is no room for a new one.
    pub(super) fn place(&mut self, device: u8, src: IpAddr, dst: IpAddr) -> PeerIndex {
        let key = PeerKey { device, ends: Some((src, dst)) };
        if let Some(place) = self.index.get(&key) {
            return *place;
        }
        if self.free == 0 {
            let others = PeerKey { device, ends: None };
            return self.index.get(&others).copied().unwrap_or_else(|| self.add(others));
        }
        self.free -= 1;
        self.add(key)
    }

    fn add(&mut self, key: PeerKey) -> PeerIndex {
        let place = PeerIndex(self.pairs.len() as u32);
        self.pairs.push((key, Counts::default()));
        self.index.insert(key, place);
        place
    }

    pub(super) fn count(&mut self, place: PeerIndex, counts: Counts) {
        if let Some((_, total)) = self.pairs.get_mut(place.0 as usize) {
            *total += counts;
        }
    }

    /// Takes round-trip times of a pair; all others together have none, for they mean nothing.
    pub(super) fn add_spread(&mut self, place: PeerIndex, spread: &Spread) {
        let pair = self.pairs.get(place.0 as usize);
        if pair.is_some_and(|(key, _)| key.ends.is_some()) {
            self.recent[0].entry(place.0).or_default().add(spread);
        }
    }

    /// Forgets round-trip times that are too old, at the second `now`.
    pub(super) fn age(&mut self, now: u32) {
        let elapsed = now.saturating_sub(self.half_began);
        if elapsed < HALF_WINDOW {
            return;
        }
        self.half_began = now;
        self.recent.swap(0, 1);
        self.recent[0].clear();
        if elapsed >= 2 * HALF_WINDOW {
            self.recent[1].clear();
        }
    }

    /// Round-trip times of the last 30 to 60 seconds, of the pairs that have any.
    pub(super) fn rtts(&self) -> Vec<(PeerKey, RttReport)> {
        let [now, before] = &self.recent;
        let only_before = before.keys().filter(|place| !now.contains_key(place));
        let rtts = now.keys().chain(only_before).filter_map(|place| {
            let mut spread = now.get(place).copied().unwrap_or_default();
            spread.add(&before.get(place).copied().unwrap_or_default());
            Some((self.pairs.get(*place as usize)?.0, spread.rtt()?))
        });
        rtts.collect()
    }

    pub(super) fn pairs(&self) -> &[(PeerKey, Counts)] {
        &self.pairs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use roce_common::sequence::Histograms;
    use std::net::Ipv4Addr;

    #[test]
    fn pairs_beyond_the_limit_are_summed_by_device() {
        let mut table = PeerTable::new(2);
        for host in 0..10 {
            let src = IpAddr::from(Ipv4Addr::new(10, 0, 0, host));
            let place = table.place(host % 2, src, Ipv4Addr::LOCALHOST.into());
            table.count(place, Counts { packets: 1, ..Counts::default() });
        }
        let packets: Vec<_> = table
            .pairs()
            .iter()
            .map(|(key, counts)| (key.device, key.ends.is_some(), counts.packets))
            .collect();
        assert_eq!(packets, [(0, true, 1), (1, true, 1), (0, false, 4), (1, false, 4)]);
    }

    #[test]
    fn round_trips_are_those_of_the_last_minute_and_of_no_mixture() {
        let mut now = Histograms::default();
        now.rtt[4] = 3;
        let mut spread = Spread::default();
        spread.advance(&Histograms::default(), &now);
        let mut table = PeerTable::new(1);
        table.age(100);
        let hosts = [1, 2].map(|host| IpAddr::from(Ipv4Addr::new(10, 0, 0, host)));
        let [pair, others] = hosts.map(|host| table.place(0, host, Ipv4Addr::LOCALHOST.into()));
        table.add_spread(pair, &spread);
        table.add_spread(others, &spread);
        let samples =
            |table: &PeerTable| table.rtts().iter().map(|(_, rtt)| rtt.samples).collect::<Vec<_>>();
        assert_eq!(samples(&table), [3], "only the pair");
        table.age(129);
        table.age(130);
        table.add_spread(pair, &spread);
        assert_eq!(samples(&table), [6], "both halves of the window");
        table.age(160);
        assert_eq!(samples(&table), [3]);
        table.age(190);
        assert_eq!(samples(&table), [0_u64; 0]);
    }
}
