//! Books what records count on their hosts and queue pairs.

use roce_common::flow::WideKey;

use super::counts::PsnCounts;
use super::peers::{PeerIndex, PeerTable};
use super::qps::{QpIndex, QpTable};
use super::{Counts, QpKey};
use crate::flow::{FlowId, Spread};

/// Interfaces that can be counted: half of the taps.
const MAX_DEVICES: usize = roce_common::tap::MAX_TAPS as usize / 2;

/// Where a record's packets are booked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Account {
    peer: PeerIndex,
    qp: QpIndex,
    tap: u8,
}

/// What the PSN engine found in the records of one tap.
#[derive(Clone, Debug, Default)]
pub struct TapSequences {
    /// Everything that was ever decided.
    pub counts: PsnCounts,
    /// Missing PSNs that are not decided now.
    pub open: u64,
    /// PSNs that were not decided when their record was taken out.
    pub undecided: u64,
    /// Records of which the kernel had no room to keep what the engine needs.
    pub untracked: u64,
    /// Round-trip times.
    pub spread: Spread,
}

/// What may also fall, of one record.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OpenPsns {
    /// Missing PSNs that are not decided.
    pub(super) open: u64,
    /// The kernel had no room to keep what the engine needs.
    pub(super) is_untracked: bool,
}

/// Totals that outlive records.
#[derive(Debug)]
pub(super) struct Ledger {
    pub(super) peers: PeerTable,
    pub(super) qps: QpTable,
    pub(super) taps: Vec<TapSequences>,
    evicted: [u64; MAX_DEVICES],
    /// Records that changed too quickly to be read, all sweeps together.
    pub(super) busy: u64,
    /// Packets of the fallback map that belong to more flows than are kept.
    pub(super) unplaced: u64,
}

impl Ledger {
    pub(super) fn new(max_peers: usize, max_series: usize) -> Self {
        Self {
            peers: PeerTable::new(max_peers),
            qps: QpTable::new(max_series),
            taps: vec![TapSequences::default(); 2 * MAX_DEVICES],
            evicted: [0; MAX_DEVICES],
            busy: 0,
            unplaced: 0,
        }
    }

    /// Opens an account for a record; `None` for the key of an empty slot.
    pub(super) fn open(&mut self, key: &WideKey) -> Option<Account> {
        let FlowId { tap, src, dst, dst_qp, .. } = FlowId::of(key)?;
        let peer = self.peers.place(tap / 2, src, dst);
        let qp = self.qps.open(QpKey { tap, src, dst, dst_qp });
        Some(Account { peer, qp, tap })
    }

    pub(super) fn book(&mut self, account: Account, counts: Counts) {
        if let Some(tap) = self.taps.get_mut(usize::from(account.tap)) {
            tap.counts += counts.psns.unwrap_or_default();
        }
        self.peers.count(account.peer, counts);
        self.qps.count(account.qp, counts);
    }

    /// Books round-trip times.
    pub(super) fn book_spread(&mut self, account: Account, spread: &Spread) {
        self.peers.add_spread(account.peer, spread);
        if let Some(tap) = self.taps.get_mut(usize::from(account.tap)) {
            tap.spread.add(spread);
        }
    }

    /// The tries of the retry ladder that the sender of a record is on; 0 for none.
    pub(super) fn set_ladder(&mut self, account: Account, tries: u32) {
        self.qps.set_ladder(account.qp, tries);
    }

    /// Keeps the sums of what may also fall, when they change in a record.
    pub(super) fn replace_open(&mut self, account: Account, before: OpenPsns, now: OpenPsns) {
        if before.is_untracked != now.is_untracked {
            self.qps.note_untracked(account.qp, now.is_untracked);
        }
        if let Some(tap) = self.taps.get_mut(usize::from(account.tap)) {
            tap.open = (tap.open + now.open).saturating_sub(before.open);
            let (untracked, had_been) = (u64::from(now.is_untracked), before.is_untracked.into());
            tap.untracked = (tap.untracked + untracked).saturating_sub(had_been);
        }
    }

    /// Books on the hosts alone, for packets whose flow is not kept.
    pub(super) fn book_unplaced(&mut self, key: &WideKey, counts: Counts) {
        if let Some(id) = FlowId::of(key) {
            let peer = self.peers.place(id.tap / 2, id.src, id.dst);
            self.peers.count(peer, counts);
        }
        self.unplaced += counts.packets;
    }

    /// Closes the account of a record that is gone, with what was open in it.
    pub(super) fn close(&mut self, account: Account, left: OpenPsns) {
        self.replace_open(account, left, OpenPsns::default());
        if let Some(tap) = self.taps.get_mut(usize::from(account.tap)) {
            tap.undecided += left.open;
        }
        let was_last = self.qps.close(account.qp);
        if let Some(evicted) = self.evicted.get_mut(usize::from(account.tap / 2)) {
            *evicted += u64::from(was_last);
        }
    }

    /// Queue pairs of which the last record is gone.
    pub(super) fn evicted(&self, device: usize) -> u64 {
        self.evicted.get(device).copied().unwrap_or(0)
    }
}
