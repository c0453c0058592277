//! ACK extended transport header.

/// AETH: acknowledgement syndrome and message sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aeth {
    bytes: [u8; Self::LEN],
}

/// What an AETH says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syndrome {
    /// Everything up to the PSN arrived. The credit code is 31 where credits are not used.
    Ack {
        /// Five bits, not a plain number.
        credit_code: u8,
    },
    /// The receiver had no receive buffer; try again after the timer.
    RnrNak {
        /// Index into [`RNR_TIMER_MICROSECONDS`].
        timer_code: u8,
    },
    /// Refused.
    Nak(Nak),
    /// Syndrome group 2, which no standard defines.
    Reserved(u8),
}

/// Why a responder refused a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nak {
    /// A PSN other than the expected one arrived.
    PsnSequenceError,
    /// The request is not allowed (opcode, length, no receive posted in its form).
    InvalidRequest,
    /// R_Key, address range or permission: the application's fault, never the network's.
    RemoteAccessError,
    /// The responder could not complete it.
    RemoteOperationalError,
    /// RD only.
    InvalidRdRequest,
    /// A code that no standard defines.
    Unknown(u8),
}

/// RNR timer codes in microseconds (IBTA table 45; the same in tshark and rdma-core).
pub const RNR_TIMER_MICROSECONDS: [u32; 32] = [
    655_360, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640, 960, 1_280, 1_920, 2_560, 3_840,
    5_120, 7_680, 10_240, 15_360, 20_480, 30_720, 40_960, 61_440, 81_920, 122_880, 163_840,
    245_760, 327_680, 491_520,
];

impl Aeth {
    /// Length of the header.
    pub const LEN: usize = 4;

    /// Takes the bytes as they are.
    #[inline(always)]
    pub const fn from_bytes(bytes: [u8; Self::LEN]) -> Self {
        Self { bytes }
    }

    /// The syndrome byte.
    #[inline(always)]
    pub const fn syndrome_byte(&self) -> u8 {
        self.bytes[0]
    }

    /// The header as one word: the syndrome byte is the upper one.
    #[inline(always)]
    pub const fn word(&self) -> u32 {
        u32::from_be_bytes(self.bytes)
    }

    /// Message sequence number, 24 bits.
    #[inline(always)]
    pub const fn msn(&self) -> u32 {
        u32::from_be_bytes([0, self.bytes[1], self.bytes[2], self.bytes[3]])
    }

    /// What the syndrome byte means. Bit 7 is reserved and ignored.
    #[inline(always)]
    pub const fn syndrome(&self) -> Syndrome {
        Syndrome::from_byte(self.bytes[0])
    }
}

impl Syndrome {
    /// Decodes a syndrome byte: bits 6 and 5 are the group, the low five its value.
    #[inline(always)]
    pub const fn from_byte(byte: u8) -> Self {
        let value = byte & 0x1f;
        match byte >> 5 & 3 {
            0 => Self::Ack { credit_code: value },
            1 => Self::RnrNak { timer_code: value },
            2 => Self::Reserved(value),
            _ => Self::Nak(Nak::from_code(value)),
        }
    }
}

impl Nak {
    /// The codes that have a meaning, in order.
    pub const ALL: [Self; 5] = [
        Self::PsnSequenceError,
        Self::InvalidRequest,
        Self::RemoteAccessError,
        Self::RemoteOperationalError,
        Self::InvalidRdRequest,
    ];

    /// Decodes the low five bits of a NAK syndrome.
    #[inline(always)]
    pub const fn from_code(code: u8) -> Self {
        match code {
            0 => Self::PsnSequenceError,
            1 => Self::InvalidRequest,
            2 => Self::RemoteAccessError,
            3 => Self::RemoteOperationalError,
            4 => Self::InvalidRdRequest,
            other => Self::Unknown(other),
        }
    }

    /// Label in metrics and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PsnSequenceError => "psn_sequence_error",
            Self::InvalidRequest => "invalid_request",
            Self::RemoteAccessError => "remote_access_error",
            Self::RemoteOperationalError => "remote_operational_error",
            Self::InvalidRdRequest => "invalid_rd_request",
            Self::Unknown(_) => "unknown",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_group_three_is_a_nak() {
        // 0x06 is what hns NICs send in every good ACK.
        assert_eq!(Syndrome::from_byte(0x06), Syndrome::Ack { credit_code: 6 });
        assert_eq!(Syndrome::from_byte(0x1f), Syndrome::Ack { credit_code: 31 });
        assert_eq!(Syndrome::from_byte(0x60), Syndrome::Nak(Nak::PsnSequenceError));
        assert_eq!(Syndrome::from_byte(0x6f), Syndrome::Nak(Nak::Unknown(15)));
        assert_eq!(Syndrome::from_byte(0x40), Syndrome::Reserved(0));
    }

    #[test]
    fn rnr_timer_code_14_is_1_28_ms() {
        assert_eq!(Syndrome::from_byte(0x2e), Syndrome::RnrNak { timer_code: 14 });
        assert_eq!(RNR_TIMER_MICROSECONDS[14], 1_280);
    }
}
