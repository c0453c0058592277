//! What a queue pair is: its service, its state, its numbers.

use std::fmt;

/// Transport service of a queue pair: `enum ib_qp_type` of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QpType(pub u8);

impl QpType {
    /// Subnet management, QP 0.
    pub const SMI: Self = Self(0);
    /// General services, QP 1: the connection manager talks over it.
    pub const GSI: Self = Self(1);
    /// Reliable connection.
    pub const RC: Self = Self(2);
    /// Unreliable connection.
    pub const UC: Self = Self(3);
    /// Unreliable datagram.
    pub const UD: Self = Self(4);

    /// Name as iproute2 writes it; `unknown` for one that no kernel had when this was written.
    pub const fn name(self) -> &'static str {
        match self.0 {
            0 => "SMI",
            1 => "GSI",
            2 => "RC",
            3 => "UC",
            4 => "UD",
            5 => "RAW_IPV6",
            6 => "RAW_ETHERTYPE",
            8 => "RAW_PACKET",
            9 => "XRC_INI",
            10 => "XRC_TGT",
            0xff => "DRIVER",
            _ => "unknown",
        }
    }

    /// Whether each port has a queue pair of its own with this number.
    pub const fn is_special(self) -> bool {
        matches!(self, Self::SMI | Self::GSI)
    }
}

/// State of a queue pair: `enum ib_qp_state` of the kernel, IBTA 10.3.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QpState(pub u8);

impl QpState {
    /// Just made.
    pub const RESET: Self = Self(0);
    /// Has a port.
    pub const INIT: Self = Self(1);
    /// Ready to receive: knows its peer.
    pub const RTR: Self = Self(2);
    /// Ready to send.
    pub const RTS: Self = Self(3);
    /// Send queue drained.
    pub const SQD: Self = Self(4);
    /// Send queue in error.
    pub const SQE: Self = Self(5);
    /// In error: every request is flushed.
    pub const ERR: Self = Self(6);

    /// All that there are.
    pub const ALL: [Self; 7] =
        [Self::RESET, Self::INIT, Self::RTR, Self::RTS, Self::SQD, Self::SQE, Self::ERR];

    /// Name as iproute2 writes it.
    pub const fn name(self) -> &'static str {
        match self.0 {
            0 => "RESET",
            1 => "INIT",
            2 => "RTR",
            3 => "RTS",
            4 => "SQD",
            5 => "SQE",
            6 => "ERR",
            _ => "unknown",
        }
    }
}

/// Path migration state: `enum ib_mig_state` of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PathMigration(pub u8);

impl PathMigration {
    /// Name as iproute2 writes it.
    pub const fn name(self) -> &'static str {
        match self.0 {
            0 => "MIGRATED",
            1 => "REARM",
            2 => "ARMED",
            _ => "unknown",
        }
    }
}

macro_rules! shown_by_name {
    ($($kind:ty),*) => {$(
        impl fmt::Display for $kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    )*};
}

shown_by_name!(QpType, QpState, PathMigration);
