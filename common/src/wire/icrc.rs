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

    let mut crc = Batch::default();
    crc.update(&[0xff; 8]);
    hash_network(&mut crc, network, packet.version);
    hash_transport(&mut crc, transport);
    if crc.finalize().to_le_bytes() == stored { IcrcCheck::Good } else { IcrcCheck::Bad }
}

/// Puts small pieces together: the CRC of a few bytes costs as much as that of many.
#[derive(Debug)]
struct Batch {
    crc: Hasher,
    bytes: [u8; Self::LEN],
    len: usize,
}

impl Batch {
    /// All headers of the usual packet.
    const LEN: usize = 96;

    fn update(&mut self, piece: &[u8]) {
        if let Some(room) = self.bytes.get_mut(self.len..self.len + piece.len()) {
            room.copy_from_slice(piece);
            self.len += piece.len();
        } else {
            self.flush();
            self.crc.update(piece);
        }
    }

    fn flush(&mut self) {
        self.crc.update(self.bytes.get(..self.len).unwrap_or_default());
        self.len = 0;
    }

    fn finalize(mut self) -> u32 {
        self.flush();
        self.crc.finalize()
    }
}

impl Default for Batch {
    fn default() -> Self {
        Self { crc: Hasher::new(), bytes: [0; Self::LEN], len: 0 }
    }
}

/// Hashes the network layer and, in `RoCEv2`, the UDP header.
fn hash_network(crc: &mut Batch, network: &[u8], version: RoceVersion) {
    // All that a router may change stands in the first 12 bytes, but for the UDP checksum at the end.
    let Some((&head, rest)) = network.split_first_chunk::<12>() else { return };
    let mut head: [u8; 12] = head;
    if head[0] >> 4 == 4 {
        (head[1], head[8], head[10], head[11]) = (0xff, 0xff, 0xff, 0xff);
    } else {
        // The version stays; traffic class, flow label and hop limit do not.
        head[0] |= 0x0f;
        (head[1], head[2], head[3], head[7]) = (0xff, 0xff, 0xff, 0xff);
    }
    crc.update(&head);
    match rest.split_last_chunk::<2>() {
        Some((rest, _checksum)) if version == RoceVersion::V2 => {
            crc.update(rest);
            crc.update(&[0xff; 2]);
        }
        _ => crc.update(rest),
    }
}

fn hash_transport(crc: &mut Batch, transport: &[u8]) {
    /// FECN, BECN and six reserved bits.
    const VARIANT: usize = 4;
    if let (Some(before), Some(after)) = (transport.get(..VARIANT), transport.get(VARIANT + 1..)) {
        crc.update(before);
        crc.update(&[0xff]);
        crc.update(after);
    }
}
