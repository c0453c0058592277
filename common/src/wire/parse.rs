//! One bounded walk from Ethernet to the BTH.

use super::ipv6::{Extension, extension};
use super::{
    Aeth, Bth, Deth, EtherType, Grh, Ipv4, Ipv6, MAX_EXTENSION_HEADERS, PacketRead, ParseReason,
    ROCE_PORT, Reth, TrafficClass, Udp, VlanTag,
};

/// Invariant CRC at the end of every RoCE packet.
const ICRC_LEN: usize = 4;

/// What a frame turned out to be.
#[derive(Clone, Copy, Debug)]
pub enum Parsed {
    /// A RoCE packet.
    Roce(RocePacket),
    /// Plainly something else.
    NotRoce,
    /// It could be RoCE but cannot be read.
    Malformed(ParseReason),
}

/// RoCE version 1 runs on Ethernet, version 2 on UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RoceVersion {
    /// `EtherType` 0x8915 with a GRH.
    V1,
    /// UDP port 4791.
    V2,
}

/// Source and destination, in network order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addresses {
    /// IPv4.
    V4 {
        /// Sender.
        source: [u8; 4],
        /// Receiver.
        destination: [u8; 4],
    },
    /// IPv6, or the GIDs of `RoCEv1`.
    V6 {
        /// Sender.
        source: [u8; 16],
        /// Receiver.
        destination: [u8; 16],
    },
}

/// Everything the flow record and the PSN engine need of one packet.
#[derive(Clone, Copy, Debug)]
pub struct RocePacket {
    /// Version.
    pub version: RoceVersion,
    /// Source and destination.
    pub addresses: Addresses,
    /// VLAN tags, outer first.
    pub vlans: [Option<VlanTag>; 2],
    /// DSCP and ECN; for `RoCEv1` the traffic class of the GRH.
    pub traffic_class: TrafficClass,
    /// UDP source port; 0 for `RoCEv1`.
    pub source_port: u16,
    /// Base transport header.
    pub bth: Bth,
    /// AETH, where the opcode has one and it was captured.
    pub aeth: Option<Aeth>,
    /// DMA length of a RETH, where the opcode has one and it was captured.
    pub dma_len: Option<u32>,
    /// Source QP of a DETH, where the opcode has one and it was captured.
    pub source_qp: Option<u32>,
    /// Bytes from the Ethernet header to the end of the IP packet: no padding, no FCS.
    pub wire_bytes: u32,
    /// Bytes after all headers, without padding and ICRC.
    pub payload_bytes: u32,
    /// Where the IP header or GRH starts in the frame.
    pub network_offset: usize,
    /// Where the BTH starts in the frame.
    pub bth_offset: usize,
    /// The rest of the datagram is in other fragments: see [`ParseReason::FirstFragment`].
    pub is_first_fragment: bool,
}

/// Link and network layer facts on the way to the BTH.
#[derive(Clone, Copy)]
struct Network {
    vlans: [Option<VlanTag>; 2],
    /// Ethernet and VLAN bytes, also those that were stripped before the tap.
    link_len: usize,
    offset: usize,
}

/// Reads a frame that starts with an Ethernet header.
#[inline(always)]
pub fn parse_ethernet<R: PacketRead>(frame: &R) -> Parsed {
    let Some(bytes) = frame.read(EtherType::OFFSET) else {
        return Parsed::Malformed(ParseReason::TruncatedEthernet);
    };
    let ether_type = EtherType(u16::from_be_bytes(bytes));
    let stripped = frame.stripped_vlan();
    let stripped_len = if stripped.is_some() { VlanTag::LEN } else { 0 };
    let mut network = Network {
        vlans: [stripped, None],
        link_len: EtherType::HEADER_LEN + stripped_len,
        offset: EtherType::HEADER_LEN,
    };
    if !ether_type.is_vlan() {
        return network_layer(frame, ether_type, network);
    }
    match walk_vlans(frame, ether_type, &mut network) {
        Ok(ether_type) => network_layer(frame, ether_type, network),
        Err(reason) => Parsed::Malformed(reason),
    }
}

/// Reads a frame whose network layer starts at `offset`, whatever link layer stands before it.
#[inline(always)]
pub fn parse_network<R: PacketRead>(frame: &R, ether_type: EtherType, offset: usize) -> Parsed {
    // A cooked capture has no Ethernet header; the wire had one.
    let network =
        Network { vlans: [None, None], link_len: EtherType::HEADER_LEN, offset };
    network_layer(frame, ether_type, network)
}

