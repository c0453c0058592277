//! Writes pcap and pcapng files in every variant a reader has to take.
//!
//! Formats: draft-ietf-opsawg-pcap and draft-ietf-opsawg-pcapng.

use std::io::{self, Write};

/// Link type of Ethernet.
pub const LINKTYPE_ETHERNET: u16 = 1;
/// Link type of raw IPv4 or IPv6.
pub const LINKTYPE_RAW: u16 = 101;
/// Link type of Linux "cooked" capture.
pub const LINKTYPE_LINUX_SLL: u16 = 113;
/// Link type of Linux "cooked" capture, version 2.
pub const LINKTYPE_LINUX_SLL2: u16 = 276;

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// How a file says its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    /// Link type of every frame.
    pub link_type: u16,
    /// Frames are cut to this many bytes; their original length is kept.
    pub snaplen: u32,
    /// Nanosecond instead of microsecond times.
    pub nanoseconds: bool,
    /// Big-endian instead of little-endian.
    pub big_endian: bool,
}

impl Default for Format {
    /// Ethernet, whole frames, nanoseconds, little-endian.
    fn default() -> Self {
        Self {
            link_type: LINKTYPE_ETHERNET,
            snaplen: 262_144,
            nanoseconds: true,
            big_endian: false,
        }
    }
}

