//! The records of one table.

use roce_common::flow::{FlowCold, FlowKey, FlowSlot, PsnSpace, RecordTag, WideKey};
use roce_common::marking::MarkingPolicy;
use roce_common::psn::Psn;
use roce_common::sequence::SequenceWord;
use roce_common::wire::Transport;

use super::counts::Mark;
use super::history::{Histories, HistoryId, Second};
use super::ledger::{Account, Ledger, OpenPsns};
use super::picture::ladder_age;
use super::troubles::{LadderLook, LadderWatch, Troubles};
use super::{Moment, RecordSource};
use crate::bpf::RecordState;
use crate::capture::Timestamp;
use crate::flow::{FlowId, Record, RecordSnapshot, RecordTotals};

/// From this part of its capacity on, a table gives up its longest idle records.
const PRESSURE: (usize, usize) = (9, 10);
/// A record in use is not given up, however full the table.
const MIN_IDLE_SECONDS: u32 = 5;
/// Records given up in one sweep because the table is full.
const MAX_EVICTIONS: usize = 4096;

/// What is kept of every slot of a table.
#[derive(Debug)]
pub(super) struct Records<K> {
    /// By slot; small, for it is walked in every sweep.
    seen: Vec<Seen>,
    /// By slot.
    tracked: Vec<Option<Box<Tracked<K>>>>,
    used: usize,
    /// Records that the table is made for. It has half as many slots more.
    capacity: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// Packet counter of the slot when it was read.
    packets: u32,
    /// Second of the last sweep that found it changed.
    active: u32,
    /// It has side state, which also changes by what the other direction says.
    has_sequence: bool,
}

#[derive(Debug)]
struct Tracked<K> {
    key: K,
    account: Account,
    before: RecordSnapshot,
    totals: RecordTotals,
    open: OpenPsns,
    /// Of requests, the last try of the retry ladder that the sender is on, and the highest PSN then.
    last_try: (u32, Option<Psn>),
    last_seen: Timestamp,
    history: Option<HistoryId>,
    watch: LadderWatch,
    /// Its PSN state when it was last read.
    word: SequenceWord,
    /// Whether the record of the other direction is known; of requests, that of their ACKs.
    has_peer: bool,
    /// Of requests, whether the record of their READ responses is known.
    has_responses: bool,
}

impl<K> Tracked<K> {
    /// Tries of the retry ladder that the sender of these requests is on.
    ///
    /// Where the tap does not see the answers, a sender that goes on to new PSNs had one.
    fn tries(&mut self) -> u32 {
        let ladder = self.totals.side.as_ref().and_then(|side| side.ladder);
        let tries = ladder.map_or(0, |ladder| ladder.tries);
        let highest = self.totals.highest_psn;
        if self.last_try.0 != tries {
            self.last_try = (tries, highest);
        }
        let sees_answers = self.has_peer || self.has_responses;
        if sees_answers || self.last_try.1 == highest { tries } else { 0 }
    }

    /// The ladder that the sender of these requests is on.
    fn ladder_look(&self, now: Moment) -> Option<LadderLook> {
        let side = self.totals.side.as_deref()?;
        let ladder = side.ladder?;
        let silence = now.wall.since(self.last_seen);
        let is_certain = self.has_peer || self.has_responses;
        let age = ladder_age(&ladder, now);
        Some(LadderLook { ladder, cause: side.cause, age, silence, is_certain })
    }
}

/// A record that does not know all others of its connection.
pub(super) struct Unpaired<K> {
    pub(super) index: usize,
    pub(super) key: K,
    pub(super) space: PsnSpace,
    pub(super) has_peer: bool,
    pub(super) has_responses: bool,
}

/// A record and all that is known of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct SeenRecord<'a> {
    pub(super) id: FlowId,
    pub(super) tag: RecordTag,
    pub(super) totals: &'a RecordTotals,
    pub(super) last_seen: Timestamp,
    pub(super) history: Option<HistoryId>,
    /// Of requests, whether a record of their answers is known.
    pub(super) sees_answers: bool,
}

