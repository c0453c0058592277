//! Many flows at little cost: one template frame, patched for each packet.

use std::net::Ipv4Addr;
use std::ops::Range;

use crc32fast::Hasher;

use super::truth::{FlowKey, FlowTruth, Truth};
use crate::packet::{Ecn, Facts, Opcode, Packet, Reth, internet_checksum};

const IP: usize = 14;
const IP_CHECKSUM: usize = IP + 10;
const IP_SRC: usize = IP + 12;
const UDP_SRC_PORT: usize = IP + 20;
const BTH: usize = UDP_SRC_PORT + 8;
const DEST_QP: usize = BTH + 5;
const PSN: usize = BTH + 9;
const BTH_END: usize = BTH + 12;
/// Source hosts; flows are spread over them.
const HOSTS: u32 = 1024;
const FIRST_QP: u32 = 0x01_0000;
const DST: Ipv4Addr = Ipv4Addr::new(198, 19, 255, 1);

/// An iterator over RDMA WRITE ONLY frames that go round `flows` flows, each with contiguous PSNs.
///
/// Checksums and ICRCs are right.
#[derive(Debug, Clone)]
pub struct ManyFlows {
    template: Vec<u8>,
    /// What the ICRC covers up to the end of the BTH: 8 bytes of ones, then the headers with their
    /// variant fields set to ones.
    invariant: [u8; 8 + BTH_END - IP],
    facts: Facts,
    flows: u32,
    packets: Range<u64>,
    /// Only flows whose number modulo `.1` is `.0`.
    share: (u32, u32),
}

impl ManyFlows {
    /// `packets` packets over `flows` flows with `payload` bytes each; packet `i` is in flow
    /// `i % flows`.
    ///
    /// # Panics
    /// When there are no flows, or more than the QP numbers left (16,711,680).
    pub fn new(flows: u32, packets: u64, payload: usize) -> Self {
        assert!(
            (1..=0x100_0000 - FIRST_QP).contains(&flows),
            "{flows} flows: between 1 and {} are possible",
            0x100_0000 - FIRST_QP
        );
        let packet = Packet::new(Opcode::RC_RDMA_WRITE_ONLY)
            .ip(source(0).into(), DST.into())
            .dscp(26)
            .ecn(Ecn::Ect0)
            .udp_source(source_port(0))
            .dest_qp(FIRST_QP)
            .reth(Reth { va: 0, rkey: 0x1234, dma_len: payload as u32 })
            .payload_len(payload);
        let template = packet.build();
        Self {
            invariant: mask(&template),
            template,
            facts: packet.facts(),
            flows,
            packets: 0..packets,
            share: (0, 1),
        }
    }

    /// Cuts the packets into `parts` pieces of which each has every flow: sent from several CPUs
    /// at once, every flow is seen on all of them.
    pub fn split_every_flow(&self, parts: u32) -> Vec<Self> {
        let Range { start, end } = self.packets;
        let cut = |part: u32| start + (end - start) * u64::from(part) / u64::from(parts);
        (0..parts).map(|part| Self { packets: cut(part)..cut(part + 1), ..self.clone() }).collect()
    }

    /// Gives each of `parts` pieces some of the flows, whole.
    pub fn split_by_flow(&self, parts: u32) -> Vec<Self> {
        (0..parts).map(|part| Self { share: (part, parts), ..self.clone() }).collect()
    }

    /// Key of flow `number`.
    pub fn key(&self, number: u32) -> FlowKey {
        FlowKey { src: source(number).into(), dst: DST.into(), dst_qp: FIRST_QP + number }
    }

    /// Packets of flow `number` that this iterator has still to yield.
    pub fn packets_of(&self, number: u32) -> u64 {
        if number >= self.flows || number % self.share.1 != self.share.0 {
            return 0;
        }
        let before = |end: u64| (end + u64::from(self.flows - 1 - number)) / u64::from(self.flows);
        before(self.packets.end) - before(self.packets.start)
    }

    /// Bytes of one frame as [`Facts::wire_bytes`] and [`Facts::payload_bytes`] count them.
    pub const fn bytes_per_packet(&self) -> (u64, u64) {
        (self.facts.wire_bytes, self.facts.payload_bytes)
    }

    /// What this iterator has still to yield, flow by flow.
    pub fn truth(&self) -> Truth {
        let mut truth = Truth::default();
        for number in 0..self.flows {
            let packets = self.packets_of(number);
            if packets > 0 {
                let mut flow = FlowTruth::default();
                flow.record(&self.facts, packets);
                truth.flows.insert(self.key(number), flow);
            }
        }
        truth
    }

    fn frame(&self, flow: u32, psn: u32) -> Vec<u8> {
        let mut frame = self.template.clone();
        let mut invariant = self.invariant;
        let src = source(flow).octets();
        let fields: [(usize, &[u8]); 4] = [
            (IP_SRC, &src),
            (UDP_SRC_PORT, &source_port(flow).to_be_bytes()),
            (DEST_QP, &(FIRST_QP + flow).to_be_bytes()[1..]),
            (PSN, &psn.to_be_bytes()[1..]),
        ];
        for (at, value) in fields {
            frame[at..at + value.len()].copy_from_slice(value);
            invariant[at - IP + 8..at - IP + 8 + value.len()].copy_from_slice(value);
        }
        frame[IP_CHECKSUM..IP_CHECKSUM + 2].fill(0);
        let checksum = internet_checksum(&frame[IP..UDP_SRC_PORT]);
        frame[IP_CHECKSUM..IP_CHECKSUM + 2].copy_from_slice(&checksum.to_be_bytes());

        let icrc = frame.len() - 4;
        let mut crc = Hasher::new();
        crc.update(&invariant);
        crc.update(&frame[BTH_END..icrc]);
        frame[icrc..].copy_from_slice(&crc.finalize().to_le_bytes());
        frame
    }
}

/// The beginning of what the ICRC covers; see [`ManyFlows::invariant`].
fn mask(template: &[u8]) -> [u8; 8 + BTH_END - IP] {
    let mut masked = [0xff; 8 + BTH_END - IP];
    masked[8..].copy_from_slice(&template[IP..BTH_END]);
    for variant in [IP + 1, IP + 8, IP_CHECKSUM, IP_CHECKSUM + 1, BTH - 2, BTH - 1, BTH + 4] {
        masked[variant - IP + 8] = 0xff;
    }
    masked
}

impl Iterator for ManyFlows {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            let packet = self.packets.next()?;
            let flow = (packet % u64::from(self.flows)) as u32;
            if flow % self.share.1 == self.share.0 {
                return Some(self.frame(flow, (packet / u64::from(self.flows)) as u32));
            }
        }
    }
}

fn source(flow: u32) -> Ipv4Addr {
    let host = flow % HOSTS;
    Ipv4Addr::new(198, 18, 0x80 | (host >> 8) as u8, host as u8)
}

const fn source_port(flow: u32) -> u16 {
    0xc000 | (flow & 0x3fff) as u16
}