impl Format {
    fn u16(self, value: u16) -> [u8; 2] {
        if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    fn u32(self, value: u32) -> [u8; 4] {
        if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    fn cut(self, frame: &[u8]) -> &[u8] {
        &frame[..frame.len().min(self.snaplen as usize)]
    }
}

/// Writes a pcap file.
#[derive(Debug)]
pub struct PcapWriter<W> {
    out: W,
    format: Format,
}

impl<W: Write> PcapWriter<W> {
    /// Writes the file header.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn new(mut out: W, format: Format) -> io::Result<Self> {
        let magic = if format.nanoseconds { 0xa1b2_3c4d } else { 0xa1b2_c3d4 };
        out.write_all(&format.u32(magic))?;
        out.write_all(&format.u16(2))?;
        out.write_all(&format.u16(4))?;
        out.write_all(&[0; 8])?;
        out.write_all(&format.u32(format.snaplen))?;
        out.write_all(&format.u32(format.link_type.into()))?;
        Ok(Self { out, format })
    }

    /// Appends `frame`, seen `nanos` nanoseconds after the epoch.
    ///
    /// # Errors
    /// Those of the underlying writer.
    pub fn write(&mut self, nanos: u64, frame: &[u8]) -> io::Result<()> {
        let fraction = nanos % NANOS_PER_SECOND / if self.format.nanoseconds { 1 } else { 1000 };
        let data = self.format.cut(frame);
        let fields = [
            (nanos / NANOS_PER_SECOND) as u32,
            fraction as u32,
            data.len() as u32,
            frame.len() as u32,
        ];
        for field in fields {
            self.out.write_all(&self.format.u32(field))?;
        }
        self.out.write_all(data)
    }

    /// Flushes and gives the writer back.
    ///
    /// # Errors
    /// Those of the underlying writer.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const OPTION_IF_TSRESOL: u16 = 9;

/// Writes a pcapng file with one section and one interface.
#[derive(Debug)]
pub struct PcapngWriter<W> {
    out: W,
    format: Format,
}

impl<W: Write> PcapngWriter<W> {
    /// Writes the section header and the interface description.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn new(out: W, format: Format) -> io::Result<Self> {
        let mut writer = Self { out, format };
        let mut section = Vec::new();
        section.extend(format.u32(0x1a2b_3c4d));
        section.extend(format.u16(1));
        section.extend(format.u16(0));
        section.extend([0xff; 8]); // section length not given
        writer.block(SECTION_HEADER, &section)?;

        let mut interface = Vec::new();
        interface.extend(format.u16(format.link_type));
        interface.extend(format.u16(0));
        interface.extend(format.u32(format.snaplen));
        interface.extend(format.u16(OPTION_IF_TSRESOL));
        interface.extend(format.u16(1));
        interface.extend([if format.nanoseconds { 9 } else { 6 }, 0, 0, 0]);
        interface.extend([0; 4]); // end of options
        writer.block(INTERFACE_DESCRIPTION, &interface)?;
        Ok(writer)
    }

    /// Appends `frame`, seen `nanos` nanoseconds after the epoch.
    ///
    /// # Errors
    /// Those of the underlying writer.
    pub fn write(&mut self, nanos: u64, frame: &[u8]) -> io::Result<()> {
        let ticks = nanos / if self.format.nanoseconds { 1 } else { 1000 };
        let data = self.format.cut(frame);
        let mut body = Vec::with_capacity(20 + data.len() + 3);
        let fields = [0, (ticks >> 32) as u32, ticks as u32, data.len() as u32, frame.len() as u32];
        for field in fields {
            body.extend(self.format.u32(field));
        }
        body.extend(data);
        body.resize(body.len().next_multiple_of(4), 0);
        self.block(ENHANCED_PACKET, &body)
    }

    /// Flushes and gives the writer back.
    ///
    /// # Errors
    /// Those of the underlying writer.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn block(&mut self, kind: u32, body: &[u8]) -> io::Result<()> {
        let length = self.format.u32(body.len() as u32 + 12);
        self.out.write_all(&self.format.u32(kind))?;
        self.out.write_all(&length)?;
        self.out.write_all(body)?;
        self.out.write_all(&length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: u64 = 1_700_000_000_123_456_789;

    #[test]
    fn pcap_little_endian_microseconds_cut_to_snaplen() {
        let format =
            Format { snaplen: 4, nanoseconds: false, link_type: LINKTYPE_RAW, big_endian: false };
        let mut writer = PcapWriter::new(Vec::new(), format).unwrap();
        writer.write(TIME, &[1, 2, 3, 4, 5, 6]).unwrap();
        let file = writer.finish().unwrap();
        let header =
            [0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 101, 0, 0, 0];
        assert_eq!(file[..24], header);
        assert_eq!(file[24..28], 1_700_000_000_u32.to_le_bytes());
        assert_eq!(file[28..32], 123_456_u32.to_le_bytes());
        assert_eq!(file[32..], [4, 0, 0, 0, 6, 0, 0, 0, 1, 2, 3, 4]);
    }

    #[test]
    fn pcap_big_endian_nanoseconds() {
        let format = Format { big_endian: true, ..Format::default() };
        let mut writer = PcapWriter::new(Vec::new(), format).unwrap();
        writer.write(TIME, &[7]).unwrap();
        let file = writer.finish().unwrap();
        assert_eq!(file[..4], [0xa1, 0xb2, 0x3c, 0x4d]);
        assert_eq!(file[28..32], 123_456_789_u32.to_be_bytes());
        assert_eq!(file[32..], [0, 0, 0, 1, 0, 0, 0, 1, 7]);
    }

    #[test]
    fn pcapng_blocks_are_padded_and_say_their_length_twice() {
        for big_endian in [false, true] {
            let format = Format { big_endian, ..Format::default() };
            let mut writer = PcapngWriter::new(Vec::new(), format).unwrap();
            writer.write(TIME, &[1, 2, 3, 4, 5]).unwrap();
            let file = writer.finish().unwrap();
            let u32_at = |at: usize| {
                let bytes = file[at..at + 4].try_into().unwrap();
                if big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
            };
            let mut blocks = Vec::new();
            let mut at = 0;
            while at < file.len() {
                let length = u32_at(at + 4) as usize;
                assert_eq!(u32_at(at + length - 4) as usize, length);
                assert_eq!(length % 4, 0);
                blocks.push(u32_at(at));
                at += length;
            }
            assert_eq!(blocks, [SECTION_HEADER, INTERFACE_DESCRIPTION, ENHANCED_PACKET]);
            let packet = 28 + 32;
            let ticks = u64::from(u32_at(packet + 12)) << 32 | u64::from(u32_at(packet + 16));
            assert_eq!((ticks, u32_at(packet + 20), u32_at(packet + 24)), (TIME, 5, 5));
            assert_eq!(file[packet + 28..packet + 36], [1, 2, 3, 4, 5, 0, 0, 0]);
        }
    }
}
