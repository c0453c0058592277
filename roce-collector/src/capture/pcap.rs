//! The classic pcap format (draft-ietf-opsawg-pcap): a file header of 24 bytes, then records of
//! a 16-byte header and the packet.

use super::error::Fault;
use super::order::Order;
use super::window::Window;
use super::{CaptureInfo, Format, LinkType, MAX_PACKET, Record, TapLoss, Timestamp};

const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;

/// The link type field without the frame check sequence bits.
const LINK_TYPE_MASK: u32 = 0x03ff_ffff;

/// What the magic number says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Variant {
    order: Order,
    /// Nanoseconds in one unit of the sub-second field.
    unit: u64,
}

impl Variant {
    /// The variant whose file starts with `magic`.
    pub(super) fn of(magic: [u8; 4]) -> Option<Self> {
        let (order, unit) = match magic {
            [0xd4, 0xc3, 0xb2, 0xa1] => (Order::Little, 1000),
            [0xa1, 0xb2, 0xc3, 0xd4] => (Order::Big, 1000),
            [0x4d, 0x3c, 0xb2, 0xa1] => (Order::Little, 1),
            [0xa1, 0xb2, 0x3c, 0x4d] => (Order::Big, 1),
            _ => return None,
        };
        Some(Self { order, unit })
    }
}

/// Decoder of one pcap file.
#[derive(Debug)]
pub(super) struct Pcap {
    variant: Variant,
    link_type: LinkType,
    snaplen: u32,
}

impl Pcap {
    pub(super) fn start(window: &mut Window, variant: Variant) -> Result<Self, Fault> {
        let header = window.peek(FILE_HEADER)?;
        let order = variant.order;
        let (major, minor) = (order.u16(header, 4), order.u16(header, 6));
        if major != 2 {
            return Err(Fault::Corrupt(format!("pcap version {major}.{minor}, expected 2.4")));
        }
        let snaplen = order.u32(header, 16);
        let link_type = LinkType::from(order.u32(header, 20) & LINK_TYPE_MASK);
        window.take(FILE_HEADER);
        Ok(Self { variant, link_type, snaplen })
    }

    pub(super) fn info(&self) -> CaptureInfo {
        CaptureInfo {
            format: Format::Pcap,
            link_type: Some(self.link_type),
            snaplen: Some(self.snaplen).filter(|&bytes| bytes != 0),
        }
    }

    #[inline]
    pub(super) fn next_record(&mut self, window: &mut Window) -> Result<Option<Record>, Fault> {
        if !window.begin_record()? {
            return Ok(None);
        }
        let header = window.peek(RECORD_HEADER)?;
        let Variant { order, unit } = self.variant;
        let seconds = u64::from(order.u32(header, 0));
        let fraction = u64::from(order.u32(header, 4));
        let captured = order.u32(header, 8);
        let original = order.u32(header, 12);
        if captured as usize > MAX_PACKET {
            return Err(Fault::packet_too_large(captured));
        }
        window.peek(RECORD_HEADER + captured as usize)?;
        window.take(RECORD_HEADER);
        Ok(Some(Record {
            // Two 32-bit fields: at most the year 2106 and 4.3 million seconds.
            time: Some(Timestamp::from_nanos(seconds * 1_000_000_000 + fraction * unit)),
            wire_len: original.max(captured),
            data: window.take(captured as usize),
            link_type: self.link_type,
            interface: 0,
            loss: TapLoss::None,
            statistics: 0,
        }))
    }
}
