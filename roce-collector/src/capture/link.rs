//! Link types, and where the network layer starts behind each link-layer header.
//!
//! Numbers and names are those of <https://www.tcpdump.org/linktypes.html>.

use std::fmt;

use serde::{Serialize, Serializer};

/// The smallest `EtherType` (IEEE 802.3, 3.2.6). Below are lengths and, in a Linux cooked header,
/// protocol numbers of Linux's own.
const FIRST_ETHER_TYPE: u16 = 0x0600;
const ETHER_TYPE_IPV4: u16 = 0x0800;
const ETHER_TYPE_IPV6: u16 = 0x86dd;

/// `ARPHRD_NETLINK`: the protocol field of a cooked header is then a netlink family.
const ARPHRD_NETLINK: u16 = 824;

/// Link-layer header type of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LinkType {
    /// BSD loopback: address family in the byte order of the capturing host (0).
    Null,
    /// Ethernet (1).
    Ethernet,
    /// IPv4 or IPv6 without a link-layer header (101; 12 and 14 in old files).
    Raw,
    /// OpenBSD loopback: address family in network byte order (108).
    Loop,
    /// Linux "any" device, 16-byte cooked header (113).
    LinuxSll,
    /// IPv4 only (228).
    Ipv4,
    /// IPv6 only (229).
    Ipv6,
    /// Linux "any" device, 20-byte cooked header (276).
    LinuxSll2,
    /// Any other; its frames are not looked into.
    Other(u32),
}

impl From<u32> for LinkType {
    fn from(number: u32) -> Self {
        match number {
            0 => Self::Null,
            1 => Self::Ethernet,
            12 | 14 | 101 => Self::Raw,
            108 => Self::Loop,
            113 => Self::LinuxSll,
            228 => Self::Ipv4,
            229 => Self::Ipv6,
            276 => Self::LinuxSll2,
            other => Self::Other(other),
        }
    }
}

impl LinkType {
    /// True when [`network_layer`] can look into frames of this type.
    pub const fn is_readable(self) -> bool {
        !matches!(self, Self::Other(_))
    }

    /// The registered number.
    pub const fn number(self) -> u32 {
        match self {
            Self::Null => 0,
            Self::Ethernet => 1,
            Self::Raw => 101,
            Self::Loop => 108,
            Self::LinuxSll => 113,
            Self::Ipv4 => 228,
            Self::Ipv6 => 229,
            Self::LinuxSll2 => 276,
            Self::Other(number) => number,
        }
    }

    /// The registered name without `LINKTYPE_`, of the types met in practice.
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::Null => "NULL",
            Self::Ethernet => "ETHERNET",
            Self::Raw => "RAW",
            Self::Loop => "LOOP",
            Self::LinuxSll => "LINUX_SLL",
            Self::Ipv4 => "IPV4",
            Self::Ipv6 => "IPV6",
            Self::LinuxSll2 => "LINUX_SLL2",
            Self::Other(number) => match number {
                6 => "IEEE802_5",
                9 => "PPP",
                10 => "FDDI",
                50 => "PPP_HDLC",
                51 => "PPP_ETHER",
                105 => "IEEE802_11",
                119 => "IEEE802_11_PRISM",
                127 => "IEEE802_11_RADIOTAP",
                147 => "USER0",
                187 => "BLUETOOTH_HCI_H4",
                189 => "USB_LINUX",
                192 => "PPI",
                195 => "IEEE802_15_4_WITHFCS",
                197 => "ERF",
                201 => "BLUETOOTH_HCI_H4_WITH_PHDR",
                220 => "USB_LINUX_MMAPPED",
                227 => "CAN_SOCKETCAN",
                239 => "NFLOG",
                247 => "INFINIBAND",
                249 => "USBPCAP",
                252 => "WIRESHARK_UPPER_PDU",
                253 => "NETLINK",
                _ => return None,
            },
        })
    }
}

/// `ETHERNET`, or the number with the name for a type that cannot be read: `105 (IEEE802_11)`.
impl fmt::Display for LinkType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, self.name()) {
            (Self::Other(number), Some(name)) => write!(f, "{number} ({name})"),
            (_, Some(name)) => f.write_str(name),
            (_, None) => self.number().fmt(f),
        }
    }
}

impl Serialize for LinkType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Where to begin to parse a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkStart {
    /// The frame starts with an Ethernet header.
    Ethernet,
    /// The link-layer header ends at `offset`; what follows is of type `ether_type`, which may be
    /// a VLAN tag (then `offset` is that of its TCI).
    Payload {
        /// `EtherType` of what follows.
        ether_type: u16,
        /// Bytes before it. Never more than the frame has.
        offset: usize,
    },
}

