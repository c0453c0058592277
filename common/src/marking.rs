//! Which DSCP and ECN codepoints a fabric expects.

use crate::wire::{Ecn, Opcode, TrafficClass, Transport};

/// What a packet is for, as far as its marking goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum PacketClass {
    /// Requests and READ responses: what congestion control slows down.
    Data,
    /// ACK, NAK and RNR NAK.
    Acknowledge,
    /// Congestion notification packets.
    Cnp,
    /// Management datagrams to QP 0 and 1, which follow rules of their own.
    Management,
}

/// Expected marking. `ANY` in a DSCP or PCP field means that no value is wrong.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarkingPolicy {
    /// DSCP of data.
    pub data_dscp: u8,
    /// DSCP of ACK, NAK and RNR NAK packets.
    pub ack_dscp: u8,
    /// DSCP of CNPs.
    pub cnp_dscp: u8,
    /// Priority code point of tagged data.
    pub data_pcp: u8,
    /// 1 when data must be ECN-capable, else 0.
    pub ect_required: u8,
    /// Zero.
    pub reserved: [u8; 3],
}

impl PacketClass {
    /// Every class, in the order of its counters.
    pub const ALL: [Self; 4] = [Self::Data, Self::Acknowledge, Self::Cnp, Self::Management];

    /// Class of a packet with this opcode to this QP.
    #[inline(always)]
    pub fn of(opcode: Opcode, dest_qp: u32) -> Self {
        if matches!(opcode.transport(), Transport::Ud) && dest_qp <= 1 {
            Self::Management
        } else if opcode.0 == Opcode::CNP.0 {
            Self::Cnp
        } else if opcode.is_acknowledge() {
            Self::Acknowledge
        } else {
            Self::Data
        }
    }
}

impl MarkingPolicy {
    /// No value is wrong.
    pub const ANY: u8 = 0xff;

    /// What almost every fabric uses: data on DSCP 26 and ECN-capable, CNPs on DSCP 48.
    pub const DEFAULT: Self = Self {
        data_dscp: 26,
        ack_dscp: 26,
        cnp_dscp: 48,
        data_pcp: Self::ANY,
        ect_required: 1,
        reserved: [0; 3],
    };

    /// Whether the DSCP is another than expected.
    #[inline(always)]
    pub const fn is_wrong_dscp(&self, class: PacketClass, traffic_class: TrafficClass) -> bool {
        let expected = match class {
            PacketClass::Data => self.data_dscp,
            PacketClass::Acknowledge => self.ack_dscp,
            PacketClass::Cnp => self.cnp_dscp,
            PacketClass::Management => return false,
        };
        expected != Self::ANY && expected != traffic_class.dscp()
    }

    /// Whether data is not ECN-capable, so that a congested switch drops it instead of marking it.
    #[inline(always)]
    pub const fn is_wrong_ecn(&self, class: PacketClass, traffic_class: TrafficClass) -> bool {
        self.ect_required != 0
            && matches!(class, PacketClass::Data)
            && matches!(traffic_class.ecn(), Ecn::NotEct)
    }

    /// Whether tagged data has another priority than expected.
    #[inline(always)]
    pub const fn is_wrong_pcp(&self, class: PacketClass, pcp: u8) -> bool {
        self.data_pcp != Self::ANY && matches!(class, PacketClass::Data) && self.data_pcp != pcp
    }
}

impl Default for MarkingPolicy {
    fn default() -> Self {
        Self::DEFAULT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATA: PacketClass = PacketClass::Data;

    #[test]
    fn tos_104_is_the_right_dscp_and_not_ecn_capable() {
        let policy = MarkingPolicy::DEFAULT;
        assert!(!policy.is_wrong_dscp(DATA, TrafficClass(104)));
        assert!(policy.is_wrong_ecn(DATA, TrafficClass(104)));
        assert!(!policy.is_wrong_ecn(DATA, TrafficClass(106)));
    }

    #[test]
    fn each_class_has_its_own_dscp() {
        let policy = MarkingPolicy::DEFAULT;
        let dscp_48 = TrafficClass(48 << 2);
        assert!(!policy.is_wrong_dscp(PacketClass::Cnp, dscp_48));
        assert!(policy.is_wrong_dscp(DATA, dscp_48));
        assert!(!policy.is_wrong_ecn(PacketClass::Cnp, dscp_48), "CNPs need not be ECN-capable");
        assert!(!policy.is_wrong_dscp(PacketClass::Management, TrafficClass(0)));
    }

    #[test]
    fn any_accepts_everything() {
        let policy = MarkingPolicy { data_dscp: MarkingPolicy::ANY, ..MarkingPolicy::DEFAULT };
        assert!(!policy.is_wrong_dscp(DATA, TrafficClass(0)));
        assert!(!policy.is_wrong_pcp(DATA, 5));
    }

    #[test]
    fn classes_follow_opcode_and_qp() {
        assert_eq!(PacketClass::of(Opcode(0x64), 1), PacketClass::Management);
        assert_eq!(PacketClass::of(Opcode(0x64), 99), PacketClass::Data);
        assert_eq!(PacketClass::of(Opcode(0x11), 99), PacketClass::Acknowledge);
        assert_eq!(PacketClass::of(Opcode(0x0e), 99), PacketClass::Data);
        assert_eq!(PacketClass::of(Opcode::CNP, 99), PacketClass::Cnp);
    }
}
