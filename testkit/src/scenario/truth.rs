//! What was sent, counted from what the builder was told.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::packet::{Ecn, Facts, Opcode};

/// What packets are counted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowKey {
    /// Source address, or source GID of `RoCEv1`.
    pub src: IpAddr,
    /// Destination address, or destination GID of `RoCEv1`.
    pub dst: IpAddr,
    /// Destination QP.
    pub dst_qp: u32,
}

/// Packets by ECN codepoint.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of RFC 3168")]
pub struct Ecns {
    pub not_ect: u64,
    pub ect0: u64,
    pub ect1: u64,
    pub ce: u64,
}

/// NAK packets by code (AETH syndrome 0x60 to 0x64).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the IBTA NAK codes")]
pub struct Naks {
    pub psn_sequence_error: u64,
    pub invalid_request: u64,
    pub remote_access_error: u64,
    pub remote_operational_error: u64,
    pub invalid_rd_request: u64,
}

/// What happened to the PSNs of a flow's requests, as the tap can know it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PsnTruth {
    /// PSNs the network dropped before the tap.
    pub lost: u64,
    /// Of these, PSNs that a retransmission brought later.
    pub recovered: u64,
    /// Packets whose PSN the tap had seen before.
    pub retransmitted: u64,
}

/// What was sent in one flow.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FlowTruth {
    /// All packets.
    pub packets: u64,
    /// Of these, requests: their PSNs are the flow's own.
    pub requests: u64,
    /// Of these, ACKs, NAKs, READ responses and atomic acknowledges: their PSNs are the peer's.
    pub responses: u64,
    /// Ethernet header with tags plus IP total length.
    pub wire_bytes: u64,
    /// Bytes behind all headers, without pad and ICRC.
    pub payload_bytes: u64,
    /// Packets by IBTA opcode name without the transport.
    pub opcodes: BTreeMap<&'static str, u64>,
    /// Packets by ECN codepoint.
    pub ecn: Ecns,
    /// Packets by DSCP.
    pub dscp: BTreeMap<u8, u64>,
    /// Positive ACKNOWLEDGE packets.
    pub acks: u64,
    /// NAKs.
    pub naks: Naks,
    /// Receiver-not-ready NAKs.
    pub rnr_naks: u64,
    /// Congestion notification packets.
    pub cnps: u64,
    /// Losses and repeats.
    pub psn: PsnTruth,
}

/// Everything a scenario sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Truth {
    /// By flow.
    pub flows: BTreeMap<FlowKey, FlowTruth>,
}

impl Truth {
    /// Counts one packet.
    pub fn record(&mut self, facts: &Facts) {
        let key = FlowKey { src: facts.src, dst: facts.dst, dst_qp: facts.dst_qp };
        self.flows.entry(key).or_default().record(facts, 1);
    }

    /// The flow from `src` to `dst_qp` of `dst`; an empty one if nothing was sent there.
    pub fn flow(&self, key: &FlowKey) -> FlowTruth {
        self.flows.get(key).cloned().unwrap_or_default()
    }

    /// All flows together.
    pub fn totals(&self) -> FlowTruth {
        let mut total = FlowTruth::default();
        for flow in self.flows.values() {
            total.add(flow);
        }
        total
    }

    /// Adds what another scenario sent.
    pub fn merge(&mut self, other: &Self) {
        for (key, flow) in &other.flows {
            self.flows.entry(*key).or_default().add(flow);
        }
    }
}

impl FlowTruth {
    /// Counts `times` packets that are alike.
    pub(super) fn record(&mut self, facts: &Facts, times: u64) {
        let opcode = facts.opcode;
        self.packets += times;
        self.requests += times * u64::from(opcode.is_request());
        self.responses += times * u64::from(opcode.is_response());
        self.wire_bytes += times * facts.wire_bytes;
        self.payload_bytes += times * facts.payload_bytes;
        *self.opcodes.entry(opcode.operation()).or_default() += times;
        *self.dscp.entry(facts.dscp).or_default() += times;
        *self.ecn.of(facts.ecn) += times;
        self.cnps += times * u64::from(opcode == Opcode::CNP);
        if let Some(syndrome) = facts.syndrome {
            self.record_syndrome(opcode, syndrome, times);
        }
    }

    fn record_syndrome(&mut self, opcode: Opcode, syndrome: u8, times: u64) {
        match (syndrome >> 5 & 3, syndrome & 0x1f) {
            (0, _) if opcode.operation() == "ACKNOWLEDGE" => self.acks += times,
            (1, _) => self.rnr_naks += times,
            (3, 0) => self.naks.psn_sequence_error += times,
            (3, 1) => self.naks.invalid_request += times,
            (3, 2) => self.naks.remote_access_error += times,
            (3, 3) => self.naks.remote_operational_error += times,
            (3, 4) => self.naks.invalid_rd_request += times,
            _ => {}
        }
    }

    fn add(&mut self, other: &Self) {
        self.packets += other.packets;
        self.requests += other.requests;
        self.responses += other.responses;
        self.wire_bytes += other.wire_bytes;
        self.payload_bytes += other.payload_bytes;
        for (name, count) in &other.opcodes {
            *self.opcodes.entry(name).or_default() += count;
        }
        for (dscp, count) in &other.dscp {
            *self.dscp.entry(*dscp).or_default() += count;
        }
        self.ecn.not_ect += other.ecn.not_ect;
        self.ecn.ect0 += other.ecn.ect0;
        self.ecn.ect1 += other.ecn.ect1;
        self.ecn.ce += other.ecn.ce;
        self.acks += other.acks;
        self.naks.psn_sequence_error += other.naks.psn_sequence_error;
        self.naks.invalid_request += other.naks.invalid_request;
        self.naks.remote_access_error += other.naks.remote_access_error;
        self.naks.remote_operational_error += other.naks.remote_operational_error;
        self.naks.invalid_rd_request += other.naks.invalid_rd_request;
        self.rnr_naks += other.rnr_naks;
        self.cnps += other.cnps;
        self.psn.lost += other.psn.lost;
        self.psn.recovered += other.psn.recovered;
        self.psn.retransmitted += other.psn.retransmitted;
    }
}

impl Ecns {
    const fn of(&mut self, ecn: Ecn) -> &mut u64 {
        match ecn {
            Ecn::NotEct => &mut self.not_ect,
            Ecn::Ect0 => &mut self.ect0,
            Ecn::Ect1 => &mut self.ect1,
            Ecn::Ce => &mut self.ce,
        }
    }
}

impl Naks {
    /// NAKs of every code.
    pub const fn total(&self) -> u64 {
        self.psn_sequence_error
            + self.invalid_request
            + self.remote_access_error
            + self.remote_operational_error
            + self.invalid_rd_request
    }
}