/// What one sweep works with.
pub(super) struct Sweep<'a> {
    pub(super) now: Moment,
    pub(super) idle_seconds: u32,
    /// Taps that lost packets since the last sweep, as bits.
    pub(super) lossy_taps: u32,
    pub(super) marking: &'a MarkingPolicy,
    pub(super) ledger: &'a mut Ledger,
    pub(super) histories: &'a mut Histories,
    pub(super) troubles: &'a mut Troubles,
}

impl<K: FlowKey + Into<WideKey>> Records<K> {
    pub(super) fn new(slots: usize) -> Self {
        let tracked = std::iter::repeat_with(|| None).take(slots).collect();
        Self { seen: vec![Seen::default(); slots], tracked, used: 0, capacity: slots * 2 / 3 }
    }

    /// Takes up what changed, and takes out what is idle.
    pub(super) fn sweep(&mut self, table: &dyn RecordSource<K>, sweep: &mut Sweep<'_>) {
        let now = sweep.now.seconds();
        let is_tight = self.used * PRESSURE.1 > self.capacity * PRESSURE.0;
        let mut idle = Vec::new();
        for index in 0..self.seen.len() {
            let Some(slot) = table.slot(index) else { break };
            let is_tracked = self.tracked[index].is_some();
            if !is_tracked && slot.key.tag().is_none() {
                continue;
            }
            if let (Some(tracked), Some(tag)) = (&self.tracked[index], slot.key.tag())
                && sweep.lossy_taps >> tag.tap() & 1 != 0
            {
                table.note_tap_loss(index, tracked.word);
            }
            if !is_tracked || self.seen[index].packets != slot.packets {
                self.take_up(table, index, sweep);
                continue;
            }
            if self.seen[index].has_sequence {
                table.settle(index);
                self.take_up(table, index, sweep);
            }
            let idle_seconds = now.saturating_sub(self.seen[index].active);
            if idle_seconds >= sweep.idle_seconds {
                self.evict(table, index, &slot, sweep);
            } else if is_tight && idle_seconds >= MIN_IDLE_SECONDS {
                idle.push((self.seen[index].active, index));
            }
        }
        self.relieve(table, idle, sweep);
    }

    /// Takes out the records that are idle longest.
    fn relieve(
        &mut self,
        table: &dyn RecordSource<K>,
        mut idle: Vec<(u32, usize)>,
        sweep: &mut Sweep<'_>,
    ) {
        let excess = self.used.saturating_sub(self.capacity * PRESSURE.0 / PRESSURE.1);
        let evictions = excess.min(MAX_EVICTIONS);
        if evictions == 0 || idle.is_empty() {
            return;
        }
        if idle.len() > evictions {
            idle.select_nth_unstable(evictions - 1);
            idle.truncate(evictions);
        }
        for (_, index) in idle {
            if let Some(slot) = table.slot(index) {
                self.evict(table, index, &slot, sweep);
            }
        }
    }

    /// Reads a record that is new or has changed.
    fn take_up(&mut self, table: &dyn RecordSource<K>, index: usize, sweep: &mut Sweep<'_>) {
        let Some(record) = table.read(index) else {
            // It keeps its old state: the next sweep takes up both.
            sweep.ledger.busy += 1;
            return;
        };
        let slot = record.slot;
        let is_other = |tracked: &Tracked<K>| !tracked.key.is_same(&slot.key);
        if self.tracked[index].as_deref().is_some_and(is_other) {
            self.forget(index, sweep);
        }
        if slot.packets == 0 && self.tracked[index].is_none() {
            // Claimed, but not yet counted.
            return;
        }
        self.advance(index, &record, sweep);
        if record.cold.peer != 0 || record.cold.responses != 0 {
            self.learn_from_peer(table, index);
        }
    }