#[inline(always)]
fn walk_vlans<R: PacketRead>(
    frame: &R,
    mut ether_type: EtherType,
    network: &mut Network,
) -> Result<EtherType, ParseReason> {
    for _ in 0..2 {
        if !ether_type.is_vlan() {
            return Ok(ether_type);
        }
        let Some([t0, t1, e0, e1]) = frame.read::<4>(network.offset) else {
            return Err(ParseReason::TruncatedVlan);
        };
        let tag = Some(VlanTag(u16::from_be_bytes([t0, t1])));
        match network.vlans {
            [None, _] => network.vlans = [tag, None],
            [first, None] => network.vlans = [first, tag],
            _ => return Err(ParseReason::TooManyVlanTags),
        }
        ether_type = EtherType(u16::from_be_bytes([e0, e1]));
        network.offset += VlanTag::LEN;
        network.link_len += VlanTag::LEN;
    }
    if ether_type.is_vlan() { Err(ParseReason::TooManyVlanTags) } else { Ok(ether_type) }
}

#[inline(always)]
fn network_layer<R: PacketRead>(frame: &R, ether_type: EtherType, network: Network) -> Parsed {
    match ether_type {
        EtherType::IPV4 => ipv4(frame, network),
        EtherType::IPV6 => ipv6(frame, network),
        EtherType::ROCE_V1 => roce_v1(frame, network),
        _ => Parsed::NotRoce,
    }
}

#[inline(always)]
fn ipv4<R: PacketRead>(frame: &R, network: Network) -> Parsed {
    let Some(bytes) = frame.read(network.offset) else {
        return Parsed::Malformed(ParseReason::TruncatedIpv4);
    };
    let ip = Ipv4::from_bytes(bytes);
    if ip.protocol() != Udp::PROTOCOL {
        return Parsed::NotRoce;
    }
    let header_len = ip.header_len();
    let Some(datagram_room) = ip.total_len().checked_sub(header_len) else {
        return Parsed::Malformed(ParseReason::BadIpv4Header);
    };
    if ip.version() != 4 || header_len < Ipv4::LEN {
        return Parsed::Malformed(ParseReason::BadIpv4Header);
    }
    if ip.is_later_fragment() {
        return Parsed::Malformed(ParseReason::IpFragment);
    }
    let datagram = Datagram {
        addresses: Addresses::V4 { source: ip.source(), destination: ip.destination() },
        traffic_class: ip.traffic_class(),
        room: datagram_room,
        wire_bytes: network.link_len + ip.total_len(),
        is_first_fragment: ip.has_more_fragments(),
    };
    if header_len == Ipv4::LEN {
        // The usual case as its own branch: every offset after it is a constant.
        return udp(frame, network, network.offset + Ipv4::LEN, datagram);
    }
    udp(frame, network, network.offset + header_len, datagram)
}

#[inline(always)]
fn ipv6<R: PacketRead>(frame: &R, network: Network) -> Parsed {
    let Some(bytes) = frame.read(network.offset) else {
        return Parsed::Malformed(ParseReason::TruncatedIpv6);
    };
    let ip = Ipv6::from_bytes(bytes);
    if ip.version() != 6 {
        return Parsed::Malformed(ParseReason::BadIpv6Header);
    }
    let mut datagram = Datagram {
        addresses: Addresses::V6 { source: ip.source(), destination: ip.destination() },
        traffic_class: ip.traffic_class(),
        room: ip.payload_len(),
        wire_bytes: network.link_len + Ipv6::LEN + ip.payload_len(),
        is_first_fragment: false,
    };
    let start = network.offset + Ipv6::LEN;
    if ip.next_header() == Udp::PROTOCOL {
        return udp(frame, network, start, datagram);
    }
    match walk_extensions(frame, ip.next_header(), start, &mut datagram) {
        Ok(Some(offset)) => udp(frame, network, offset, datagram),
        Ok(None) => Parsed::NotRoce,
        Err(reason) => Parsed::Malformed(reason),
    }
}

/// Finds the UDP header behind IPv6 extension headers; `None` when the chain ends in something else.
#[inline(always)]
fn walk_extensions<R: PacketRead>(
    frame: &R,
    first: u8,
    start: usize,
    datagram: &mut Datagram,
) -> Result<Option<usize>, ParseReason> {
    let mut kind = first;
    let mut offset = start;
    for _ in 0..MAX_EXTENSION_HEADERS {
        if kind == Udp::PROTOCOL {
            return Ok(Some(offset));
        }
        if extension(kind, [0; 8]) == Extension::Upper {
            return Ok(None);
        }
        let Some(bytes) = frame.read(offset) else {
            return Err(ParseReason::TruncatedIpv6);
        };
        let len = match extension(kind, bytes) {
            Extension::Upper => return Ok(None),
            Extension::LaterFragment => return Err(ParseReason::IpFragment),
            Extension::Skip { next, len } => {
                kind = next;
                len
            }
            Extension::FirstFragment { next, more } => {
                kind = next;
                datagram.is_first_fragment = more;
                8
            }
        };
        offset += len;
        let Some(room) = datagram.room.checked_sub(len) else {
            return Err(ParseReason::TruncatedIpv6);
        };
        datagram.room = room;
    }
    if kind == Udp::PROTOCOL { Ok(Some(offset)) } else { Err(ParseReason::Ipv6ExtensionChain) }
}

