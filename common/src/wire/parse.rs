//! One bounded walk from Ethernet to the BTH.

use super::ipv6::{Extension, extension, is_extension};
use super::{
    AddressFamily, Bth, EtherType, Extended, Grh, Ipv4, Ipv6, MAX_EXTENSION_HEADERS, PacketRead,
    ParseReason, Parsed, ROCE_PORT, RocePacket, RoceVersion, TrafficClass, Udp, VlanTag, VlanTags,
};

/// Invariant CRC at the end of every RoCE packet.
pub(super) const ICRC_LEN: usize = 4;

/// Link layer facts on the way to the BTH.
#[derive(Clone, Copy)]
struct Link {
    vlans: VlanTags,
    /// Where the network layer starts.
    end: usize,
}

/// What the network layer says about the datagram it carries.
#[derive(Clone, Copy)]
struct Network {
    version: RoceVersion,
    family: AddressFamily,
    traffic_class: TrafficClass,
    /// Bytes of the whole network layer packet.
    len: usize,
    /// Bytes that it leaves for the datagram.
    room: usize,
    /// Where the datagram starts.
    end: usize,
    is_first_fragment: bool,
}

/// Why a layer stops the walk.
enum Stop {
    NotRoce,
    Malformed(ParseReason),
}

/// Reads a frame that starts with an Ethernet header.
#[inline(always)]
pub fn parse_ethernet<R: PacketRead>(frame: &R) -> Parsed {
    let Some(bytes) = frame.read(EtherType::OFFSET) else {
        return Parsed::Malformed(ParseReason::TruncatedEthernet);
    };
    let link = Link { vlans: frame.stripped_vlan(), end: EtherType::HEADER_LEN };
    parse(frame, EtherType(u16::from_be_bytes(bytes)), link)
}

/// Reads a frame whose network layer, or a VLAN tag before it, starts at `offset`.
///
/// For link layers other than Ethernet. `wire_bytes` counts an Ethernet header all the same, because
/// the wire had one.
#[inline(always)]
pub fn parse_network<R: PacketRead>(frame: &R, ether_type: EtherType, offset: usize) -> Parsed {
    let link = Link { vlans: VlanTags::UNTAGGED, end: offset };
    parse(frame, ether_type, link)
}

#[inline(always)]
fn parse<R: PacketRead>(frame: &R, ether_type: EtherType, mut link: Link) -> Parsed {
    match walk(frame, ether_type, &mut link) {
        Ok(packet) => Parsed::Roce(packet),
        Err(Stop::NotRoce) => Parsed::NotRoce,
        Err(Stop::Malformed(reason)) => Parsed::Malformed(reason),
    }
}

#[inline(always)]
fn walk<R: PacketRead>(
    frame: &R,
    ether_type: EtherType,
    link: &mut Link,
) -> Result<RocePacket, Stop> {
    let ether_type =
        if ether_type.is_vlan() { walk_vlans(frame, ether_type, link)? } else { ether_type };
    let network = match ether_type {
        EtherType::IPV4 => ipv4(frame, link.end)?,
        EtherType::IPV6 => ipv6(frame, link.end)?,
        EtherType::ROCE_V1 => grh(frame, link.end)?,
        _ => return Err(Stop::NotRoce),
    };
    if matches!(network.version, RoceVersion::V1) {
        return transport(frame, link, &network, network.end, network.room, 0);
    }
    let bytes = frame.read(network.end).ok_or(Stop::Malformed(ParseReason::TruncatedUdp))?;
    let udp = Udp::from_bytes(bytes);
    if udp.destination_port() != ROCE_PORT {
        return Err(Stop::NotRoce);
    }
    let datagram_len = udp.datagram_len();
    if datagram_len < Udp::LEN || datagram_len > network.room && !network.is_first_fragment {
        return Err(Stop::Malformed(ParseReason::BadUdpLength));
    }
    let len = datagram_len - Udp::LEN;
    transport(frame, link, &network, network.end + Udp::LEN, len, udp.source_port())
}

#[inline(always)]
fn walk_vlans<R: PacketRead>(
    frame: &R,
    mut ether_type: EtherType,
    link: &mut Link,
) -> Result<EtherType, Stop> {
    for _ in 0..2 {
        if !ether_type.is_vlan() {
            return Ok(ether_type);
        }
        let Some([t0, t1, e0, e1]) = frame.read::<4>(link.end) else {
            return Err(Stop::Malformed(ParseReason::TruncatedVlan));
        };
        if !link.vlans.push(VlanTag(u16::from_be_bytes([t0, t1]))) {
            return Err(Stop::Malformed(ParseReason::TooManyVlanTags));
        }
        ether_type = EtherType(u16::from_be_bytes([e0, e1]));
        link.end += VlanTag::LEN;
    }
    if ether_type.is_vlan() {
        return Err(Stop::Malformed(ParseReason::TooManyVlanTags));
    }
    Ok(ether_type)
}

