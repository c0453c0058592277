//! The cold part of a record: counters that change once for each run, or on rare events.

use super::{OPCODE_COUNTERS, Run, opcode_index};
use crate::marking::MarkingPolicy;
use crate::psn::Psn;
use crate::tap::NAK_COUNTERS;
use crate::wire::VlanTag;
use core::hint::black_box;

/// DSCP values a record tells apart; packets with others are summed.
pub const DSCP_VALUES: usize = 3;

/// Bit of a DSCP byte that says that it is used.
const DSCP_USED: u8 = 0x40;
const DSCP_MASK: u8 = 0x3f;

/// Value of [`FlowCold::vlan`] without a tag; no tag has it, for VLAN 4095 is reserved.
const NO_VLAN: u16 = u16::MAX;

/// Where [`FlowCold::first_and_codes`] has the timer code of the last RNR NAK, of five bits, and above
/// it the code of the path MTU, of three.
const RNR_SHIFT: u32 = 24;
const MTU_SHIFT: u32 = 29;
/// Path MTU of code 0 would be this; codes start at 1.
const HALF_OF_SMALLEST_MTU: u32 = 128;

/// Counters that wrap; user space adds up their differences.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowCold {
    /// Header bytes of all closed runs; the rest of the bytes on the wire is payload. It may wrap, for
    /// user space looks more often than any flow can send 4 GiB of headers.
    pub header_bytes: u32,
    /// Packets of the slot when the open run started.
    pub run_packets: u32,
    /// First PSN seen, and two codes above it: [`Self::first_psn`] and its siblings read them.
    pub first_and_codes: u32,
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
    /// Outer VLAN tag when the last run started, or 65535; [`Self::vlan`] reads it.
    pub vlan: u16,
    /// Largest payload at the start of a run, in bytes; saturating.
    pub largest_payload: u16,
    /// Packets with an unexpected DSCP, or data packets that are not ECN-capable, or both.
    pub mismarked: u32,
    /// Place of the record's [`crate::sequence::SequenceState`], plus 1, or
    /// one of the values below.
    pub sequence: u32,
    /// Record of what answers these requests by ACK, or of the requests that these answer, plus 1; 0 when not known.
    pub peer: u32,
    /// Record of the READ responses to these requests, plus 1; 0 when not known.
    pub responses: u32,
}

impl FlowCold {
    /// Value of [`Self::sequence`] of a record that has needed no side state.
    pub const NO_SEQUENCE: u32 = 0;
    /// Value of [`Self::sequence`] of a record that needed side state when there was none left.
    pub const SEQUENCE_REFUSED: u32 = u32::MAX;

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

    /// First PSN seen.
    #[inline(always)]
    pub const fn first_psn(&self) -> Psn {
        Psn::new(self.first_and_codes)
    }

    /// Timer code of the last RNR NAK; 0 before one.
    #[inline(always)]
    pub const fn rnr_timer_code(&self) -> u8 {
        (self.first_and_codes >> RNR_SHIFT) as u8 & 0x1f
    }

    /// Path MTU in bytes, learnt from First and Middle packets; 0 while not known.
    #[inline(always)]
    pub const fn path_mtu(&self) -> u32 {
        Self::path_mtu_of(self.first_and_codes)
    }

    /// [`Self::path_mtu`] of a record with this [`Self::first_and_codes`].
    #[inline(always)]
    pub const fn path_mtu_of(first_and_codes: u32) -> u32 {
        match first_and_codes >> MTU_SHIFT {
            0 => 0,
            code => HALF_OF_SMALLEST_MTU << code,
        }
    }

    /// Outer VLAN tag when the last run started.
    pub const fn vlan(&self) -> Option<VlanTag> {
        if self.vlan == NO_VLAN { None } else { Some(VlanTag(self.vlan)) }
    }

    #[inline(always)]
    pub(super) const fn set_first_psn(&mut self, psn: Psn) {
        self.first_and_codes = self.first_and_codes & !Psn::MAX.get() | psn.get();
    }

    #[inline(always)]
    pub(super) const fn set_vlan(&mut self, outer_word: u32) {
        self.vlan = if outer_word < NO_VLAN as u32 { outer_word as u16 } else { NO_VLAN };
    }

    #[inline(always)]
    pub(super) const fn set_rnr_timer_code(&mut self, code: u8) {
        let rest = self.first_and_codes & !(0x1f << RNR_SHIFT);
        self.first_and_codes = rest | (code as u32 & 0x1f) << RNR_SHIFT;
    }

    /// Learns from the payload of a packet that starts a run. Of a message in several packets, all but
    /// the last are as large as the path MTU allows (IBTA 9.7.2: 256 to 4096 bytes).
    #[inline(always)]
    pub(super) const fn learn_payload(&mut self, payload: u32, fills_path_mtu: bool) {
        if payload > self.largest_payload as u32 {
            self.largest_payload =
                if payload > u16::MAX as u32 { u16::MAX } else { payload as u16 };
        }
        let code = match payload {
            256 => 1,
            512 => 2,
            1024 => 3,
            2048 => 4,
            4096 => 5,
            _ => return,
        };
        if fills_path_mtu {
            let rest = self.first_and_codes & !(7 << MTU_SHIFT);
            self.first_and_codes = rest | code << MTU_SHIFT;
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
