//! Packets of every shape, with the fields they were built from.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use roce_testkit::packet::{
    Aeth, AtomicEth, Deth, Ecn, ExtHeader, Ipv6Ext, Opcode, Packet, Reth, VlanTag, all_opcodes,
};
use std::net::{IpAddr, Ipv6Addr};

/// What is below the BTH.
#[derive(Clone, Debug)]
pub(crate) enum Network {
    V4 { addresses: [[u8; 4]; 2], options: Vec<u8> },
    V6 { addresses: [Ipv6Addr; 2], extensions: Vec<Ipv6Ext> },
    V1 { addresses: [Ipv6Addr; 2] },
}

/// BTH fields beside opcode and pad count.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "they are bits of the header")]
pub(crate) struct BthFields {
    pub(crate) partition_key: u16,
    pub(crate) dest_qp: u32,
    pub(crate) psn: u32,
    pub(crate) ack_req: bool,
    pub(crate) solicited: bool,
    pub(crate) migrated: bool,
    pub(crate) fecn: bool,
    pub(crate) becn: bool,
}

/// Values for all extended headers; an opcode takes the ones it has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extended {
    pub(crate) reth: Reth,
    pub(crate) aeth: Aeth,
    pub(crate) deth: Deth,
    pub(crate) atomic: AtomicEth,
    pub(crate) original: u64,
    pub(crate) word: u32,
}

/// A packet before it is built.
#[derive(Clone, Debug)]
pub(crate) struct Spec {
    pub(crate) opcode: Opcode,
    pub(crate) network: Network,
    pub(crate) tags: Vec<VlanTag>,
    pub(crate) traffic_class: u8,
    pub(crate) ttl: u8,
    pub(crate) flow_label: u32,
    pub(crate) source_port: u16,
    pub(crate) udp_checksum: u16,
    pub(crate) bth: BthFields,
    pub(crate) extended: Extended,
    pub(crate) payload: Vec<u8>,
}

impl Spec {
    pub(crate) fn packet(&self) -> Packet {
        let packet = Packet::new(self.opcode);
        let packet = match &self.network {
            Network::V4 { addresses: [source, destination], options } => packet
                .ip(IpAddr::from(*source), IpAddr::from(*destination))
                .ip_options(options.clone()),
            Network::V6 { addresses: [source, destination], extensions } => extensions
                .iter()
                .fold(packet.ip((*source).into(), (*destination).into()), |packet, extension| {
                    packet.ipv6_ext(extension.clone())
                }),
            Network::V1 { addresses: [source, destination] } => {
                packet.roce_v1(*source, *destination)
            }
        };
        let ecn = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::from(self.traffic_class & 3)];
        let packet = self.tags.iter().fold(packet, |packet, tag| packet.vlan(*tag));
        packet
            .dscp(self.traffic_class >> 2)
            .ecn(ecn)
            .ttl(self.ttl)
            .flow_label(self.flow_label)
            .udp_source(self.source_port)
            .udp_checksum(self.udp_checksum)
            .pkey(self.bth.partition_key)
            .dest_qp(self.bth.dest_qp)
            .psn(self.bth.psn)
            .ack_req(self.bth.ack_req)
            .solicited(self.bth.solicited)
            .migrated(self.bth.migrated)
            .fecn(self.bth.fecn)
            .becn(self.bth.becn)
            .reth(self.extended.reth)
            .aeth(self.extended.aeth)
            .deth(self.extended.deth)
            .atomic(self.extended.atomic)
            .atomic_ack(self.extended.original)
            .immediate(self.extended.word)
            .invalidate(self.extended.word)
            .xrc_srq(self.extended.word & 0x00ff_ffff)
            .feth(self.extended.word)
            .payload(self.payload.clone())
    }

    /// Bytes between BTH and payload.
    pub(crate) fn extended_len(&self) -> usize {
        let headers: usize = self.opcode.headers().iter().map(|header| header.size()).sum();
        if self.opcode == Opcode::CNP { 16 } else { headers }
    }

    /// Where the network layer starts.
    pub(crate) fn network_offset(&self) -> usize {
        14 + 4 * self.tags.len()
    }

    /// Length of the network header with options or extension headers.
    pub(crate) fn network_len(&self) -> usize {
        match &self.network {
            Network::V4 { options, .. } => 20 + options.len().next_multiple_of(4),
            Network::V6 { extensions, .. } => {
                40 + extensions.iter().map(|extension| extension.bytes.len()).sum::<usize>()
            }
            Network::V1 { .. } => 40,
        }
    }

    /// Where the BTH starts.
    pub(crate) fn bth_offset(&self) -> usize {
        let udp = if matches!(self.network, Network::V1 { .. }) { 0 } else { 8 };
        self.network_offset() + self.network_len() + udp
    }

    /// Where an extended header ends; `None` when the opcode does not have it.
    pub(crate) fn end_of(&self, header: ExtHeader) -> Option<usize> {
        let headers = self.opcode.headers();
        let index = headers.iter().position(|&other| other == header)?;
        let len: usize = headers[..=index].iter().map(|header| header.size()).sum();
        Some(self.bth_offset() + 12 + len)
    }
}

