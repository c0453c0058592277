//! The network header: IPv4, IPv6, or the GRH of RoCEv1.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::link::{ETHERTYPE_IPV4, ETHERTYPE_IPV6, ETHERTYPE_ROCE_V1};

const PROTOCOL_UDP: u8 = 17;
/// Next header value of a GRH when a BTH follows.
const GRH_NEXT_BTH: u8 = 0x1b;

/// ECN field of the IP header (RFC 3168).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable: a congested switch drops instead of marking.
    NotEct = 0,
    /// ECT(1).
    Ect1 = 1,
    /// ECT(0), what NICs send.
    Ect0 = 2,
    /// Congestion experienced.
    Ce = 3,
}

/// IPv4 fields beside the addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ipv4Fields {
    pub(super) id: u16,
    /// Flags and fragment offset as on the wire.
    pub(super) fragment: u16,
    /// Multiple of 4, at most 40 bytes.
    pub(super) options: Vec<u8>,
}

/// An IPv6 extension header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ipv6Ext {
    /// Its own protocol number.
    pub protocol: u8,
    /// The whole header; its first byte is overwritten with the next header's number.
    pub bytes: Vec<u8>,
}

impl Ipv6Ext {
    /// Hop-by-hop options of `8 * (1 + extra)` bytes, filled with one `PadN` option.
    pub fn hop_by_hop(extra: u8) -> Self {
        Self::options(0, extra)
    }

    /// Destination options of `8 * (1 + extra)` bytes, filled with `PadN` options.
    pub fn destination_options(extra: u8) -> Self {
        Self::options(60, extra)
    }

    /// A routing header of type 253 (experimental) without segments left.
    pub fn routing() -> Self {
        Self { protocol: 43, bytes: vec![0, 0, 253, 0, 0, 0, 0, 0] }
    }

    /// A fragment header; `offset` in units of 8 bytes.
    pub fn fragment(offset: u16, more: bool, id: u32) -> Self {
        let field = offset << 3 | u16::from(more);
        let mut bytes = vec![0, 0];
        bytes.extend(field.to_be_bytes());
        bytes.extend(id.to_be_bytes());
        Self { protocol: 44, bytes }
    }

    fn options(protocol: u8, extra: u8) -> Self {
        let mut bytes = vec![0, extra];
        let mut left = 6 + 8 * usize::from(extra);
        while left > 0 {
            let data = left.saturating_sub(2).min(255);
            if left == 1 {
                bytes.push(0); // Pad1
            } else {
                bytes.extend([1, data as u8]); // PadN
            }
            bytes.resize(bytes.len() + data, 0);
            left -= if left == 1 { 1 } else { data + 2 };
        }
        Self { protocol, bytes }
    }
}

/// Which network header a packet has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Network {
    V4 { src: Ipv4Addr, dst: Ipv4Addr, fields: Ipv4Fields },
    V6 { src: Ipv6Addr, dst: Ipv6Addr, flow_label: u32, extensions: Vec<Ipv6Ext> },
    Grh { src: Ipv6Addr, dst: Ipv6Addr, flow_label: u32 },
}

/// Fields that all three headers share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Common {
    /// TOS or traffic class.
    pub(super) traffic_class: u8,
    /// TTL or hop limit.
    pub(super) hop_limit: u8,
}

impl Network {
    pub(super) const fn ethertype(&self) -> u16 {
        match self {
            Self::V4 { .. } => ETHERTYPE_IPV4,
            Self::V6 { .. } => ETHERTYPE_IPV6,
            Self::Grh { .. } => ETHERTYPE_ROCE_V1,
        }
    }

    /// Whether UDP comes between this header and the BTH.
    pub(super) const fn has_udp(&self) -> bool {
        !matches!(self, Self::Grh { .. })
    }

