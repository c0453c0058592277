//! One consistent look at a record.

use roce_common::flow::{FlowCold, FlowKey, FlowSlot};
use roce_common::marking::MarkingPolicy;
use roce_common::psn::Psn;
use roce_common::sequence::SequenceTotals;

/// The counters of a record at one moment, with its open run booked. They wrap.
///
/// The default is the state before the first packet.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecordSnapshot {
    /// Packets, modulo 2^32.
    pub(super) packets: u32,
    /// Bytes on the wire, modulo 2^[`roce_common::flow::WIRE_BYTES_BITS`].
    pub(super) wire_bytes: u64,
    pub(super) source_port: u16,
    pub(super) highest_psn: Option<Psn>,
    pub(super) cold: FlowCold,
    /// Where the PSN engine works on the records themselves.
    pub(super) sequence: Option<SequenceTotals>,
}

impl RecordSnapshot {
    /// The state of a record that nobody changes meanwhile; `marking` is the policy it is kept under.
    pub fn of<K: FlowKey>(slot: &FlowSlot<K>, cold: &FlowCold, marking: &MarkingPolicy) -> Self {
        let mut closed = *cold;
        closed.book(slot.open_run(cold), slot.key.dest_qp(), marking);
        Self {
            packets: slot.packets,
            wire_bytes: slot.wire_bytes(),
            source_port: slot.source_port(),
            highest_psn: slot.highest_psn(),
            cold: closed,
            sequence: None,
        }
    }

    /// With what the PSN engine has counted in the record.
    #[must_use]
    pub fn with_sequence(self, totals: SequenceTotals) -> Self {
        Self { sequence: Some(totals), ..self }
    }

    /// Whether no packet was counted between the two; so seldom wrong (2^32 packets) that it may save
    /// work, when looks are not that far apart.
    pub const fn is_same_as(&self, earlier: &Self) -> bool {
        self.packets == earlier.packets
    }

    /// Bytes of headers since `earlier`. They wrap first of all counters.
    pub const fn header_bytes_since(&self, earlier: &Self) -> u32 {
        self.cold.header_bytes.wrapping_sub(earlier.cold.header_bytes)
    }
}
