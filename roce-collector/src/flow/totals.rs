//! Counters of one record that do not wrap.

use std::collections::BTreeMap;

use roce_common::flow::{
    DSCP_VALUES, FlowCold, FlowKey, OPCODE_COUNTERS, SpillCount, SpillKey, WIRE_BYTES_BITS,
    opcode_index,
};
use roce_common::marking::MarkingPolicy;
use roce_common::psn::Psn;
use roce_common::tap::{NAK_COUNTERS, NAK_RNR};
use roce_common::wire::{RNR_TIMER_MICROSECONDS, VlanTag};

use super::{RecordSnapshot, SequenceReport, SideTotals};

/// Everything one record ever counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordTotals {
    /// Packets.
    pub packets: u64,
    /// Bytes from the Ethernet header to the end of the IP packet.
    pub wire_bytes: u64,
    /// Bytes after all headers, without padding and ICRC.
    pub payload_bytes: u64,
    /// Packets by opcode; [`roce_common::flow::opcode_of_index`] says which, given the record's tag.
    pub opcodes: [u64; OPCODE_COUNTERS],
    /// Packets by ECN codepoint, in the order of its two bits.
    pub ecn: [u64; 4],
    /// Packets by DSCP, as far as the record told values apart.
    pub dscp: BTreeMap<u8, u64>,
    /// Packets with other DSCPs: the record keeps the first [`DSCP_VALUES`] apart.
    pub dscp_other: u64,
    /// How often the DSCP of a packet was another than that of the one before.
    pub dscp_changes: u64,
    /// How often the UDP source port of a packet was another than that of the one before.
    pub source_port_changes: u64,
    /// Packets with an unexpected DSCP.
    pub wrong_dscp: u64,
    /// Data packets that are not ECN-capable.
    pub wrong_ecn: u64,
    /// Packets with either.
    pub mismarked: u64,
    /// Negative acknowledgements; see [`roce_common::tap::nak_index`].
    pub naks: [u64; NAK_COUNTERS],
    /// Timer code of the last RNR NAK.
    pub rnr_timer_code: Option<u8>,
    /// Outer VLAN tag when the last run started.
    pub vlan: Option<VlanTag>,
    /// First PSN seen.
    pub first_psn: Option<Psn>,
    /// Highest PSN seen, in serial order.
    pub highest_psn: Option<Psn>,
    /// UDP source port of the last packet; `None` before the first one.
    pub source_port: Option<u16>,
    /// Packets that came by [`Self::add_spill`]: what needs an order (PSNs, ports, changes, VLAN, RNR
    /// timer) does not know of them.
    pub spilled_packets: u64,
    /// What became of its PSNs; `None` where nobody looked, and where they have no order.
    pub sequence: Option<SequenceReport>,
    /// What the PSN engine keeps beside the record, if it needed to and works on the record itself.
    pub side: Option<Box<SideTotals>>,
    /// Path MTU, where learnt.
    pub path_mtu: Option<u32>,
    /// QP of the sender, where the kernel has found the record of the other direction.
    pub peer_qp: Option<u32>,
}

impl RecordTotals {
    /// Adds what was counted between two looks at a record.
    ///
    /// Between them, a record may count less than 2^32 packets and 2^32 bytes of headers.
    pub fn advance(&mut self, before: &RecordSnapshot, now: &RecordSnapshot) {
        let RecordSnapshot { packets, wire_bytes, source_port, highest_psn, cold, sequence } = *now;
        if let Some(sequence) = sequence {
            let report = self.sequence.get_or_insert_default();
            report.advance(&before.sequence.unwrap_or_default(), &sequence);
        }
        let new_packets = packets.wrapping_sub(before.packets);
        if new_packets == 0 {
            return;
        }
        let new_bytes = wire_bytes.wrapping_sub(before.wire_bytes) & WIRE_BYTES_MASK;
        let new_header_bytes = cold.header_bytes.wrapping_sub(before.cold.header_bytes);
        self.packets += u64::from(new_packets);
        self.wire_bytes += new_bytes;
        self.payload_bytes += new_bytes.saturating_sub(u64::from(new_header_bytes));
        self.source_port = Some(source_port);
        // None after a restart, until the next packet.
        self.highest_psn = highest_psn.or(self.highest_psn);
        self.advance_cold(&before.cold, &cold);
    }