/// What the network layer says about the datagram it carries.
#[derive(Clone, Copy)]
struct Datagram {
    addresses: Addresses,
    traffic_class: TrafficClass,
    /// Bytes that the IP packet leaves for it.
    room: usize,
    wire_bytes: usize,
    is_first_fragment: bool,
}

#[inline(always)]
fn udp<R: PacketRead>(frame: &R, network: Network, offset: usize, datagram: Datagram) -> Parsed {
    let Some(bytes) = frame.read(offset) else {
        return Parsed::Malformed(ParseReason::TruncatedUdp);
    };
    let udp = Udp::from_bytes(bytes);
    if udp.destination_port() != ROCE_PORT {
        return Parsed::NotRoce;
    }
    let Some(transport_len) = udp.datagram_len().checked_sub(Udp::LEN) else {
        return Parsed::Malformed(ParseReason::BadUdpLength);
    };
    if udp.datagram_len() > datagram.room && !datagram.is_first_fragment {
        return Parsed::Malformed(ParseReason::BadUdpLength);
    }
    let transport = TransportLayer {
        version: RoceVersion::V2,
        source_port: udp.source_port(),
        len: transport_len,
    };
    transport_layer(frame, network, offset + Udp::LEN, datagram, transport)
}

#[inline(always)]
fn roce_v1<R: PacketRead>(frame: &R, network: Network) -> Parsed {
    let Some(bytes) = frame.read(network.offset) else {
        return Parsed::Malformed(ParseReason::TruncatedGrh);
    };
    let grh = Grh::from_bytes(bytes);
    if !grh.is_valid() {
        return Parsed::Malformed(ParseReason::BadGrh);
    }
    let ip = grh.0;
    let datagram = Datagram {
        addresses: Addresses::V6 { source: ip.source(), destination: ip.destination() },
        traffic_class: ip.traffic_class(),
        room: ip.payload_len(),
        wire_bytes: network.link_len + Grh::LEN + ip.payload_len(),
        is_first_fragment: false,
    };
    let transport =
        TransportLayer { version: RoceVersion::V1, source_port: 0, len: ip.payload_len() };
    transport_layer(frame, network, network.offset + Grh::LEN, datagram, transport)
}

/// What the layer below the BTH says about it.
#[derive(Clone, Copy)]
struct TransportLayer {
    version: RoceVersion,
    source_port: u16,
    /// Bytes from the BTH to the ICRC.
    len: usize,
}

#[inline(always)]
fn transport_layer<R: PacketRead>(
    frame: &R,
    network: Network,
    bth_offset: usize,
    datagram: Datagram,
    transport: TransportLayer,
) -> Parsed {
    if transport.len < Bth::LEN + ICRC_LEN {
        return Parsed::Malformed(ParseReason::ShortBth);
    }
    let Some(bytes) = frame.read(bth_offset) else {
        return Parsed::Malformed(ParseReason::TruncatedBth);
    };
    let bth = Bth::from_bytes(bytes);
    if bth.transport_version() != 0 {
        return Parsed::Malformed(ParseReason::UnknownBthVersion);
    }
    let opcode = bth.opcode();
    let overhead = Bth::LEN + opcode.extended_len() + bth.pad_count() as usize + ICRC_LEN;
    let Some(payload_bytes) = transport.len.checked_sub(overhead) else {
        return Parsed::Malformed(ParseReason::ShortExtendedHeader);
    };
    let extended = bth_offset + Bth::LEN;
    let mut packet = RocePacket {
        version: transport.version,
        addresses: datagram.addresses,
        vlans: network.vlans,
        traffic_class: datagram.traffic_class,
        source_port: transport.source_port,
        bth,
        aeth: None,
        dma_len: None,
        source_qp: None,
        wire_bytes: datagram.wire_bytes as u32,
        payload_bytes: payload_bytes as u32,
        network_offset: network.offset,
        bth_offset,
        is_first_fragment: datagram.is_first_fragment,
    };
    if opcode.has_aeth() {
        packet.aeth = frame.read(extended).map(Aeth::from_bytes);
    } else if opcode.has_reth() {
        let offset = extended + opcode.reth_offset() + Reth::DMA_LEN_OFFSET;
        packet.dma_len = frame.read(offset).map(u32::from_be_bytes);
    } else if opcode.has_deth() {
        packet.source_qp = frame.read(extended).map(|bytes| Deth::from_bytes(bytes).source_qp);
    }
    Parsed::Roce(packet)
}
