//! Invariant CRC, computed from the finished frame.
//!
//! CRC-32 with the Ethernet polynomial over 8 bytes of ones (the LRH that RoCE does not have), the
//! network header, UDP, BTH and everything behind it, with the fields that change on the way set
//! to ones; sent least significant byte first. Source: IBTA Annex A16/A17 as implemented by Linux
//! `rxe_icrc.c` and checked by scapy's RoCE test vectors.

use crc32fast::Hasher;

use super::network::Network;

const BTH_RESV8A: usize = 4;

/// ICRC over `packet`, which begins at the network header and ends before the ICRC.
///
/// IPv4 options and IPv6 extension headers are covered as they are.
pub(super) fn compute(packet: &[u8], network: &Network, network_len: usize) -> [u8; 4] {
    let bth = network_len + if network.has_udp() { 8 } else { 0 };
    let mut head = packet[..bth + 12].to_vec();
    match network {
        Network::V4 { .. } => {
            head[1] = 0xff; // TOS
            head[8] = 0xff; // TTL
            head[10..12].fill(0xff); // header checksum
        }
        Network::V6 { .. } | Network::Grh { .. } => {
            head[0] |= 0x0f; // traffic class, flow label
            head[1..4].fill(0xff);
            head[7] = 0xff; // hop limit
        }
    }
    if network.has_udp() {
        head[network_len + 6..network_len + 8].fill(0xff); // UDP checksum
    }
    head[bth + BTH_RESV8A] = 0xff; // FECN, BECN, reserved

    let mut crc = Hasher::new();
    crc.update(&[0xff; 8]);
    crc.update(&head);
    crc.update(&packet[bth + 12..]);
    crc.finalize().to_le_bytes()
}
