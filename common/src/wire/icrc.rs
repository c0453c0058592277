//! Invariant CRC, checked on whole frames in user space. The kernel programs do not check it.

use super::{Bth, RocePacket, RoceVersion};
use crc32fast::Hasher;

const ICRC_LEN: usize = 4;

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

    let mut crc = Hasher::new();
    crc.update(&[0xff; 8]);
    hash_network(&mut crc, network, packet.version);
    hash_transport(&mut crc, transport);
    if crc.finalize().to_le_bytes() == stored { IcrcCheck::Good } else { IcrcCheck::Bad }
}

/// Longest network layer that is masked: IPv4 with options, or IPv6 with a usual chain, and UDP.
const MAX_NETWORK_LEN: usize = 128;

fn hash_network(crc: &mut Hasher, network: &[u8], version: RoceVersion) {
    let mut copy = [0; MAX_NETWORK_LEN];
    let head = network.len().min(MAX_NETWORK_LEN);
    let (Some(masked), Some((source, rest))) =
        (copy.get_mut(..head), network.split_at_checked(head))
    else {
        return;
    };
    masked.copy_from_slice(source);
    let is_v4 = masked.first().is_some_and(|byte| byte >> 4 == 4);
    if is_v4 {
        set_ones(masked, &[1, 8, 10, 11]);
    } else {
        // The version stays; traffic class, flow label and hop limit do not.
        if let Some(first) = masked.first_mut() {
            *first |= 0x0f;
        }
        set_ones(masked, &[1, 2, 3, 7]);
    }
    if version == RoceVersion::V2 && rest.is_empty() {
        // The UDP checksum is the end of the UDP header.
        set_ones(masked, &[head.wrapping_sub(2), head.wrapping_sub(1)]);
    }
    crc.update(masked);
    crc.update(rest);
}

fn hash_transport(crc: &mut Hasher, transport: &[u8]) {
    /// FECN, BECN and six reserved bits.
    const VARIANT: usize = 4;
    if let (Some(before), Some(after)) = (transport.get(..VARIANT), transport.get(VARIANT + 1..)) {
        crc.update(before);
        crc.update(&[0xff]);
        crc.update(after);
    }
}

fn set_ones(bytes: &mut [u8], positions: &[usize]) {
    for &position in positions {
        if let Some(byte) = bytes.get_mut(position) {
            *byte = 0xff;
        }
    }
}
