//! Books what records count on their hosts and queue pairs.

use roce_common::flow::WideKey;

use super::peers::{PeerIndex, PeerTable};
use super::qps::{QpIndex, QpTable};
use super::{Counts, QpKey};
use crate::flow::FlowId;

/// Interfaces that can be counted: half of the taps.
const MAX_DEVICES: usize = roce_common::tap::MAX_TAPS as usize / 2;

/// Where a record's packets are booked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Account {
    peer: PeerIndex,
    qp: QpIndex,
    device: u8,
}

/// Totals that outlive records.
#[derive(Debug)]
pub(super) struct Ledger {
    pub(super) peers: PeerTable,
    pub(super) qps: QpTable,
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
            evicted: [0; MAX_DEVICES],
            busy: 0,
            unplaced: 0,
        }
    }

    /// Opens an account for a record; `None` for the key of an empty slot.
    pub(super) fn open(&mut self, key: &WideKey) -> Option<Account> {
        let FlowId { tap, src, dst, dst_qp, .. } = FlowId::of(key)?;
        let device = tap / 2;
        let peer = self.peers.place(device, src, dst);
        let qp = self.qps.open(QpKey { tap, src, dst, dst_qp });
        Some(Account { peer, qp, device })
    }

    pub(super) fn book(&mut self, account: Account, counts: Counts) {
        self.peers.count(account.peer, counts);
        self.qps.count(account.qp, counts);
    }

    /// Books on the hosts alone, for packets whose flow is not kept.
    pub(super) fn book_unplaced(&mut self, key: &WideKey, counts: Counts) {
        if let Some(id) = FlowId::of(key) {
            let peer = self.peers.place(id.tap / 2, id.src, id.dst);
            self.peers.count(peer, counts);
        }
        self.unplaced += counts.packets;
    }

    /// Closes the account of a record that is gone.
    pub(super) fn close(&mut self, account: Account) {
        let was_last = self.qps.close(account.qp);
        if let Some(evicted) = self.evicted.get_mut(usize::from(account.device)) {
            *evicted += u64::from(was_last);
        }
    }

    /// Queue pairs of which the last record is gone.
    pub(super) fn evicted(&self, device: usize) -> u64 {
        self.evicted.get(device).copied().unwrap_or(0)
    }
}