    fn advance_cold(&mut self, before: &FlowCold, now: &FlowCold) {
        // Named one by one, so that no counter is forgotten here when a record gets a new one.
        let FlowCold {
            header_bytes: _,
            run_packets: _,
            first_and_codes: _,
            opcodes,
            ecn,
            dscp,
            dscp_values: _,
            dscp_changes,
            source_port_changes,
            wrong_dscp,
            wrong_ecn,
            mismarked,
            naks,
            vlan: _,
            largest_payload: _,
            sequence: _,
            peer: _,
            responses: _,
        } = now;
        add_differences(&mut self.opcodes, &before.opcodes, opcodes);
        add_differences(&mut self.ecn, &before.ecn, ecn);
        add_differences(&mut self.naks, &before.naks, naks);
        for (index, (&old, &new)) in before.dscp.iter().zip(dscp).enumerate() {
            let difference = u64::from(new.wrapping_sub(old));
            match now.dscp_value(index) {
                _ if difference == 0 => {}
                Some(value) => *self.dscp.entry(value).or_default() += difference,
                None => self.dscp_other += difference,
            }
        }
        for (total, old, new) in [
            (&mut self.dscp_changes, before.dscp_changes, *dscp_changes),
            (&mut self.source_port_changes, before.source_port_changes, *source_port_changes),
            (&mut self.wrong_dscp, before.wrong_dscp, *wrong_dscp),
            (&mut self.wrong_ecn, before.wrong_ecn, *wrong_ecn),
            (&mut self.mismarked, before.mismarked, *mismarked),
        ] {
            *total += u64::from(new.wrapping_sub(old));
        }
        self.first_psn = self.first_psn.or(Some(now.first_psn()));
        if self.naks[usize::from(NAK_RNR)] != 0 {
            self.rnr_timer_code = Some(now.rnr_timer_code());
        }
        self.vlan = now.vlan();
        if now.path_mtu() != 0 {
            self.path_mtu = Some(now.path_mtu());
        }
    }

    /// Adds packets that found no place in their slot; `count` is what came since the last time.
    pub fn add_spill(&mut self, key: &SpillKey, count: &SpillCount, marking: &MarkingPolicy) {
        let SpillCount { packets, wire_bytes, payload_bytes } = *count;
        let class = key.class();
        let traffic_class = class.traffic_class();
        let packet_class = class.packet_class(key.flow.dest_qp());
        self.packets += packets;
        self.spilled_packets += packets;
        self.wire_bytes += wire_bytes;
        self.payload_bytes += payload_bytes;
        self.opcodes[opcode_index(class.opcode())] += packets;
        self.ecn[traffic_class.ecn() as usize] += packets;
        self.add_dscp(traffic_class.dscp(), packets);
        let is_wrong_dscp = marking.is_wrong_dscp(packet_class, traffic_class);
        let is_wrong_ecn = marking.is_wrong_ecn(packet_class, traffic_class);
        self.wrong_dscp += u64::from(is_wrong_dscp) * packets;
        self.wrong_ecn += u64::from(is_wrong_ecn) * packets;
        self.mismarked += u64::from(is_wrong_dscp || is_wrong_ecn) * packets;
        if let Some(nak) = key.nak().and_then(|index| self.naks.get_mut(usize::from(index))) {
            *nak += packets;
        }
    }

    /// Wait that the last RNR NAK asked for, in milliseconds.
    pub fn rnr_timer_ms(&self) -> Option<f64> {
        let microseconds = RNR_TIMER_MICROSECONDS.get(usize::from(self.rnr_timer_code?))?;
        Some(f64::from(*microseconds) / 1000.0)
    }

    /// As a record does it: a bounded number of values is told apart.
    fn add_dscp(&mut self, dscp: u8, packets: u64) {
        if self.dscp.len() < DSCP_VALUES || self.dscp.contains_key(&dscp) {
            *self.dscp.entry(dscp).or_default() += packets;
        } else {
            self.dscp_other += packets;
        }
    }
}

const WIRE_BYTES_MASK: u64 = (1 << WIRE_BYTES_BITS) - 1;

fn add_differences(totals: &mut [u64], before: &[u32], now: &[u32]) {
    for ((total, old), new) in totals.iter_mut().zip(before).zip(now) {
        *total += u64::from(new.wrapping_sub(*old));
    }
}

#[cfg(test)]
mod tests;
