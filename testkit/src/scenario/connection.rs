//! Two queue pairs, their addresses, and how their packets are marked.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::truth::FlowKey;
use crate::packet::{Ecn, Mac, Opcode, Packet, VlanTag};

/// One side of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Endpoint {
    /// Ethernet address.
    pub mac: Mac,
    /// IP address, or GID of `RoCEv1`.
    pub ip: IpAddr,
    /// Queue pair number.
    pub qp: u32,
}

/// A connection from the requester to the responder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connection {
    /// Sends requests.
    pub requester: Endpoint,
    /// Answers them.
    pub responder: Endpoint,
    /// DSCP of everything but CNPs.
    pub dscp: u8,
    /// ECN of everything.
    pub ecn: Ecn,
    /// VLAN tags of everything, outermost first.
    pub tags: Vec<VlanTag>,
    /// Payload bytes of a full packet.
    pub pmtu: usize,
    /// PSN of the requester's first request.
    pub first_psn: u32,
    /// `RoCEv1` instead of `RoCEv2`; both addresses must be IPv6.
    pub roce_v1: bool,
}

impl Connection {
    /// Connection `number` over IPv4: DSCP 26, ECT(0), PMTU 1024, untagged.
    ///
    /// Different numbers give different addresses and QPs.
    pub fn ipv4(number: u16) -> Self {
        let [high, low] = number.to_be_bytes();
        Self::between(
            number,
            Ipv4Addr::new(198, 18, high, low).into(),
            Ipv4Addr::new(198, 19, high, low).into(),
        )
    }

    /// Connection `number` over IPv6, marked as [`Connection::ipv4`].
    pub fn ipv6(number: u16) -> Self {
        Self::between(
            number,
            Ipv6Addr::new(0x2001, 0xdb8, 0xa, 0, 0, 0, 0, number).into(),
            Ipv6Addr::new(0x2001, 0xdb8, 0xb, 0, 0, 0, 0, number).into(),
        )
    }

    /// Connection `number` over `RoCEv1`, between the GIDs of [`Connection::ipv6`].
    pub fn roce_v1(number: u16) -> Self {
        Self { roce_v1: true, ..Self::ipv6(number) }
    }

    /// The same two queue pairs with the roles swapped.
    #[must_use]
    pub fn swapped(&self) -> Self {
        Self { requester: self.responder, responder: self.requester, ..self.clone() }
    }

    /// The flow that requests are counted in.
    pub const fn request_flow(&self) -> FlowKey {
        flow(&self.requester, &self.responder)
    }

    /// The flow that responses and CNPs for the requester are counted in.
    pub const fn response_flow(&self) -> FlowKey {
        flow(&self.responder, &self.requester)
    }

    /// A packet from the requester to the responder.
    pub fn forward(&self, opcode: Opcode) -> Packet {
        self.packet(opcode, &self.requester, &self.responder)
    }

    /// A packet from the responder to the requester.
    pub fn backward(&self, opcode: Opcode) -> Packet {
        self.packet(opcode, &self.responder, &self.requester)
    }

    /// A CNP from the responder: DSCP 48, for the requester's QP.
    pub fn cnp(&self) -> Packet {
        self.backward(Opcode::CNP).dscp(48)
    }

    fn packet(&self, opcode: Opcode, from: &Endpoint, to: &Endpoint) -> Packet {
        let mut packet = Packet::new(opcode);
        packet = match (self.roce_v1, from.ip, to.ip) {
            (true, IpAddr::V6(sgid), IpAddr::V6(dgid)) => packet.roce_v1(sgid, dgid),
            _ => packet.ip(from.ip, to.ip),
        };
        for tag in &self.tags {
            packet = packet.vlan(*tag);
        }
        packet
            .macs(from.mac, to.mac)
            .dscp(self.dscp)
            .ecn(self.ecn)
            .udp_source(udp_source_port(from.qp, to.qp))
            .dest_qp(to.qp)
    }

    fn between(number: u16, requester: IpAddr, responder: IpAddr) -> Self {
        let [high, low] = number.to_be_bytes();
        let end = |side, ip, qp| Endpoint { mac: [0x02, 0, 0, side, high, low], ip, qp };
        Self {
            requester: end(0x0a, requester, 0x1000 + u32::from(number)),
            responder: end(0x0b, responder, 0x2_0000 + u32::from(number)),
            dscp: 26,
            ecn: Ecn::Ect0,
            tags: Vec::new(),
            pmtu: 1024,
            first_psn: 0,
            roce_v1: false,
        }
    }
}

const fn flow(from: &Endpoint, to: &Endpoint) -> FlowKey {
    FlowKey { src: from.ip, dst: to.ip, dst_qp: to.qp }
}

/// The source port Linux derives from two QPs when no flow label is set
/// (`rdma_calc_flow_label` and `rdma_flow_label_to_udp_sport` in `ib_verbs.h`).
fn udp_source_port(a: u32, b: u32) -> u16 {
    let mut mixed = u64::from(a) * u64::from(b);
    mixed ^= mixed >> 20;
    mixed ^= mixed >> 40;
    let label = (mixed & 0xf_ffff) as u32;
    ((label & 0x3fff) ^ ((label & 0xf_c000) >> 14)) as u16 | 0xc000
}
