//! What the parser makes of a frame.

use super::{Aeth, Bth, Ipv4, Ipv6, Opcode, PacketRead, ParseReason, TrafficClass, VlanTags};

/// What a frame turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// A RoCE packet.
    Roce(RocePacket),
    /// Plainly something else.
    NotRoce,
    /// It could be RoCE but cannot be read.
    Malformed(ParseReason),
}

/// RoCE version 1 runs on Ethernet, version 2 on UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RoceVersion {
    /// `EtherType` 0x8915 with a GRH.
    V1,
    /// UDP port 4791.
    V2,
}

/// Which header says source and destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AddressFamily {
    /// IPv4.
    V4,
    /// IPv6, or the GIDs of a GRH.
    V6,
}

/// Source and destination, in network order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addresses {
    /// IPv4.
    V4 {
        /// Sender.
        source: [u8; 4],
        /// Receiver.
        destination: [u8; 4],
    },
    /// IPv6, or the GIDs of `RoCEv1`.
    V6 {
        /// Sender.
        source: [u8; 16],
        /// Receiver.
        destination: [u8; 16],
    },
}

/// Everything the flow record and the PSN engine need of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RocePacket {
    /// Version.
    pub version: RoceVersion,
    /// Kind of its addresses. They stay in the frame, see [`Self::addresses`]: the kernel has 512 bytes of stack.
    pub family: AddressFamily,
    /// VLAN tags, outer first.
    pub vlans: VlanTags,
    /// DSCP and ECN; for `RoCEv1` the traffic class of the GRH.
    pub traffic_class: TrafficClass,
    /// UDP source port; 0 for `RoCEv1`.
    pub source_port: u16,
    /// Base transport header.
    pub bth: Bth,
    /// AETH, DMA length of a RETH or DETH; see [`RocePacket::aeth`] and its siblings.
    pub extended: Extended,
    /// Bytes from the Ethernet header to the end of the IP packet: no padding, no FCS.
    pub wire_bytes: u32,
    /// Bytes after all headers, without padding and ICRC; of a first fragment only those in it.
    pub payload_bytes: u32,
    /// Where the IP header or GRH starts in the frame.
    pub network_offset: usize,
    /// Where the BTH starts in the frame.
    pub bth_offset: usize,
    /// The rest of the datagram is in other fragments: see [`ParseReason::FirstFragment`].
    pub is_first_fragment: bool,
}

impl RocePacket {
    /// Whether the opcode has an extended header that was not captured.
    #[inline(always)]
    pub fn lacks_headers(&self) -> bool {
        let opcode = self.bth.opcode();
        (opcode.has_aeth() || opcode.has_reth() || opcode.has_deth()) && !self.extended.is_present
    }

    /// AETH, where the opcode has one and it was captured.
    #[inline(always)]
    pub fn aeth(&self) -> Option<Aeth> {
        let bytes = self.extended.word.to_be_bytes();
        self.extended.when(self.bth.opcode().has_aeth()).then_some(Aeth::from_bytes(bytes))
    }

    /// DMA length of a RETH, where the opcode has one and it was captured.
    #[inline(always)]
    pub fn dma_len(&self) -> Option<u32> {
        self.extended.when(self.bth.opcode().has_reth()).then_some(self.extended.word)
    }

    /// Source QP of a DETH, where the opcode has one and it was captured.
    #[inline(always)]
    pub fn source_qp(&self) -> Option<u32> {
        self.extended.when(self.bth.opcode().has_deth()).then_some(self.extended.word & 0x00ff_ffff)
    }

    /// Source and destination; `None` when `frame` is not the one that this packet was parsed from.
    #[inline(always)]
    pub fn addresses<R: PacketRead>(&self, frame: &R) -> Option<Addresses> {
        match self.family {
            AddressFamily::V4 => {
                let both = frame.read(self.network_offset + Ipv4::SOURCE_OFFSET)?;
                let [s0, s1, s2, s3, d0, d1, d2, d3] = both;
                Some(Addresses::V4 { source: [s0, s1, s2, s3], destination: [d0, d1, d2, d3] })
            }
            AddressFamily::V6 => {
                let source = frame.read(self.network_offset + Ipv6::SOURCE_OFFSET)?;
                let destination = frame.read(self.network_offset + Ipv6::DESTINATION_OFFSET)?;
                Some(Addresses::V6 { source, destination })
            }
        }
    }
}

/// The one extended header that counters and PSN engine need, as a plain word.
///
/// Not an option, because the compiler may look into an option that is `None`, and the verifier then
/// sees it use a value that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extended {
    word: u32,
    /// The opcode has it and it was captured.
    is_present: bool,
}

impl Extended {
    /// The opcode has none, or it was not captured.
    pub const ABSENT: Self = Self { word: 0, is_present: false };

    /// Reads the word at its place behind a BTH, which is at `start`; `None` when it was not captured.
    #[inline(always)]
    pub(super) fn read<R: PacketRead>(frame: &R, start: usize, opcode: Opcode) -> Option<Self> {
        let Some(offset) = opcode.word_offset() else { return Some(Self::ABSENT) };
        let bytes = frame.read(start + Bth::LEN + offset)?;
        Some(Self { word: u32::from_be_bytes(bytes), is_present: true })
    }

    /// The word, 0 when it is not there.
    #[inline(always)]
    pub const fn word(self) -> u32 {
        self.word
    }

    /// Whether the opcode has it and it was captured.
    #[inline(always)]
    pub const fn is_present(self) -> bool {
        self.is_present
    }

    #[inline(always)]
    const fn when(self, has_it: bool) -> bool {
        has_it && self.is_present
    }
}
