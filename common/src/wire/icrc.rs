//! Invariant CRC, checked on whole frames in user space. The kernel programs do not check it.

use super::{Bth, RocePacket, RoceVersion};
use crc32fast::Hasher;

const ICRC_LEN: usize = 4;
/// Eight bytes of ones stand for it.
const LRH_LEN: usize = 8;
/// At the end of a UDP header.
const CHECKSUM_LEN: usize = 2;

/// Result of [`check_icrc`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IcrcCheck {
    /// The packet is as it was sent.
    Good,
    /// Bits changed on the way, or the sender computed it wrongly.
    Bad,
    /// The frame was cut short, or is a fragment.
    NotCheckable,
}

/// Checks the ICRC of `packet`, which was parsed from `frame`.
///
/// The CRC-32 of Ethernet runs over eight bytes of ones (which stand for the LRH), the IP header or
/// GRH, UDP, BTH, everything after it, with all fields set to ones that a router may change: TOS,
/// TTL, checksums, flow label, and the FECN, BECN and reserved bits of the BTH. It is stored least
/// significant byte first. Source: IBTA annex A17.3.3; Linux `rxe_icrc.c`.
pub fn check_icrc(frame: &[u8], packet: &RocePacket) -> IcrcCheck {
    if packet.is_first_fragment {
        return IcrcCheck::NotCheckable;
    }
    let overhead = Bth::LEN + packet.bth.opcode().extended_len() + packet.bth.pad_count() as usize;
    let icrc_start = packet.bth_offset + overhead + packet.payload_bytes as usize;
    let (Some(network), Some(transport), Some(stored)) = (
        frame.get(packet.network_offset..packet.bth_offset),
        frame.get(packet.bth_offset..icrc_start),
        frame.get(icrc_start..icrc_start + ICRC_LEN),
    ) else {
        return IcrcCheck::NotCheckable;
    };

    let Some((bth, rest)) = transport.split_first_chunk::<{ Bth::LEN }>() else {
        return IcrcCheck::NotCheckable;
    };
    let mut crc = Hasher::new();
    hash_headers(&mut crc, network, *bth, packet.version);
    crc.update(rest);
    if crc.finalize().to_le_bytes() == stored { IcrcCheck::Good } else { IcrcCheck::Bad }
}

/// Hashes the ones for the LRH, the network layer, in `RoCEv2` the UDP header, and the BTH.
fn hash_headers(crc: &mut Hasher, network: &[u8], mut bth: [u8; Bth::LEN], version: RoceVersion) {
    /// Longer ones have IPv6 extension headers.
    const USUAL: usize = 48;
    /// FECN, BECN and six reserved bits.
    const VARIANT: usize = 4;
    bth[VARIANT] = 0xff;
    let mut buffer = [0xff; LRH_LEN + USUAL + Bth::LEN];
    let end = LRH_LEN + network.len();
    if network.len() <= USUAL {
        // One piece instead of many: the CRC of a few bytes costs as much as that of many.
        buffer[LRH_LEN..end].copy_from_slice(network);
        mask_start(&mut buffer[LRH_LEN..end]);
        if version == RoceVersion::V2 {
            buffer[end - CHECKSUM_LEN..end].fill(0xff);
        }
        buffer[end..end + Bth::LEN].copy_from_slice(&bth);
        crc.update(&buffer[..end + Bth::LEN]);
        return;
    }
    let (start, rest) = network.split_at(USUAL);
    let end = LRH_LEN + USUAL;
    buffer[LRH_LEN..end].copy_from_slice(start);
    mask_start(&mut buffer[LRH_LEN..end]);
    crc.update(&buffer[..end]);
    if version == RoceVersion::V2 {
        // Extension headers end with the UDP header.
        crc.update(&rest[..rest.len().saturating_sub(CHECKSUM_LEN)]);
        crc.update(&[0xff; CHECKSUM_LEN]);
    } else {
        crc.update(rest);
    }
    crc.update(&bth);
}

/// Sets to ones what a router may change in an IP header or GRH: it stands in the first 12 bytes.
fn mask_start(network: &mut [u8]) {
    let Some(head) = network.first_chunk_mut::<12>() else { return };
    if head[0] >> 4 == 4 {
        (head[1], head[8], head[10], head[11]) = (0xff, 0xff, 0xff, 0xff);
    } else {
        // The version stays; traffic class, flow label and hop limit do not.
        head[0] |= 0x0f;
        (head[1], head[2], head[3], head[7]) = (0xff, 0xff, 0xff, 0xff);
    }
}