    /// Takes over what the record of the other direction knows.
    pub(super) fn learn_from_peer(&mut self, table: &dyn RecordSource<K>, index: usize) {
        let Some(tracked) = &mut self.tracked[index] else { return };
        let totals = &mut tracked.totals;
        if totals.peer_qp.is_some() && totals.path_mtu.is_some() {
            return;
        }
        let Some(record) = table.read(index) else { return };
        (tracked.has_peer, tracked.has_responses) =
            (record.cold.peer != 0, record.cold.responses != 0);
        // Requests may have nothing but READ responses.
        let mut links = [record.cold.peer, record.cold.responses].into_iter();
        let peer = links.find_map(|link| (link as usize).checked_sub(1));
        let Some(peer) = peer.and_then(|peer| table.read(peer)) else { return };
        let connection = |key: K| Into::<WideKey>::into(key).connection();
        if connection(peer.slot.key) == connection(record.slot.key) {
            totals.peer_qp = Some(peer.slot.key.dest_qp());
            let path_mtu = Some(peer.cold.path_mtu()).filter(|path_mtu| *path_mtu != 0);
            totals.path_mtu = totals.path_mtu.or(path_mtu);
        }
    }

    fn advance(&mut self, index: usize, record: &RecordState<K>, sweep: &mut Sweep<'_>) {
        let RecordState { slot, cold, sequence } = record;
        let mut snapshot = RecordSnapshot::of(slot, cold, sweep.marking);
        let (Some(tag), entry) = (slot.key.tag(), &mut self.tracked[index]) else { return };
        let tracked = if let Some(tracked) = entry {
            tracked
        } else {
            let Some(account) = sweep.ledger.open(&slot.key.into()) else { return };
            self.used += 1;
            entry.insert(Box::new(Tracked {
                key: slot.key,
                account,
                before: RecordSnapshot::default(),
                totals: RecordTotals::default(),
                open: OpenPsns::default(),
                last_try: (0, None),
                last_seen: sweep.now.wall,
                history: None,
                watch: LadderWatch::default(),
                word: SequenceWord::default(),
                has_peer: false,
                has_responses: false,
            }))
        };
        let is_untracked = tag.has_psn_order() && cold.sequence == FlowCold::SEQUENCE_REFUSED;
        if tag.has_psn_order() && !is_untracked {
            let totals = sequence.as_ref().map(|state| state.totals).unwrap_or_default();
            snapshot = snapshot.with_sequence(totals);
        }
        (tracked.has_peer, tracked.has_responses) = (cold.peer != 0, cold.responses != 0);
        tracked.word = slot.sequence_word();
        let mark = Mark::of(&tracked.totals);
        let (payload_bytes, naks) = (tracked.totals.payload_bytes, tracked.totals.naks);
        tracked.totals.advance(&tracked.before, &snapshot);
        if is_untracked {
            // Up to now nothing was missing; from now on nobody knows.
            tracked.totals.sequence = None;
        }
        let open = OpenPsns {
            open: tracked.totals.sequence.map_or(0, |sequence| sequence.open),
            is_untracked,
        };
        sweep.ledger.replace_open(tracked.account, tracked.open, open);
        tracked.open = open;
        if let Some(state) = sequence {
            let new = tracked.totals.side.get_or_insert_default().advance(state);
            if let Some(spread) = new {
                sweep.ledger.book_spread(tracked.account, &spread);
            }
            if tag.space() == PsnSpace::Request && tag.transport() != Transport::Uc {
                sweep.ledger.set_ladder(tracked.account, tracked.tries());
            }
        }
        let has_packets = !tracked.before.is_same_as(&snapshot);
        tracked.before = snapshot;
        if has_packets {
            tracked.last_seen = sweep.now.wall;
        }
        if tag.space() == PsnSpace::Acknowledge
            && !tracked.has_peer
            && let Some(id) = FlowId::of(&slot.key.into())
        {
            let (psn, now) = (slot.highest_psn(), &tracked.totals.naks);
            sweep.troubles.note_naks(&id, psn, [&naks, now], sweep.now.wall);
        }
        let counts = mark.counts_until(&tracked.totals, tag);
        let payload_bytes = tracked.totals.payload_bytes - payload_bytes;
        let second = Second::of(sweep.now.seconds(), &counts, payload_bytes);
        sweep.histories.note(&mut tracked.history, second);
        sweep.ledger.book(tracked.account, counts);
        let seen = &mut self.seen[index];
        seen.packets = slot.packets;
        seen.has_sequence = sequence.is_some();
        if has_packets {
            seen.active = sweep.now.seconds();
        }
    }

