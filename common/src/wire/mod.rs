//! Wire formats from Ethernet to the RoCE extended headers.
//!
//! Rules that hold for every file here:
//! - A header type is built from an array of exactly its length, so its getters cannot fail.
//! - Getters return host order; addresses stay in network order as byte arrays.
//! - Lengths come from IP and UDP, never from how much of the frame was captured.
//! - What a frame can do wrong has a [`ParseReason`]; nothing is rejected without one.
//!
//! Layouts: Linux `rxe_hdr.h` and `rxe_opcode.c`, which follow IBTA volume 1 and its annex A17.

mod aeth;
mod atomic;
mod bth;
pub mod cm;
mod deth;
mod ethernet;
mod extended;
mod grh;
#[cfg(feature = "user")]
mod icrc;
mod ieth;
mod immdt;
mod ipv4;
mod ipv6;
mod opcode;
mod opcode_facts;
mod packet;
mod parse;
mod reader;
mod reason;
mod reth;
mod traffic_class;
mod udp;
mod usual;
mod vlan;
mod xrceth;

pub use aeth::{Aeth, Nak, RNR_TIMER_MICROSECONDS, Syndrome};
pub use atomic::{AtomicAckEth, AtomicEth};
pub use bth::Bth;
pub use cm::opened_qp;
pub use deth::Deth;
pub use ethernet::EtherType;
pub use extended::ExtendedHeaders;
pub use grh::Grh;
#[cfg(feature = "user")]
pub use icrc::{IcrcCheck, check_icrc};
pub use ieth::Ieth;
pub use immdt::ImmDt;
pub use ipv4::Ipv4;
pub use ipv6::{Ipv6, MAX_EXTENSION_HEADERS};
pub(crate) use opcode::OpcodeKind;
pub use opcode::{Opcode, Operation, Transport};
pub use packet::{AddressFamily, Addresses, Extended, Parsed, RocePacket, RoceVersion};
pub use parse::{parse_ethernet, parse_network};
pub use reader::{PacketRead, SliceReader};
pub use reason::ParseReason;
pub use reth::Reth;
pub use traffic_class::{Ecn, TrafficClass};
pub use udp::{ROCE_PORT, Udp};
pub use usual::parse_usual;
pub use vlan::{VlanTag, VlanTags};
pub use xrceth::XrcEth;
