//! The cold part of a record: counters that change once for each run, or on rare events.

use super::{OPCODE_COUNTERS, Run, opcode_index};
use crate::marking::MarkingPolicy;
use crate::tap::NAK_COUNTERS;
use core::hint::black_box;

/// DSCP values a record tells apart; packets with others are summed.
pub const DSCP_VALUES: usize = 3;

/// Bit of a DSCP byte that says that it is used.
const DSCP_USED: u8 = 0x40;
const DSCP_MASK: u8 = 0x3f;

/// Counters that wrap; user space adds up their differences.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowCold {
    /// Header bytes of all closed runs; the rest of the bytes on the wire is payload. It may wrap, for
    /// user space looks more often than any flow can send 4 GiB of headers.
    pub header_bytes: u32,
    /// Packets of the slot when the open run started.
    pub run_packets: u32,
    /// First PSN seen.
    pub first_psn: u32,
    /// Packets by opcode; see [`opcode_index`].
    pub opcodes: [u32; OPCODE_COUNTERS],
    /// Packets by ECN codepoint.
    pub ecn: [u32; 4],
    /// Packets with the DSCP in `dscp_values`, and all others.
    pub dscp: [u32; DSCP_VALUES + 1],
    /// DSCP values in the order they were first seen; see [`Self::dscp_value`].
    pub dscp_values: u32,
    /// How often the DSCP of a packet was another than that of the one before.
    pub dscp_changes: u32,
    /// How often the UDP source port changed.
    pub source_port_changes: u32,
    /// Packets with an unexpected DSCP.
    pub wrong_dscp: u32,
    /// Data packets that are not ECN-capable.
    pub wrong_ecn: u32,
    /// Negative acknowledgements; see [`crate::tap::nak_index`].
    pub naks: [u32; NAK_COUNTERS],
    /// Outer VLAN tag when the last run started; see [`crate::wire::VlanTags::outer_word`].
    pub vlan: u32,
    /// Timer code of the last RNR NAK.
    pub rnr_timer_code: u32,
    /// Packets with an unexpected DSCP, or data packets that are not ECN-capable, or both.
    pub mismarked: u32,
    /// Zero: room for the PSN engine.
    pub reserved: [u32; 2],
}

impl FlowCold {
    /// Books the packets of a run that went to `dest_qp`.
    #[inline(always)]
    pub fn book(&mut self, run: Run, dest_qp: u32, marking: &MarkingPolicy) {
        let Run { class, packets } = run;
        if packets == 0 {
            return;
        }
        let traffic_class = class.traffic_class();
        let packet_class = class.packet_class(dest_qp);
        self.header_bytes = self.header_bytes.wrapping_add(run.header_bytes());
        add(&mut self.opcodes, opcode_index(class.opcode()), packets);
        add(&mut self.ecn, traffic_class.ecn() as usize, packets);
        let dscp_index = self.dscp_index(traffic_class.dscp());
        add(&mut self.dscp, dscp_index, packets);
        let is_wrong_dscp = marking.is_wrong_dscp(packet_class, traffic_class);
        let is_wrong_ecn = marking.is_wrong_ecn(packet_class, traffic_class);
        if is_wrong_dscp {
            self.wrong_dscp = self.wrong_dscp.wrapping_add(packets);
        }
        if is_wrong_ecn {
            self.wrong_ecn = self.wrong_ecn.wrapping_add(packets);
        }
        if is_wrong_dscp || is_wrong_ecn {
            self.mismarked = self.mismarked.wrapping_add(packets);
        }
    }

    /// DSCP that belongs to a counter of [`Self::dscp`]; `None` for the last counter and unused ones.
    pub const fn dscp_value(&self, index: usize) -> Option<u8> {
        if index >= DSCP_VALUES {
            return None;
        }
        match (self.dscp_values >> (index * 8)) as u8 {
            0 => None,
            stored => Some(stored & DSCP_MASK),
        }
    }

    /// Counter of a DSCP; takes a free one when it is new.
    ///
    /// The values lie in one word, each with a bit that says it is used: the verifier follows
    /// arithmetic better than indices that depend on kept values.
    #[inline(always)]
    fn dscp_index(&mut self, dscp: u8) -> usize {
        let wanted = (DSCP_USED | dscp) as u32;
        let [first, second, third, _] = self.dscp_values.to_le_bytes();
        let index = if first == 0 || first as u32 == wanted {
            0
        } else if second == 0 || second as u32 == wanted {
            1
        } else if third == 0 || third as u32 == wanted {
            2
        } else {
            return DSCP_VALUES;
        };
        self.dscp_values |= wanted << (index * 8);
        index
    }
}

#[inline(always)]
pub(super) fn add(counters: &mut [u32], index: usize, count: u32) {
    // The compiler knows what the opcode table holds and would drop the check that the verifier needs.
    let index = black_box(index);
    if let Some(counter) = counters.get_mut(index) {
        *counter = counter.wrapping_add(count);
    }
}

const _: () = assert!(size_of::<FlowCold>() == 192);
