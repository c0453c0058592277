//! What one packet counts as.

use std::net::IpAddr;

use super::network::Ecn;
use super::opcode::Opcode;

/// The countable fields of a packet, taken from what the builder was told, not from its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// Source address, or source GID of `RoCEv1`.
    pub src: IpAddr,
    /// Destination address, or destination GID of `RoCEv1`.
    pub dst: IpAddr,
    /// Destination QP of the BTH.
    pub dst_qp: u32,
    /// BTH opcode.
    pub opcode: Opcode,
    /// BTH sequence number.
    pub psn: u32,
    /// Ethernet header with tags plus IP total length (`RoCEv1`: GRH and what follows it).
    pub wire_bytes: u64,
    /// Bytes behind all headers, without pad and ICRC. The 16 reserved bytes of a CNP are part of
    /// its format, so a CNP has none.
    pub payload_bytes: u64,
    /// DSCP.
    pub dscp: u8,
    /// ECN codepoint.
    pub ecn: Ecn,
    /// AETH syndrome, when the opcode carries an AETH.
    pub syndrome: Option<u8>,
}
