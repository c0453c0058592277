//! The pcapng format (draft-ietf-opsawg-pcapng): blocks of type, total length, body and total
//! length again, in sections that each have their own byte order and interfaces.

use super::error::Fault;
use super::order::Order;
use super::time::Clock;
use super::window::{MAX_RECORD, Window};
use super::{CaptureInfo, Format, LinkType, MAX_PACKET, Record, TapLoss};

/// The type of a Section Header Block reads the same in both byte orders.
pub(super) const SECTION_HEADER_MAGIC: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
const SECTION_HEADER: u32 = u32::from_be_bytes(SECTION_HEADER_MAGIC);
const INTERFACE_DESCRIPTION: u32 = 1;
/// Obsolete, written by Wireshark before 1.8 and by some probes.
const PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const INTERFACE_STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;

const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;

/// Type and total length in front of the body.
const BLOCK_HEAD: usize = 8;
/// The total length again, behind the body.
const BLOCK_TAIL: usize = 4;

/// Interfaces of one section, for each costs memory: one per file in a file merged of many.
const MAX_INTERFACES: usize = 1 << 14;

#[derive(Debug)]
struct Interface {
    link_type: LinkType,
    /// 0: no limit.
    snaplen: u32,
    clock: Clock,
    /// Interface Statistics Blocks count from the start of the capture: the last one holds.
    dropped_by_statistics: Option<u64>,
    /// Packet blocks count from the packet before: they add up.
    dropped_by_packets: Option<u64>,
}

/// Decoder of one pcapng file.
#[derive(Debug)]
pub(super) struct PcapNg {
    order: Order,
    interfaces: Vec<Interface>,
    info: CaptureInfo,
    /// Drops of the sections before this one.
    dropped_before: Option<u64>,
    /// Interface Statistics Blocks so far.
    statistics: u32,
    /// What they said since the last packet.
    loss: TapLoss,
}

/// Head of a block, checked against the rules that hold for every block.
#[derive(Clone, Copy, Debug)]
struct Head {
    kind: u32,
    len: usize,
}

impl PcapNg {
    /// Reads up to the first packet, so that the interfaces are known.
    pub(super) fn start(window: &mut Window) -> Result<Self, Fault> {
        let mut pcapng = Self {
            order: Order::Little,
            interfaces: Vec::new(),
            info: CaptureInfo { format: Format::PcapNg, link_type: None, snaplen: None },
            dropped_before: None,
            statistics: 0,
            loss: TapLoss::None,
        };
        while let Some(head) = pcapng.next_head(window)? {
            if matches!(head.kind, PACKET | SIMPLE_PACKET | ENHANCED_PACKET) {
                break;
            }
            pcapng.read_block(head, window)?;
        }
        Ok(pcapng)
    }

    pub(super) fn info(&self) -> CaptureInfo {
        self.info
    }

    /// A link type when interfaces are known and none of them can be read.
    pub(super) fn unreadable(&self) -> Option<LinkType> {
        let first = self.interfaces.first()?.link_type;
        self.interfaces.iter().all(|interface| !interface.link_type.is_readable()).then_some(first)
    }

    /// What statistics said since the last packet.
    pub(super) fn loss(&self) -> TapLoss {
        self.loss
    }

    pub(super) fn dropped(&self) -> Option<u64> {
        self.interfaces
            .iter()
            .map(|interface| interface.dropped_by_statistics.or(interface.dropped_by_packets))
            .fold(self.dropped_before, add)
    }

