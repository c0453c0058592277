//! Every way a frame can fail to be a whole RoCE packet.

/// Why a frame was not read as RoCE although it could be RoCE.
///
/// Each has its own counter. Frames that are plainly something else (ARP, TCP, another UDP port)
/// have no reason: they are not RoCE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "user", derive(thiserror::Error))]
#[repr(u8)]
pub enum ParseReason {
    /// Fewer bytes than an Ethernet header.
    #[cfg_attr(feature = "user", error("the Ethernet header is cut short"))]
    TruncatedEthernet,
    /// The frame ends inside a VLAN tag.
    #[cfg_attr(feature = "user", error("a VLAN tag is cut short"))]
    TruncatedVlan,
    /// More than two VLAN tags.
    #[cfg_attr(feature = "user", error("more than two VLAN tags"))]
    TooManyVlanTags,
    /// The frame ends inside the IPv4 header.
    #[cfg_attr(feature = "user", error("the IPv4 header is cut short"))]
    TruncatedIpv4,
    /// Version or header length that no IPv4 header has.
    #[cfg_attr(feature = "user", error("the IPv4 version or header length is wrong"))]
    BadIpv4Header,
    /// The frame ends inside the IPv6 header or its extensions.
    #[cfg_attr(feature = "user", error("the IPv6 header chain is cut short"))]
    TruncatedIpv6,
    /// The version is not 6, or an extension header reaches beyond the packet.
    #[cfg_attr(
        feature = "user",
        error("the IPv6 version or the length of an extension header is wrong")
    )]
    BadIpv6Header,
    /// More extension headers than are walked.
    #[cfg_attr(feature = "user", error("too many IPv6 extension headers"))]
    Ipv6ExtensionChain,
    /// A UDP fragment other than the first: nobody can tell what it carries.
    #[cfg_attr(feature = "user", error("an IP fragment without a UDP header"))]
    IpFragment,
    /// The first fragment of a `RoCEv2` packet. RoCE packets must not be fragmented: the path MTU is too small.
    #[cfg_attr(feature = "user", error("a fragmented RoCE packet"))]
    FirstFragment,
    /// The frame ends inside the UDP header.
    #[cfg_attr(feature = "user", error("the UDP header is cut short"))]
    TruncatedUdp,
    /// UDP length below 8 or beyond the IP packet.
    #[cfg_attr(feature = "user", error("the UDP length does not fit the IP length"))]
    BadUdpLength,
    /// The datagram is too short for a BTH and an ICRC.
    #[cfg_attr(feature = "user", error("too short for a BTH"))]
    ShortBth,
    /// The frame ends inside the BTH.
    #[cfg_attr(feature = "user", error("the BTH is cut short"))]
    TruncatedBth,
    /// A transport header version other than 0.
    #[cfg_attr(feature = "user", error("unknown BTH version"))]
    UnknownBthVersion,
    /// The datagram is too short for the extended headers, padding and ICRC of its opcode.
    #[cfg_attr(feature = "user", error("too short for the headers of its opcode"))]
    ShortExtendedHeader,
    /// The frame ends inside the GRH.
    #[cfg_attr(feature = "user", error("the GRH is cut short"))]
    TruncatedGrh,
    /// Version or next header that no GRH before a BTH has.
    #[cfg_attr(feature = "user", error("the GRH is wrong"))]
    BadGrh,
}

impl ParseReason {
    /// Every reason, in the order of its counter.
    pub const ALL: [Self; 18] = [
        Self::TruncatedEthernet,
        Self::TruncatedVlan,
        Self::TooManyVlanTags,
        Self::TruncatedIpv4,
        Self::BadIpv4Header,
        Self::TruncatedIpv6,
        Self::BadIpv6Header,
        Self::Ipv6ExtensionChain,
        Self::IpFragment,
        Self::FirstFragment,
        Self::TruncatedUdp,
        Self::BadUdpLength,
        Self::ShortBth,
        Self::TruncatedBth,
        Self::UnknownBthVersion,
        Self::ShortExtendedHeader,
        Self::TruncatedGrh,
        Self::BadGrh,
    ];

    /// Whether more bytes of the same frame could make it readable.
    #[inline(always)]
    pub const fn is_truncation(self) -> bool {
        matches!(
            self,
            Self::TruncatedEthernet
                | Self::TruncatedVlan
                | Self::TruncatedIpv4
                | Self::TruncatedIpv6
                | Self::TruncatedUdp
                | Self::TruncatedBth
                | Self::TruncatedGrh
        )
    }

    /// Label in metrics and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TruncatedEthernet => "truncated_ethernet",
            Self::TruncatedVlan => "truncated_vlan",
            Self::TooManyVlanTags => "too_many_vlan_tags",
            Self::TruncatedIpv4 => "truncated_ipv4",
            Self::BadIpv4Header => "bad_ipv4_header",
            Self::TruncatedIpv6 => "truncated_ipv6",
            Self::BadIpv6Header => "bad_ipv6_header",
            Self::Ipv6ExtensionChain => "ipv6_extension_chain",
            Self::IpFragment => "ip_fragment",
            Self::FirstFragment => "first_fragment",
            Self::TruncatedUdp => "truncated_udp",
            Self::BadUdpLength => "bad_udp_length",
            Self::ShortBth => "short_bth",
            Self::TruncatedBth => "truncated_bth",
            Self::UnknownBthVersion => "unknown_bth_version",
            Self::ShortExtendedHeader => "short_extended_header",
            Self::TruncatedGrh => "truncated_grh",
            Self::BadGrh => "bad_grh",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_that_of_the_counters() {
        for (index, reason) in ParseReason::ALL.iter().enumerate() {
            assert_eq!(*reason as usize, index);
        }
    }
}