#[inline(always)]
fn ipv4<R: PacketRead>(frame: &R, start: usize) -> Result<Network, Stop> {
    let bytes = frame.read(start).ok_or(Stop::Malformed(ParseReason::TruncatedIpv4))?;
    let ip = Ipv4::from_bytes(bytes);
    if ip.protocol() != Udp::PROTOCOL {
        return Err(Stop::NotRoce);
    }
    let (header_len, len) = (ip.header_len(), ip.total_len());
    if ip.version() != 4 || header_len < Ipv4::LEN || len < header_len {
        return Err(Stop::Malformed(ParseReason::BadIpv4Header));
    }
    if ip.is_later_fragment() {
        return Err(Stop::Malformed(ParseReason::IpFragment));
    }
    Ok(Network {
        version: RoceVersion::V2,
        family: AddressFamily::V4,
        traffic_class: ip.traffic_class(),
        len,
        room: len - header_len,
        end: start + header_len,
        is_first_fragment: ip.has_more_fragments(),
    })
}

#[inline(always)]
fn ipv6<R: PacketRead>(frame: &R, start: usize) -> Result<Network, Stop> {
    let bytes = frame.read(start).ok_or(Stop::Malformed(ParseReason::TruncatedIpv6))?;
    let ip = Ipv6::from_bytes(bytes);
    if ip.version() != 6 {
        return Err(Stop::Malformed(ParseReason::BadIpv6Header));
    }
    let mut network = Network {
        version: RoceVersion::V2,
        family: AddressFamily::V6,
        traffic_class: ip.traffic_class(),
        len: Ipv6::LEN + ip.payload_len(),
        room: ip.payload_len(),
        end: start + Ipv6::LEN,
        is_first_fragment: false,
    };
    if ip.next_header() != Udp::PROTOCOL {
        walk_extensions(frame, ip.next_header(), &mut network)?;
    }
    Ok(network)
}

/// Moves `network.end` over IPv6 extension headers to a UDP header.
#[inline(always)]
fn walk_extensions<R: PacketRead>(frame: &R, first: u8, network: &mut Network) -> Result<(), Stop> {
    let mut kind = first;
    for _ in 0..MAX_EXTENSION_HEADERS {
        if kind == Udp::PROTOCOL {
            return Ok(());
        }
        if !is_extension(kind) {
            return Err(Stop::NotRoce);
        }
        let bytes = frame.read(network.end).ok_or(Stop::Malformed(ParseReason::TruncatedIpv6))?;
        let len = match extension(kind, bytes) {
            Extension::LaterFragment { next } => {
                return Err(if next == Udp::PROTOCOL || is_extension(next) {
                    Stop::Malformed(ParseReason::IpFragment)
                } else {
                    Stop::NotRoce
                });
            }
            Extension::Skip { next, len } => {
                kind = next;
                len
            }
            Extension::FirstFragment { next, more } => {
                kind = next;
                network.is_first_fragment = more;
                8
            }
        };
        if len > network.room {
            return Err(Stop::Malformed(ParseReason::BadIpv6Header));
        }
        network.end += len;
        network.room -= len;
    }
    if kind == Udp::PROTOCOL {
        Ok(())
    } else {
        Err(Stop::Malformed(ParseReason::Ipv6ExtensionChain))
    }
}

#[inline(always)]
fn grh<R: PacketRead>(frame: &R, start: usize) -> Result<Network, Stop> {
    let bytes = frame.read(start).ok_or(Stop::Malformed(ParseReason::TruncatedGrh))?;
    let grh = Grh::from_bytes(bytes);
    if !grh.is_valid() {
        return Err(Stop::Malformed(ParseReason::BadGrh));
    }
    Ok(Network {
        version: RoceVersion::V1,
        family: AddressFamily::V6,
        traffic_class: grh.0.traffic_class(),
        len: Grh::LEN + grh.0.payload_len(),
        room: grh.0.payload_len(),
        end: start + Grh::LEN,
        is_first_fragment: false,
    })
}

/// Reads the BTH at `start` of a transport layer packet of `len` bytes with its ICRC.
#[inline(always)]
fn transport<R: PacketRead>(
    frame: &R,
    link: &Link,
    network: &Network,
    start: usize,
    len: usize,
    source_port: u16,
) -> Result<RocePacket, Stop> {
    if len < Bth::LEN + ICRC_LEN {
        return Err(Stop::Malformed(ParseReason::ShortBth));
    }
    let bytes = frame.read(start).ok_or(Stop::Malformed(ParseReason::TruncatedBth))?;
    let bth = Bth::from_bytes(bytes);
    if bth.transport_version() != 0 {
        return Err(Stop::Malformed(ParseReason::UnknownBthVersion));
    }
    let opcode = bth.opcode();
    let overhead = Bth::LEN + opcode.extended_len() + bth.pad_count() as usize + ICRC_LEN;
    if len < overhead {
        return Err(Stop::Malformed(ParseReason::ShortExtendedHeader));
    }
    // A first fragment holds the headers and some of what follows; padding and ICRC are elsewhere.
    let payload_len = if network.is_first_fragment {
        let headers = Udp::LEN + Bth::LEN + opcode.extended_len();
        network.room.checked_sub(headers).ok_or(Stop::Malformed(ParseReason::FirstFragment))?
    } else {
        len - overhead
    };
    Ok(RocePacket {
        version: network.version,
        family: network.family,
        vlans: link.vlans,
        traffic_class: network.traffic_class,
        source_port,
        bth,
        extended: Extended::read(frame, start, opcode).unwrap_or(Extended::ABSENT),
        wire_bytes: (EtherType::HEADER_LEN + link.vlans.len() + network.len) as u32,
        payload_bytes: payload_len as u32,
        network_offset: link.end,
        bth_offset: start,
        is_first_fragment: network.is_first_fragment,
    })
}