    #[inline]
    pub(super) fn next_record(&mut self, window: &mut Window) -> Result<Option<Record>, Fault> {
        while let Some(head) = self.next_head(window)? {
            if let Some(record) = self.read_block(head, window)? {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    /// The head of the next block, which stays; `None` at the end. A section header has set the
    /// byte order already.
    #[inline]
    fn next_head(&mut self, window: &mut Window) -> Result<Option<Head>, Fault> {
        if !window.begin_record()? {
            return Ok(None);
        }
        let head = window.peek(BLOCK_HEAD + BLOCK_TAIL)?;
        let kind = self.order.u32(head, 0);
        if kind == SECTION_HEADER {
            self.order = if Order::Little.u32(head, BLOCK_HEAD) == BYTE_ORDER_MAGIC {
                Order::Little
            } else if Order::Big.u32(head, BLOCK_HEAD) == BYTE_ORDER_MAGIC {
                Order::Big
            } else {
                let magic = Order::Big.u32(head, BLOCK_HEAD);
                return Err(Fault::Corrupt(format!("byte-order magic {magic:#010x}")));
            };
        }
        let len = self.order.u32(head, 4) as usize;
        if len < BLOCK_HEAD + BLOCK_TAIL || !len.is_multiple_of(4) {
            return Err(Fault::Corrupt(format!("a block of type {kind:#x} with length {len}")));
        }
        Ok(Some(Head { kind, len }))
    }

    /// Takes the block that `head` begins; a packet block gives a record.
    #[inline]
    fn read_block(&mut self, head: Head, window: &mut Window) -> Result<Option<Record>, Fault> {
        let Head { kind, len } = head;
        // The fixed part of the body.
        let fixed = match kind {
            SECTION_HEADER => 16,
            INTERFACE_DESCRIPTION => 8,
            PACKET | ENHANCED_PACKET => 20,
            SIMPLE_PACKET => 4,
            INTERFACE_STATISTICS => 12,
            _ => return self.skip_block(len, window).map(|()| None),
        };
        if len > MAX_RECORD || len < BLOCK_HEAD + fixed + BLOCK_TAIL {
            return Err(Fault::Corrupt(format!("a block of type {kind:#x} with length {len}")));
        }
        let block = window.peek(len)?;
        let (body, tail) = block[BLOCK_HEAD..].split_at(len - BLOCK_HEAD - BLOCK_TAIL);
        self.check_tail(len, tail)?;
        let packet = match kind {
            SECTION_HEADER => {
                self.section_header(body)?;
                None
            }
            INTERFACE_DESCRIPTION => {
                self.interface_description(body)?;
                None
            }
            INTERFACE_STATISTICS => {
                self.interface_statistics(body)?;
                None
            }
            SIMPLE_PACKET => Some(self.simple_packet(body)?),
            _ => Some(self.packet(kind, body)?),
        };
        let block = window.take(len);
        Ok(packet.map(|mut record| {
            let body = block.start + BLOCK_HEAD;
            record.data = body + record.data.start..body + record.data.end;
            record
        }))
    }

    /// Takes a block that says nothing about packets, of any length.
    fn skip_block(&self, len: usize, window: &mut Window) -> Result<(), Fault> {
        window.skip((len - BLOCK_TAIL) as u64)?;
        self.check_tail(len, window.peek(BLOCK_TAIL)?)?;
        window.take(BLOCK_TAIL);
        Ok(())
    }

    fn check_tail(&self, len: usize, tail: &[u8]) -> Result<(), Fault> {
        let again = self.order.u32(tail, 0) as usize;
        if again == len {
            Ok(())
        } else {
            Err(Fault::Corrupt(format!("a block starts with length {len} and ends with {again}")))
        }
    }

    fn section_header(&mut self, body: &[u8]) -> Result<(), Fault> {
        let (major, minor) = (self.order.u16(body, 4), self.order.u16(body, 6));
        if major != 1 {
            return Err(Fault::Corrupt(format!("pcapng version {major}.{minor}, expected 1.0")));
        }
        self.dropped_before = self.dropped();
        self.interfaces.clear();
        Ok(())
    }

    fn interface_description(&mut self, body: &[u8]) -> Result<(), Fault> {
        const IF_TSRESOL: u16 = 9;
        const IF_TSOFFSET: u16 = 14;
        if self.interfaces.len() == MAX_INTERFACES {
            return Err(Fault::Corrupt(format!("more than {MAX_INTERFACES} interfaces")));
        }
        let link_type = LinkType::from(u32::from(self.order.u16(body, 0)));
        let snaplen = self.order.u32(body, 4);
        let mut clock = Clock::MICROSECONDS;
        for (code, value) in self.options(&body[8..]) {
            match (code, value) {
                (IF_TSRESOL, &[resolution]) => clock.set_resolution(resolution),
                (IF_TSOFFSET, _) => {
                    clock.offset = self.u64_option(value).unwrap_or(0).cast_signed();
                }
                _ => {}
            }
        }
        if self.info.link_type.is_none() {
            self.info.link_type = Some(link_type);
            self.info.snaplen = Some(snaplen).filter(|&bytes| bytes != 0);
        }
        self.interfaces.push(Interface {
            link_type,
            snaplen,
            clock,
            dropped_by_statistics: None,
            dropped_by_packets: None,
        });
        Ok(())
    }

    fn interface_statistics(&mut self, body: &[u8]) -> Result<(), Fault> {
        const ISB_IFDROP: u16 = 5;
        const ISB_OSDROP: u16 = 7;
        let dropped = self
            .options(&body[12..])
            .filter(|&(code, _)| matches!(code, ISB_IFDROP | ISB_OSDROP))
            .map(|(_, value)| self.u64_option(value))
            .fold(None, add);
        let interface = self.order.u32(body, 0);
        let interface = self.interface(interface)?;
        let is_more = dropped > interface.dropped_by_statistics.or(Some(0));
        interface.dropped_by_statistics = dropped.or(interface.dropped_by_statistics);
        self.statistics = self.statistics.saturating_add(1);
        if is_more {
            self.loss = TapLoss::SinceStatistics;
        }
        Ok(())
    }

    /// An Enhanced Packet Block or an obsolete Packet Block: they differ in the first field.
    #[inline]
    fn packet(&mut self, kind: u32, body: &[u8]) -> Result<Record, Fault> {
        const FIXED: usize = 20;
        let order = self.order;
        let captured = order.u32(body, 12);
        let original = order.u32(body, 16);
        if captured as usize > MAX_PACKET {
            return Err(Fault::packet_too_large(captured));
        }
        let data = FIXED..FIXED + captured as usize;
        if data.end > body.len() {
            let room = body.len() - FIXED;
            return Err(Fault::Corrupt(format!("a packet of {captured} bytes in {room}")));
        }
        let options = &body[data.end.next_multiple_of(4).min(body.len())..];
        let (number, dropped) = if kind == ENHANCED_PACKET {
            (order.u32(body, 0), self.dropped_option(options))
        } else {
            // 0xffff: not known.
            let dropped = Some(order.u16(body, 2)).filter(|&count| count != u16::MAX);
            (u32::from(order.u16(body, 0)), dropped.map(u64::from))
        };
        let (statistics, mut loss) = (self.statistics, std::mem::take(&mut self.loss));
        let interface = self.interface(number)?;
        if dropped.is_some() {
            interface.dropped_by_packets = add(interface.dropped_by_packets, dropped);
        }
        if loss == TapLoss::None && dropped > Some(0) {
            loss = TapLoss::SinceFrame;
        }
        let ticks = u64::from(order.u32(body, 4)) << 32 | u64::from(order.u32(body, 8));
        Ok(Record {
            time: interface.clock.at(ticks),
            wire_len: original.max(captured),
            data,
            link_type: interface.link_type,
            interface: number,
            loss,
            statistics,
        })
    }

    /// A Simple Packet Block has neither time nor interface; the latter is the first.
    fn simple_packet(&mut self, body: &[u8]) -> Result<Record, Fault> {
        const FIXED: usize = 4;
        let original = self.order.u32(body, 0);
        let room = (body.len() - FIXED) as u32;
        let (statistics, loss) = (self.statistics, std::mem::take(&mut self.loss));
        let interface = self.interface(0)?;
        let limit = if interface.snaplen == 0 { u32::MAX } else { interface.snaplen };
        let captured = original.min(limit).min(room);
        if captured as usize > MAX_PACKET {
            return Err(Fault::packet_too_large(captured));
        }
        Ok(Record {
            time: None,
            wire_len: original,
            data: FIXED..FIXED + captured as usize,
            link_type: interface.link_type,
            interface: 0,
            loss,
            statistics,
        })
    }

    #[inline]
    fn interface(&mut self, number: u32) -> Result<&mut Interface, Fault> {
        let known = self.interfaces.len();
        self.interfaces.get_mut(number as usize).ok_or_else(|| {
            Fault::Corrupt(format!("interface {number} where the section describes {known}"))
        })
    }

    /// `epb_dropcount`, when the packet has it.
    #[inline]
    fn dropped_option(&self, options: &[u8]) -> Option<u64> {
        const EPB_DROPCOUNT: u16 = 4;
        let (_, value) = self.options(options).find(|&(code, _)| code == EPB_DROPCOUNT)?;
        self.u64_option(value)
    }

    /// Codes and values of an option list, up to its end or to the first option that does not fit.
    fn options<'a>(&self, mut list: &'a [u8]) -> impl Iterator<Item = (u16, &'a [u8])> + use<'a> {
        const END: u16 = 0;
        let order = self.order;
        std::iter::from_fn(move || {
            let (head, rest) = list.split_at_checked(4)?;
            let (code, len) = (order.u16(head, 0), usize::from(order.u16(head, 2)));
            let value = rest.get(..len).filter(|_| code != END)?;
            list = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
            Some((code, value))
        })
    }

    fn u64_option(&self, value: &[u8]) -> Option<u64> {
        Some(self.order.u64(value.try_into().ok()?))
    }
}

/// Sum of counts of which some are not known; `None` when none is.
fn add(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (known, None) | (None, known) => known,
    }
}