    /// Takes an idle record out of the table, unless it has just changed.
    fn evict(
        &mut self,
        table: &dyn RecordSource<K>,
        index: usize,
        slot: &FlowSlot<K>,
        sweep: &mut Sweep<'_>,
    ) {
        table.settle(index);
        let Some(last) = table.evict(index, slot) else { return };
        self.advance(index, &last, sweep);
        self.forget(index, sweep);
    }

    fn forget(&mut self, index: usize, sweep: &mut Sweep<'_>) {
        if let Some(tracked) = self.tracked[index].take() {
            sweep.ledger.close(tracked.account, tracked.open);
            sweep.histories.close(tracked.history);
            self.seen[index] = Seen::default();
            self.used -= 1;
        }
    }

    /// Tells of senders that get no answers.
    pub(super) fn look_for_trouble(&mut self, troubles: &mut Troubles, now: Moment) {
        let tracked = self.seen.iter().zip(&mut self.tracked);
        let with_state = tracked.filter(|(seen, _)| seen.has_sequence);
        for tracked in with_state.filter_map(|(_, tracked)| tracked.as_deref_mut()) {
            let Some(id) = FlowId::of(&tracked.key.into()) else { continue };
            let look = (tracked.tries() != 0).then(|| tracked.ladder_look(now)).flatten();
            if let Some(kind) = tracked.watch.look(look) {
                troubles.note_requests(&id, tracked.totals.peer_qp, kind, now.wall);
            }
        }
    }

    /// Records that have side state.
    pub(super) fn with_sequence(&self) -> u64 {
        self.seen.iter().filter(|seen| seen.has_sequence).count() as u64
    }

    /// Records of connections that do not know all others.
    pub(super) fn unpaired(&self) -> impl Iterator<Item = Unpaired<K>> {
        self.tracked.iter().enumerate().filter_map(|(index, tracked)| {
            let tracked = tracked.as_deref()?;
            let tag = tracked.key.tag()?;
            let is_connected = matches!(tag.transport(), Transport::Rc | Transport::Xrc);
            let Tracked { key, has_peer, has_responses, .. } = *tracked;
            let space = tag.space();
            let is_complete = has_peer && (has_responses || space != PsnSpace::Request);
            let unpaired = Unpaired { index, key, space, has_peer, has_responses };
            (is_connected && !is_complete).then_some(unpaired)
        })
    }

    /// All records, with all that is known of them.
    pub(super) fn seen(&self) -> impl Iterator<Item = SeenRecord<'_>> {
        self.tracked.iter().flatten().filter_map(|tracked| {
            Some(SeenRecord {
                id: FlowId::of(&tracked.key.into())?,
                tag: tracked.key.tag()?,
                totals: &tracked.totals,
                last_seen: tracked.last_seen,
                history: tracked.history,
                sees_answers: tracked.has_peer || tracked.has_responses,
            })
        })
    }

    /// All records.
    pub(super) fn iter(&self) -> impl Iterator<Item = Record<'_>> {
        self.tracked.iter().flatten().map(|tracked| Record {
            key: tracked.key.into(),
            totals: &tracked.totals,
            last_seen: Some(tracked.last_seen),
        })
    }
}
