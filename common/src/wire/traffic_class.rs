//! The IPv4 TOS byte and the IPv6 traffic class: DSCP and ECN.

/// DSCP in the upper six bits, ECN in the lower two (RFC 2474, RFC 3168).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrafficClass(pub u8);

/// ECN codepoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecn {
    /// 00: not ECN-capable; a congested switch drops it instead of marking it.
    NotEct,
    /// 01.
    Ect1,
    /// 10: what RoCE senders use.
    Ect0,
    /// 11: a switch marked congestion.
    Ce,
}

impl TrafficClass {
    /// DSCP, 0 to 63.
    #[inline(always)]
    pub const fn dscp(self) -> u8 {
        self.0 >> 2
    }

    /// ECN codepoint.
    #[inline(always)]
    pub const fn ecn(self) -> Ecn {
        match self.0 & 3 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }
}

impl Ecn {
    /// Every codepoint, in the order of its two bits.
    pub const ALL: [Self; 4] = [Self::NotEct, Self::Ect1, Self::Ect0, Self::Ce];

    /// Label in metrics and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotEct => "not_ect",
            Self::Ect1 => "ect1",
            Self::Ect0 => "ect0",
            Self::Ce => "ce",
        }
    }
}
