//! Copies of packets that a tap made: a port mirrored both ways delivers each packet twice.

use std::time::Duration;

use roce_common::wire::{AddressFamily, Bth, RocePacket};

use crate::capture::Timestamp;

/// How much later a copy may come when the IP identification tells packets apart.
const MAX_DELAY: Duration = Duration::from_millis(1);
/// And when it does not: shorter than the way to the peer and back, so no retransmission.
const MAX_DELAY_WITHOUT_ID: Duration = Duration::from_micros(5);

/// What a copy has in common with its original and a retransmission has not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fingerprint {
    /// BTH, but for the bits that a router may change.
    bth: [u8; 12],
    payload: u32,
    /// IP identification; 0 where there is none.
    id: u16,
}

/// The latest packets of a record.
#[derive(Debug, Default)]
pub(super) struct Copies {
    latest: [Option<(Fingerprint, Timestamp)>; 4],
    turn: u8,
    /// The last two packets had different IP identifications.
    ids_vary: bool,
}

impl Fingerprint {
    pub(super) fn of(packet: &RocePacket, frame: &[u8]) -> Self {
        const ID: usize = 4;
        let read = |offset: usize| frame.get(offset..)?.first_chunk::<2>().copied();
        let id = match packet.family {
            AddressFamily::V4 => read(packet.network_offset + ID).map_or(0, u16::from_be_bytes),
            AddressFamily::V6 => 0,
        };
        let mut bth = [0; Bth::LEN];
        if let Some(bytes) = frame.get(packet.bth_offset..packet.bth_offset + Bth::LEN) {
            bth.copy_from_slice(bytes);
        }
        bth[4] = 0; // FECN and BECN
        Self { bth, payload: packet.payload_bytes, id }
    }
}

impl Copies {
    /// Whether one of the latest packets was this very one. Remembers it.
    pub(super) fn is_copy(&mut self, packet: Fingerprint, time: Timestamp) -> bool {
        let previous = self.latest[usize::from(self.turn)];
        let same = self.latest.iter().flatten().find(|(earlier, _)| *earlier == packet);
        let is_copy = same.is_some_and(|(_, earlier)| {
            let has_id = packet.id != 0 && self.ids_vary;
            let is_next = previous.is_some_and(|(previous, _)| previous == packet);
            let delay = time.since(*earlier);
            has_id && delay <= MAX_DELAY || is_next && delay <= MAX_DELAY_WITHOUT_ID
        });
        if !is_copy {
            self.ids_vary = previous.is_some_and(|(previous, _)| previous.id != packet.id);
            self.turn = (self.turn + 1) % 4;
            self.latest[usize::from(self.turn)] = Some((packet, time));
        }
        is_copy
    }
}
