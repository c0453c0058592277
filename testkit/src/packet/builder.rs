//! The packet under construction.

use std::net::Ipv4Addr;

use super::bth::{self, Bth};
use super::facts::Facts;
use super::headers::ExtValues;
use super::link::{self, Mac, VlanTag};
use super::network::{Common, Ecn, Ipv4Fields, Network};
use super::opcode::{ExtHeader, Opcode};
use super::{ROCE_V2_PORT, icrc};

/// Reserved bytes behind the BTH of a CNP (IBTA Annex A17).
const CNP_RESERVED: usize = 16;
const UDP_LEN: usize = 8;
const ICRC_LEN: usize = 4;

/// A RoCE packet; setters change one field, [`Packet::build`] gives the Ethernet frame.
///
/// Starts as `RoCEv2` over IPv4 between documentation addresses, UDP source port 49152, default
/// partition, TTL 64, not ECN-capable, no payload. Pad, lengths, checksums and ICRC follow from
/// the rest; the `force_` setters override them for malformed frames. Say [`Packet::ip`] or
/// [`Packet::roce_v1`] before the setters of that header's own fields.
#[derive(Debug, Clone)]
#[must_use]
pub struct Packet {
    pub(super) src_mac: Mac,
    pub(super) dst_mac: Mac,
    pub(super) tags: Vec<VlanTag>,
    pub(super) network: Network,
    pub(super) common: Common,
    pub(super) udp_source: u16,
    pub(super) udp_dest: u16,
    pub(super) udp_checksum: u16,
    pub(super) bth: Bth,
    pub(super) ext: ExtValues,
    pub(super) payload: Vec<u8>,
    pub(super) forced: Forced,
}

/// Fields that normally follow from the rest.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Forced {
    pub(super) ip_len: Option<u16>,
    pub(super) udp_len: Option<u16>,
    pub(super) pad_count: Option<u8>,
    pub(super) icrc: Option<[u8; 4]>,
}

impl Packet {
    /// A packet with `opcode` and the extended headers that belong to it.
    ///
    /// A CNP gets BECN, as every CNP on the wire has.
    pub fn new(opcode: Opcode) -> Self {
        Self {
            src_mac: [0x02, 0, 0, 0, 0, 0x01],
            dst_mac: [0x02, 0, 0, 0, 0, 0x02],
            tags: Vec::new(),
            network: ipv4(Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(192, 0, 2, 2)),
            common: Common { traffic_class: 0, hop_limit: 64 },
            udp_source: 0xc000,
            udp_dest: ROCE_V2_PORT,
            udp_checksum: 0,
            bth: Bth::new(opcode),
            ext: ExtValues::default(),
            payload: Vec::new(),
            forced: Forced::default(),
        }
    }

    /// The Ethernet frame without FCS and without padding to the minimum size.
    ///
    /// # Panics
    /// When the packet is longer than the 65535 bytes an IP length can say.
    pub fn build(&self) -> Vec<u8> {
        let transport_len = self.transport_len();
        let network_len = self.network.len();
        assert!(network_len + transport_len <= 0xffff, "{transport_len} bytes do not fit in IP");
        let mut frame = Vec::with_capacity(link::len(&self.tags) + network_len + transport_len);
        link::write(self.dst_mac, self.src_mac, &self.tags, self.network.ethertype(), &mut frame);
        let packet_at = frame.len();
        let ip_len = self.network.length_field(transport_len);
        self.network.write(self.common, self.forced.ip_len.unwrap_or(ip_len), &mut frame);
        if self.network.has_udp() {
            let udp_len = self.forced.udp_len.unwrap_or(transport_len as u16);
            for field in [self.udp_source, self.udp_dest, udp_len, self.udp_checksum] {
                frame.extend(field.to_be_bytes());
            }
        }
        let pad = self.forced.pad_count.unwrap_or(self.pad_len() as u8);
        self.bth.write(pad, &mut frame);
        for header in self.bth.opcode.headers() {
            self.ext.write(*header, &mut frame);
        }
        frame.resize(frame.len() + self.reserved_len(), 0);
        frame.extend(&self.payload);
        frame.resize(frame.len() + self.pad_len(), 0);
        let icrc = self
            .forced
            .icrc
            .unwrap_or_else(|| icrc::compute(&frame[packet_at..], &self.network, network_len));
        frame.extend(icrc);
        frame
    }

    /// What this packet counts as: the fields reports and metrics are made of.
    pub fn facts(&self) -> Facts {
        let (src, dst) = self.network.addresses();
        let headers = self.bth.opcode.headers();
        Facts {
            src,
            dst,
            dst_qp: self.bth.dest_qp & 0x00ff_ffff,
            opcode: self.bth.opcode,
            psn: self.bth.psn,
            wire_bytes: (link::len(&self.tags) + self.network.len() + self.transport_len()) as u64,
            payload_bytes: self.payload.len() as u64,
            dscp: self.common.traffic_class >> 2,
            ecn: [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce]
                [usize::from(self.common.traffic_class & 3)],
            syndrome: headers.contains(&ExtHeader::Aeth).then_some(self.ext.aeth.syndrome),
        }
    }

    fn pad_len(&self) -> usize {
        self.payload.len().wrapping_neg() & 3
    }

    fn reserved_len(&self) -> usize {
        if self.bth.opcode == Opcode::CNP { CNP_RESERVED } else { 0 }
    }

    /// Bytes behind the network header: UDP (if any) up to and including the ICRC.
    fn transport_len(&self) -> usize {
        let udp = if self.network.has_udp() { UDP_LEN } else { 0 };
        let headers: usize = self.bth.opcode.headers().iter().map(|header| header.size()).sum();
        let payload = self.payload.len() + self.pad_len();
        udp + bth::LEN + headers + self.reserved_len() + payload + ICRC_LEN
    }
}

pub(super) fn ipv4(src: Ipv4Addr, dst: Ipv4Addr) -> Network {
    const DONT_FRAGMENT: u16 = 0x4000;
    let fields = Ipv4Fields { id: 0, fragment: DONT_FRAGMENT, options: Vec::new() };
    Network::V4 { src, dst, fields }
}
