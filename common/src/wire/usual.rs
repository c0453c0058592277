//! The packets that almost all RoCE traffic consists of, in one straight line.

use super::parse::ICRC_LEN;
use super::{
    AddressFamily, Bth, EtherType, Extended, Ipv4, PacketRead, Parsed, ROCE_PORT, RocePacket,
    RoceVersion, Udp, VlanTag,
};

/// Reads a frame as [`super::parse_ethernet`] does, in a third of the instructions, if it is a usual one:
/// at most one VLAN tag, IPv4 without options and fragments, no UD, all headers there, and nothing wrong.
///
/// `None` for any other frame that may be RoCE.
#[inline(always)]
pub fn parse_usual<R: PacketRead>(frame: &R) -> Option<Parsed> {
    let mut ether_type = EtherType(u16::from_be_bytes(frame.read(EtherType::OFFSET)?));
    let mut network_offset = EtherType::HEADER_LEN;
    let mut vlans = frame.stripped_vlan();
    if ether_type.is_vlan() {
        let [t0, t1, e0, e1] = frame.read(network_offset)?;
        if !vlans.push(VlanTag(u16::from_be_bytes([t0, t1]))) {
            return None;
        }
        ether_type = EtherType(u16::from_be_bytes([e0, e1]));
        network_offset += VlanTag::LEN;
    }
    match ether_type {
        EtherType::IPV4 => {}
        EtherType::IPV6 | EtherType::ROCE_V1 => return None,
        it if it.is_vlan() => return None,
        _ => return Some(Parsed::NotRoce),
    }
    let ip = Ipv4::from_bytes(frame.read(network_offset)?);
    if ip.protocol() != Udp::PROTOCOL {
        return Some(Parsed::NotRoce);
    }
    if !ip.is_plain() {
        return None;
    }
    let udp = Udp::from_bytes(frame.read(network_offset + Ipv4::LEN)?);
    if udp.destination_port() != ROCE_PORT {
        return Some(Parsed::NotRoce);
    }
    let datagram_len = udp.datagram_len();
    let bth_offset = network_offset + Ipv4::LEN + Udp::LEN;
    let bth = Bth::from_bytes(frame.read(bth_offset)?);
    let opcode = bth.opcode();
    let extended = Extended::read(frame, bth_offset, opcode)?;
    let headers = Udp::LEN + Bth::LEN + opcode.extended_len() + bth.pad_count() as usize + ICRC_LEN;
    if ip.total_len() != Ipv4::LEN + datagram_len
        || datagram_len < headers
        || bth.transport_version() != 0
        || opcode.has_deth()
    {
        return None;
    }
    Some(Parsed::Roce(RocePacket {
        version: RoceVersion::V2,
        family: AddressFamily::V4,
        vlans,
        traffic_class: ip.traffic_class(),
        source_port: udp.source_port(),
        bth,
        extended,
        wire_bytes: (EtherType::HEADER_LEN + vlans.len() + Ipv4::LEN + datagram_len) as u32,
        payload_bytes: (datagram_len - headers) as u32,
        network_offset,
        bth_offset,
        is_first_fragment: false,
    }))
}
