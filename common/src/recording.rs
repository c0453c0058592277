//! The last packets of connections in trouble, as the kernel keeps them.

use crate::flow::WideKey;

/// Packets that are kept of one connection.
pub const RECORDED_FRAMES: u32 = 64;
/// Bytes that are kept of one packet, from the Ethernet header on.
pub const RECORDED_BYTES: usize = 96;
/// Recorders that are looked at for one connection.
pub const RECORDER_WAYS: u32 = 4;
/// A recorder whose connection had no packet in trouble for this many nanoseconds may go to another one.
pub const RECORDER_IDLE_NS: u64 = 5_000_000_000;

/// A recorder: who has it, and a ring of packets.
///
/// Any CPU adds packets, each with a *ticket*, a number that wraps: packet `ticket` lies at
/// `ticket % 64`. A reader takes those whose ticket is the one that belongs there.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Recorder {
    /// Not 0 while somebody takes it over.
    pub lock: u32,
    /// Ticket of the next packet.
    pub next: u32,
    /// Ticket of the first packet of its owner.
    pub first: u32,
    /// Zero.
    pub reserved: u32,
    /// When the last packet came, in nanoseconds since boot; 0 when nobody has had it.
    pub seen_ns: u64,
    /// Key of the connection's requests, or of its answers where the requests are not known.
    pub owner: WideKey,
    /// Zero.
    pub reserved_too: u32,
    /// The ring.
    pub frames: [RecordedHeader; RECORDED_FRAMES as usize],
}

/// The first bytes of one packet.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedHeader {
    /// Its ticket plus 1, wrapping; 0 while it is written.
    pub number: u32,
    /// Bytes of the frame, without FCS and what `vlan` stands for.
    pub frame_len: u32,
    /// When it was seen, in nanoseconds since boot.
    pub time_ns: u64,
    /// Outer VLAN tag, which the kernel may have taken out of the frame; 65536 without one.
    pub vlan: u32,
    /// Bytes of it here.
    pub captured: u32,
    /// Tap that saw it.
    pub tap: u32,
    /// Packets of its record before it, wrapping: who is missing in the ring.
    pub packets_before: u32,
    /// Its first bytes, then zeros or what an earlier packet had.
    pub bytes: [u8; RECORDED_BYTES],
}

impl RecordedHeader {
    /// Whether this is the packet with `ticket`, whole.
    pub const fn is_of(&self, ticket: u32) -> bool {
        self.number == ticket.wrapping_add(1)
    }
}

impl Recorder {
    /// Tickets of the packets that its owner has in the ring, oldest first.
    pub fn tickets(first: u32, next: u32) -> impl Iterator<Item = u32> {
        let written = next.wrapping_sub(first);
        let kept = written.min(RECORDED_FRAMES);
        (0..kept).map(move |index| next.wrapping_sub(kept).wrapping_add(index))
    }
}

/// Recorders to allocate for `count`: the search from the last one never wraps around.
pub const fn allocated_recorders(count: u32) -> u32 {
    count.saturating_add(RECORDER_WAYS - 1)
}

const _: () = assert!(size_of::<RecordedHeader>() == 128);
const _: () = assert!(size_of::<Recorder>() == 72 + 64 * 128);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_ring_has_the_last_64() {
        assert!(Recorder::tickets(7, 7).eq([]));
        assert!(Recorder::tickets(7, 9).eq([7, 8]));
        let wrapped = || Recorder::tickets(u32::MAX - 200, 10);
        assert_eq!((wrapped().count(), wrapped().last()), (64, Some(9)));
        assert_eq!(wrapped().next(), Some(u32::MAX - 53));
    }
}
