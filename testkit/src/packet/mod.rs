//! Builds RoCE packets, byte for byte, from their fields.
//!
//! Independent of the product's parser on purpose: it is the oracle the parser is tested with.
//!
//! ```
//! use roce_testkit::packet::{Aeth, Ecn, Opcode, Packet};
//!
//! let nak = Packet::new(Opcode::RC_ACKNOWLEDGE)
//!     .ip("192.0.2.1".parse()?, "192.0.2.2".parse()?)
//!     .dscp(26)
//!     .ecn(Ecn::Ect0)
//!     .dest_qp(0x45)
//!     .psn(1000)
//!     .aeth(Aeth::nak(0, 7))
//!     .build();
//! assert_eq!(nak.len(), 14 + 20 + 8 + 12 + 4 + 4);
//! # Ok::<(), std::net::AddrParseError>(())
//! ```

mod bth;
mod builder;
mod facts;
mod headers;
mod icrc;
mod link;
mod network;
mod opcode;
mod set_lower;
mod set_transport;

pub use builder::Packet;
pub use facts::Facts;
pub use headers::{Aeth, AtomicEth, Deth, Reth};
pub use link::{
    ETHERTYPE_IPV4, ETHERTYPE_IPV6, ETHERTYPE_ROCE_V1, Mac, TPID_CUSTOMER, TPID_SERVICE, VlanTag,
};
pub use network::{Ecn, Ipv6Ext, internet_checksum};
pub use opcode::{ExtHeader, Opcode, OpcodeInfo, all_opcodes};

/// UDP destination port of RoCEv2.
pub const ROCE_V2_PORT: u16 = 4791;

#[cfg(test)]
mod vectors;