    pub(super) const fn addresses(&self) -> (IpAddr, IpAddr) {
        match self {
            Self::V4 { src, dst, .. } => (IpAddr::V4(*src), IpAddr::V4(*dst)),
            Self::V6 { src, dst, .. } | Self::Grh { src, dst, .. } => {
                (IpAddr::V6(*src), IpAddr::V6(*dst))
            }
        }
    }

    /// Header length with options and extension headers.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::V4 { fields, .. } => 20 + fields.options.len(),
            Self::V6 { extensions, .. } => {
                40 + extensions.iter().map(|ext| ext.bytes.len()).sum::<usize>()
            }
            Self::Grh { .. } => 40,
        }
    }

    /// What the length field says for `payload` bytes behind this header.
    pub(super) fn length_field(&self, payload: usize) -> u16 {
        let counted = match self {
            Self::V4 { .. } => self.len() + payload,
            Self::V6 { .. } | Self::Grh { .. } => self.len() - 40 + payload,
        };
        counted as u16
    }

    /// Appends the header; `length` goes into its length field unchanged.
    pub(super) fn write(&self, common: Common, length: u16, out: &mut Vec<u8>) {
        match self {
            Self::V4 { src, dst, fields } => {
                let at = out.len();
                let words = 5 + fields.options.len() / 4;
                out.extend([0x40 | words as u8, common.traffic_class]);
                out.extend(length.to_be_bytes());
                out.extend(fields.id.to_be_bytes());
                out.extend(fields.fragment.to_be_bytes());
                out.extend([common.hop_limit, PROTOCOL_UDP, 0, 0]);
                out.extend(src.octets());
                out.extend(dst.octets());
                out.extend(&fields.options);
                let sum = internet_checksum(&out[at..]);
                out[at + 10..at + 12].copy_from_slice(&sum.to_be_bytes());
            }
            Self::V6 { src, dst, flow_label, extensions } => {
                let first = extensions.first().map_or(PROTOCOL_UDP, |ext| ext.protocol);
                write_v6(*src, *dst, *flow_label, common, length, first, out);
                for (at, ext) in extensions.iter().enumerate() {
                    let start = out.len();
                    out.extend(&ext.bytes);
                    out[start] = extensions.get(at + 1).map_or(PROTOCOL_UDP, |next| next.protocol);
                }
            }
            Self::Grh { src, dst, flow_label } => {
                write_v6(*src, *dst, *flow_label, common, length, GRH_NEXT_BTH, out);
            }
        }
    }
}

fn write_v6(
    src: Ipv6Addr,
    dst: Ipv6Addr,
    flow_label: u32,
    common: Common,
    length: u16,
    next_header: u8,
    out: &mut Vec<u8>,
) {
    let word = 6 << 28 | u32::from(common.traffic_class) << 20 | (flow_label & 0x000f_ffff);
    out.extend(word.to_be_bytes());
    out.extend(length.to_be_bytes());
    out.extend([next_header, common.hop_limit]);
    out.extend(src.octets());
    out.extend(dst.octets());
}

/// The Internet checksum (RFC 1071) of `bytes`: over a header with its checksum field 0 it gives
/// the value for the field, over a correct header it gives 0.
pub fn internet_checksum(bytes: &[u8]) -> u16 {
    let mut sum: u32 = 0;
    for pair in bytes.chunks(2) {
        sum += u32::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksum_of_a_known_header() {
        // The example header of the Wikipedia article on the IPv4 header checksum.
        let header = [
            0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0x00, 0x00, 0xc0, 0xa8,
            0x00, 0x01, 0xc0, 0xa8, 0x00, 0xc7,
        ];
        assert_eq!(internet_checksum(&header), 0xb861);
    }

    #[test]
    fn option_headers_have_the_length_they_claim() {
        for extra in [0, 1, 7, 32, 255] {
            let ext = Ipv6Ext::destination_options(extra);
            assert_eq!(ext.bytes.len(), 8 * (1 + usize::from(extra)));
        }
    }
}
