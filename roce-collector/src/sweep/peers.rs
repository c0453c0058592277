//! Totals of pairs of hosts. They outlive the flows.

use std::collections::HashMap;
use std::net::IpAddr;

use super::Counts;

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
    free: usize,
}

impl PeerTable {
    pub(super) fn new(max_peers: usize) -> Self {
        Self { index: HashMap::new(), pairs: Vec::new(), free: max_peers }
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

    pub(super) fn pairs(&self) -> &[(PeerKey, Counts)] {
        &self.pairs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
}
