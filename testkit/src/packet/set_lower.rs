//! Setters of the link, network and UDP fields.

use std::net::{IpAddr, Ipv6Addr};

use super::builder::{Packet, ipv4};
use super::link::{Mac, VlanTag};
use super::network::{Ecn, Ipv6Ext, Network};

impl Packet {
    /// Ethernet source and destination.
    pub const fn macs(mut self, src: Mac, dst: Mac) -> Self {
        self.src_mac = src;
        self.dst_mac = dst;
        self
    }

    /// Adds a VLAN tag inside the ones already there.
    pub fn vlan(mut self, tag: VlanTag) -> Self {
        self.tags.push(tag);
        self
    }

    /// Addresses of IPv4 or IPv6.
    ///
    /// # Panics
    /// When one address is IPv4 and the other IPv6.
    pub fn ip(mut self, src: IpAddr, dst: IpAddr) -> Self {
        self.network = match (src, dst) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => ipv4(src, dst),
            (IpAddr::V6(src), IpAddr::V6(dst)) => {
                Network::V6 { src, dst, flow_label: 0, extensions: Vec::new() }
            }
            _ => panic!("{src} and {dst} are of different IP versions"),
        };
        self
    }

    /// Makes it `RoCEv1`: `EtherType` 0x8915, a GRH with these GIDs, no UDP.
    pub fn roce_v1(mut self, sgid: Ipv6Addr, dgid: Ipv6Addr) -> Self {
        self.network = Network::Grh { src: sgid, dst: dgid, flow_label: 0 };
        self
    }

    /// DSCP, the upper six bits of TOS or traffic class.
    pub const fn dscp(mut self, dscp: u8) -> Self {
        self.common.traffic_class = dscp << 2 | (self.common.traffic_class & 3);
        self
    }

    /// ECN, the lower two bits of TOS or traffic class.
    pub const fn ecn(mut self, ecn: Ecn) -> Self {
        self.common.traffic_class = (self.common.traffic_class & !3) | ecn as u8;
        self
    }

    /// TTL or hop limit.
    pub const fn ttl(mut self, ttl: u8) -> Self {
        self.common.hop_limit = ttl;
        self
    }

    /// IPv4 identification; no effect on other network headers.
    pub const fn ip_id(mut self, id: u16) -> Self {
        if let Network::V4 { ref mut fields, .. } = self.network {
            fields.id = id;
        }
        self
    }

    /// IPv4 fragment `offset` in units of 8 bytes, with DF off; no effect on other headers.
    pub const fn ip_fragment(mut self, offset: u16, more: bool) -> Self {
        if let Network::V4 { ref mut fields, .. } = self.network {
            fields.fragment = (offset & 0x1fff) | if more { 0x2000 } else { 0 };
        }
        self
    }

    /// IPv4 options, filled up with zeros (end of options) to a multiple of 4.
    ///
    /// # Panics
    /// When there are more than 40 bytes.
    pub fn ip_options(mut self, mut options: Vec<u8>) -> Self {
        assert!(options.len() <= 40, "{} bytes of IPv4 options, at most 40 fit", options.len());
        options.resize(options.len().next_multiple_of(4), 0);
        if let Network::V4 { ref mut fields, .. } = self.network {
            fields.options = options;
        }
        self
    }

    /// Flow label of IPv6 or GRH, 20 bits; no effect on IPv4.
    pub const fn flow_label(mut self, label: u32) -> Self {
        if let Network::V6 { ref mut flow_label, .. } | Network::Grh { ref mut flow_label, .. } =
            self.network
        {
            *flow_label = label;
        }
        self
    }

    /// Adds an IPv6 extension header behind the ones already there; no effect on other headers.
    pub fn ipv6_ext(mut self, ext: Ipv6Ext) -> Self {
        if let Network::V6 { ref mut extensions, .. } = self.network {
            extensions.push(ext);
        }
        self
    }

    /// UDP source port.
    pub const fn udp_source(mut self, port: u16) -> Self {
        self.udp_source = port;
        self
    }

    /// UDP destination port, 4791 unless told otherwise.
    pub const fn udp_dest(mut self, port: u16) -> Self {
        self.udp_dest = port;
        self
    }

    /// UDP checksum as on the wire; 0 (none) unless told otherwise.
    pub const fn udp_checksum(mut self, checksum: u16) -> Self {
        self.udp_checksum = checksum;
        self
    }
}
