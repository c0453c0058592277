//! Recorded packets as a pcapng file.

use std::borrow::Cow;
use std::io::{self, Write};
use std::time::Duration;

use pcap_file::DataLink;
use pcap_file::PcapError;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};

use super::RecordedFrame;

/// Option lengths have 16 bits.
const MAX_COMMENT: usize = 60_000;
/// Powers of ten: nanoseconds.
const RESOLUTION: u8 = 9;
/// Directions in the flags of a packet.
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;

/// Writes packets with `comment` on the section and on the last packet, after which the incident was told.
/// `interfaces` are names in the order of their taps, two each.
///
/// # Errors
/// Those of `out`.
pub fn write_pcapng(
    out: impl Write,
    interfaces: &[String],
    comment: &str,
    frames: &[RecordedFrame],
) -> io::Result<()> {
    let comment = cut(comment);
    let section = SectionHeaderBlock {
        options: vec![
            SectionHeaderOption::Comment(Cow::Owned(comment.to_owned())),
            SectionHeaderOption::UserApplication(Cow::Borrowed(concat!(
                "roce-collector ",
                env!("CARGO_PKG_VERSION")
            ))),
        ],
        ..SectionHeaderBlock::default()
    };
    let mut writer = PcapNgWriter::with_section_header(out, section).map_err(io_error)?;
    let interface_of = |frame: &RecordedFrame| u32::from(frame.tap / 2);
    let count = frames.iter().map(interface_of).max().map_or(0, |last| last + 1);
    for interface in 0..count {
        let name = interfaces.get(interface as usize).map_or("unknown", String::as_str);
        let block = InterfaceDescriptionBlock {
            linktype: DataLink::ETHERNET,
            snaplen: 0,
            options: vec![
                InterfaceDescriptionOption::IfName(Cow::Borrowed(name)),
                InterfaceDescriptionOption::IfTsResol(RESOLUTION),
            ],
        };
        // The writer keeps its interfaces.
        let block = block.into_owned();
        writer.write_pcapng_block(block).map_err(io_error)?;
    }
    for (index, frame) in frames.iter().enumerate() {
        let direction = if frame.tap.is_multiple_of(2) { INBOUND } else { OUTBOUND };
        let mut options = vec![EnhancedPacketOption::Flags(direction)];
        if frame.left_out != 0 {
            options.push(EnhancedPacketOption::DropCount(frame.left_out.into()));
        }
        if index + 1 == frames.len() {
            options.insert(0, EnhancedPacketOption::Comment(Cow::Borrowed(comment)));
        }
        let block = EnhancedPacketBlock {
            interface_id: interface_of(frame),
            timestamp: Duration::from_nanos(frame.time.as_nanos()),
            original_len: frame.wire_len,
            data: Cow::Borrowed(&frame.bytes),
            options,
        };
        writer.write_pcapng_block(block).map_err(io_error)?;
    }
    writer.into_inner().flush()
}

fn cut(comment: &str) -> &str {
    let end = comment.floor_char_boundary(MAX_COMMENT.min(comment.len()));
    &comment[..end]
}

fn io_error(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::{CaptureReader, LinkType, Timestamp};
    use pcap_file::pcapng::{Block, PcapNgReader};

    fn frame(tap: u8, nanos: u64, len: usize) -> RecordedFrame {
        let time = Timestamp::from_nanos(1_735_689_600_123_456_789 + nanos);
        RecordedFrame { tap, time, wire_len: 4096, bytes: vec![tap; len], left_out: tap.into() }
    }

    #[test]
    fn what_is_written_can_be_read() {
        let frames = [frame(0, 0, 96), frame(3, 1, 61), frame(2, 1_000, 60)];
        let interfaces = ["eth0".to_owned(), "eth1".to_owned()];
        let mut bytes = Vec::new();
        write_pcapng(&mut bytes, &interfaces, "forward black hole", &frames).expect("memory");
        let mut reader =
            CaptureReader::from_reader(io::Cursor::new(bytes.clone())).expect("a capture");
        for expected in &frames {
            let read = reader.next_frame().expect("sound").expect("a frame");
            assert_eq!(read.data, expected.bytes);
            assert_eq!((read.wire_len, read.time), (4096, Some(expected.time)));
            assert_eq!(read.interface, u32::from(expected.tap / 2));
            assert_eq!(read.link_type, LinkType::Ethernet);
        }
        assert!(reader.next_frame().expect("sound").is_none());

        let mut blocks = PcapNgReader::new(&bytes[..]).expect("pcapng");
        let section = blocks.section().clone();
        let comment = SectionHeaderOption::Comment("forward black hole".into());
        assert!(section.options.contains(&comment), "{section:?}");
        let (mut names, mut options) = (Vec::new(), Vec::new());
        while let Some(block) = blocks.next_block() {
            match block.expect("sound").into_owned() {
                Block::InterfaceDescription(interface) => names.push(interface.options[0].clone()),
                Block::EnhancedPacket(packet) => options.push(packet.options),
                other => panic!("{other:?}"),
            }
        }
        let name = |name: &'static str| InterfaceDescriptionOption::IfName(name.into());
        assert_eq!(names, [name("eth0"), name("eth1")]);
        let flags = EnhancedPacketOption::Flags;
        let comment = EnhancedPacketOption::Comment("forward black hole".into());
        let left_out = EnhancedPacketOption::DropCount;
        let expected =
            [vec![flags(1)], vec![flags(2), left_out(3)], vec![comment, flags(1), left_out(2)]];
        assert_eq!(options, expected);
    }

    #[test]
    fn a_long_comment_is_cut_between_characters() {
        let mut bytes = Vec::new();
        let comment = "\u{00e4}".repeat(70_000);
        write_pcapng(&mut bytes, &[], &comment, &[frame(0, 0, 60)]).expect("memory");
        let mut reader = CaptureReader::from_reader(io::Cursor::new(bytes)).expect("a capture");
        assert!(reader.next_frame().expect("sound").is_some());
    }
}