/// Where the network layer starts in `data`, a frame of `link_type`.
///
/// `None` when the frame is too short to tell, carries no `EtherType`, or is of a type that cannot
/// be read.
pub fn network_layer(link_type: LinkType, data: &[u8]) -> Option<NetworkStart> {
    match link_type {
        LinkType::Ethernet => Some(NetworkStart::Ethernet),
        LinkType::Raw | LinkType::Ipv4 | LinkType::Ipv6 => ip(data, 0),
        // The family number of IPv6 differs between systems; the version nibble does not.
        LinkType::Null | LinkType::Loop => ip(data, 4),
        LinkType::LinuxSll => cooked(data, 16, be_u16(data, 14)?, be_u16(data, 2)?),
        LinkType::LinuxSll2 => cooked(data, 20, be_u16(data, 0)?, be_u16(data, 8)?),
        LinkType::Other(_) => None,
    }
}

fn ip(data: &[u8], offset: usize) -> Option<NetworkStart> {
    let ether_type = match data.get(offset)? >> 4 {
        4 => ETHER_TYPE_IPV4,
        6 => ETHER_TYPE_IPV6,
        _ => return None,
    };
    Some(NetworkStart::Payload { ether_type, offset })
}

fn cooked(data: &[u8], header: usize, protocol: u16, device: u16) -> Option<NetworkStart> {
    let known = protocol >= FIRST_ETHER_TYPE && device != ARPHRD_NETLINK && data.len() >= header;
    known.then_some(NetworkStart::Payload { ether_type: protocol, offset: header })
}

fn be_u16(data: &[u8], at: usize) -> Option<u16> {
    data.get(at..)?.first_chunk().copied().map(u16::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const IPV4: NetworkStart = NetworkStart::Payload { ether_type: 0x0800, offset: 0 };
    const IPV6: NetworkStart = NetworkStart::Payload { ether_type: 0x86dd, offset: 0 };

    #[test]
    fn numbers_and_names() {
        for number in [0, 1, 101, 108, 113, 228, 229, 276, 105, 65_535] {
            assert_eq!(LinkType::from(number).number(), number);
        }
        assert_eq!(LinkType::from(12), LinkType::Raw);
        assert_eq!(LinkType::from(113).to_string(), "LINUX_SLL");
        assert_eq!(LinkType::from(105).to_string(), "105 (IEEE802_11)");
        assert_eq!(LinkType::from(4711).to_string(), "4711");
        assert!(!LinkType::from(247).is_readable());
    }

    #[test]
    fn raw_ip_goes_by_its_version() {
        for link_type in [LinkType::Raw, LinkType::Ipv4, LinkType::Ipv6] {
            assert_eq!(network_layer(link_type, &[0x46, 0]), Some(IPV4));
            assert_eq!(network_layer(link_type, &[0x60, 0]), Some(IPV6));
            assert_eq!(network_layer(link_type, &[0x50]), None);
            assert_eq!(network_layer(link_type, &[]), None);
        }
    }

    #[test]
    fn loopback_skips_the_family() {
        let start = Some(NetworkStart::Payload { ether_type: 0x86dd, offset: 4 });
        assert_eq!(network_layer(LinkType::Null, &[30, 0, 0, 0, 0x60]), start);
        assert_eq!(network_layer(LinkType::Loop, &[0, 0, 0, 24, 0x60]), start);
        assert_eq!(network_layer(LinkType::Null, &[2, 0, 0, 0]), None);
    }

    #[test]
    fn cooked_headers_end_at_16_and_20() {
        let mut sll = [0; 16];
        sll[3] = 1;
        sll[14..].copy_from_slice(&0x8100_u16.to_be_bytes());
        let start = Some(NetworkStart::Payload { ether_type: 0x8100, offset: 16 });
        assert_eq!(network_layer(LinkType::LinuxSll, &sll), start);
        assert_eq!(network_layer(LinkType::LinuxSll, &sll[..15]), None);
        sll[14..].copy_from_slice(&4_u16.to_be_bytes());
        assert_eq!(network_layer(LinkType::LinuxSll, &sll), None, "802.2, no EtherType");

        let mut sll2 = [0; 20];
        sll2[..2].copy_from_slice(&0x0800_u16.to_be_bytes());
        let start = Some(NetworkStart::Payload { ether_type: 0x0800, offset: 20 });
        assert_eq!(network_layer(LinkType::LinuxSll2, &sll2), start);
        assert_eq!(network_layer(LinkType::LinuxSll2, &sll2[..19]), None);
        sll2[8..10].copy_from_slice(&ARPHRD_NETLINK.to_be_bytes());
        assert_eq!(network_layer(LinkType::LinuxSll2, &sll2), None);
    }

    #[test]
    fn ethernet_is_left_to_the_parser_and_the_rest_to_nobody() {
        assert_eq!(network_layer(LinkType::Ethernet, &[]), Some(NetworkStart::Ethernet));
        assert_eq!(network_layer(LinkType::Other(105), &[0x45; 64]), None);
    }
}
