//! Flows of which packets are in the fallback map.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use roce_common::flow::{FlowKey, SpillCount, SpillKey, WideKey};

use super::counts::Mark;
use super::ledger::{Account, OpenPsns};
use super::records::Sweep;
use super::{Moment, Tables};
use crate::bpf::DatapathError;
use crate::flow::{Record, RecordTotals};

/// Sweeps without a packet after which an entry is removed from the fallback map.
const MAX_IDLE_SWEEPS: u32 = 5;
/// Flows kept; the packets of further ones are only in the totals of their hosts.
const MAX_FLOWS: usize = 16_384;

/// What is kept of the fallback map.
#[derive(Debug, Default)]
pub(super) struct Spill {
    entries: HashMap<SpillKey, Known>,
    flows: HashMap<WideKey, SpilledFlow>,
    /// Packets that the taps say they put there, when it was read.
    packets: u64,
}

#[derive(Debug, Default)]
struct Known {
    count: SpillCount,
    idle_sweeps: u32,
}

#[derive(Debug)]
struct SpilledFlow {
    account: Account,
    totals: RecordTotals,
    last_seen: Moment,
}

impl Spill {
    /// Takes up what changed, and removes what is idle. `packets` is what the taps say they ever put
    /// there: reading costs system calls, so it is only done when there is something.
    pub(super) fn sweep(
        &mut self,
        tables: &mut dyn Tables,
        packets: u64,
        sweep: &mut Sweep<'_>,
    ) -> Result<(), DatapathError> {
        self.expire(sweep);
        if packets == self.packets && self.entries.is_empty() {
            return Ok(());
        }
        for (key, count) in tables.spilled()? {
            let known = self.entries.entry(key).or_default();
            let new = difference(&count, &known.count);
            known.count = count;
            if new != SpillCount::default() {
                known.idle_sweeps = 0;
                self.take_up(&key, &new, sweep);
                continue;
            }
            known.idle_sweeps += 1;
            if known.idle_sweeps >= MAX_IDLE_SWEEPS {
                tables.remove_spilled(&key)?;
                self.entries.remove(&key);
            }
        }
        self.packets = packets;
        Ok(())
    }

    fn take_up(&mut self, key: &SpillKey, new: &SpillCount, sweep: &mut Sweep<'_>) {
        let Some(tag) = key.flow.tag() else { return };
        let is_known = self.flows.contains_key(&key.flow);
        if !is_known && self.flows.len() >= MAX_FLOWS {
            let mut totals = RecordTotals::default();
            let mark = Mark::of(&totals);
            totals.add_spill(key, new, sweep.marking);
            sweep.ledger.book_unplaced(&key.flow, mark.counts_until(&totals, tag));
            return;
        }
        let flow = match self.flows.entry(key.flow) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(vacant) => {
                let Some(account) = sweep.ledger.open(&key.flow) else { return };
                let (totals, last_seen) = (RecordTotals::default(), sweep.now);
                vacant.insert(SpilledFlow { account, totals, last_seen })
            }
        };
        let mark = Mark::of(&flow.totals);
        flow.totals.add_spill(key, new, sweep.marking);
        flow.last_seen = sweep.now;
        sweep.ledger.book(flow.account, mark.counts_until(&flow.totals, tag));
    }

    fn expire(&mut self, sweep: &mut Sweep<'_>) {
        let now = sweep.now.seconds();
        self.flows.retain(|_, flow| {
            let is_idle = now.saturating_sub(flow.last_seen.seconds()) >= sweep.idle_seconds;
            if is_idle {
                sweep.ledger.close(flow.account, OpenPsns::default());
            }
            !is_idle
        });
    }

    /// All flows. They may have a record in a table too, to which these add.
    pub(super) fn iter(&self) -> impl Iterator<Item = Record<'_>> {
        self.flows.iter().map(|(key, flow)| Record {
            key: *key,
            totals: &flow.totals,
            last_seen: Some(flow.last_seen.wall),
        })
    }
}

/// What came since `before`; everything when the entry was made anew meanwhile.
fn difference(now: &SpillCount, before: &SpillCount) -> SpillCount {
    if now.packets < before.packets {
        return *now;
    }
    SpillCount {
        packets: now.packets - before.packets,
        wire_bytes: now.wire_bytes.saturating_sub(before.wire_bytes),
        payload_bytes: now.payload_bytes.saturating_sub(before.payload_bytes),
    }
}