/// Any packet of up to `max_payload` bytes. Reliable datagrams are not among them: nobody sends any,
/// and the parser does not read their headers.
pub(crate) fn spec(max_payload: usize) -> impl Strategy<Value = Spec> {
    let opcodes: Vec<Opcode> =
        all_opcodes().iter().map(|row| row.code).filter(|code| code.0 >> 5 != 2).collect();
    let marking = (any::<u8>(), any::<u8>(), 0..1u32 << 20);
    let ports = (any::<u16>(), any::<u16>());
    let payload = vec(any::<u8>(), 0..=max_payload);
    let below = (network(), vec(tag(), 0..=2), marking, ports);
    (select(opcodes), below, bth_fields(), extended(), payload).prop_map(
        |(opcode, (network, tags, marking, ports), bth, extended, payload)| Spec {
            opcode,
            network,
            tags,
            traffic_class: marking.0,
            ttl: marking.1,
            flow_label: marking.2,
            source_port: ports.0,
            udp_checksum: ports.1,
            bth,
            extended,
            payload,
        },
    )
}

fn tag() -> impl Strategy<Value = VlanTag> {
    (any::<bool>(), 0..4096u16, 0..8u8).prop_map(|(is_service, vid, pcp)| {
        if is_service { VlanTag::service(vid, pcp) } else { VlanTag::customer(vid, pcp) }
    })
}

fn network() -> impl Strategy<Value = Network> {
    let wide = || any::<[[u8; 16]; 2]>().prop_map(|pair| pair.map(Ipv6Addr::from));
    prop_oneof![
        (any::<[[u8; 4]; 2]>(), vec(any::<u8>(), 0..=40))
            .prop_map(|(addresses, options)| Network::V4 { addresses, options }),
        (wide(), vec(extension(), 0..=4))
            .prop_map(|(addresses, extensions)| Network::V6 { addresses, extensions }),
        wide().prop_map(|addresses| Network::V1 { addresses }),
    ]
}

fn extension() -> impl Strategy<Value = Ipv6Ext> {
    let authentication = || Ipv6Ext { protocol: 51, bytes: [&[0, 4][..], &[7; 22]].concat() };
    prop_oneof![
        (0..3u8).prop_map(Ipv6Ext::hop_by_hop),
        (0..40u8).prop_map(Ipv6Ext::destination_options),
        Just(Ipv6Ext::routing()),
        // A whole datagram in one fragment (RFC 6946).
        any::<u32>().prop_map(|id| Ipv6Ext::fragment(0, false, id)),
        Just(authentication()),
    ]
}

fn bth_fields() -> impl Strategy<Value = BthFields> {
    (any::<u16>(), 0..1u32 << 24, 0..1u32 << 24, any::<[bool; 5]>()).prop_map(
        |(partition_key, dest_qp, psn, [ack_req, solicited, migrated, fecn, becn])| BthFields {
            partition_key,
            dest_qp,
            psn,
            ack_req,
            solicited,
            migrated,
            fecn,
            becn,
        },
    )
}

fn extended() -> impl Strategy<Value = Extended> {
    let values = (any::<[u64; 4]>(), any::<[u32; 4]>(), any::<u8>(), 0..1u32 << 24, 0..1u32 << 24);
    values.prop_map(|([va, swap_add, compare, original], words, syndrome, msn, src_qp)| {
        let [rkey, dma_len, qkey, word] = words;
        Extended {
            reth: Reth { va, rkey, dma_len },
            aeth: Aeth { syndrome, msn },
            deth: Deth { qkey, src_qp },
            atomic: AtomicEth { va, rkey, swap_add, compare },
            original,
            word,
        }
    })
}
