//! Reads bytes as a capture file and parses every frame, checking what must hold for any bytes.
//!
//! The regression inputs and the fuzz target run this same function.

use std::io::{self, Cursor, Read};

use roce_collector::capture::{CaptureReader, MAX_PACKET, NetworkStart, network_layer};
use roce_common::wire::{
    EtherType, ExtendedHeaders, Parsed, SliceReader, check_icrc, parse_ethernet, parse_network,
};

/// A small gzip file can hold gigabytes; this is enough of it.
const MAX_BYTES: u64 = 1 << 20;

/// Reads `file` to its end, in one piece and byte by byte.
///
/// # Panics
/// When something that holds for all bytes does not hold for these.
pub(crate) fn exercise(file: &[u8]) {
    let at_once = read(Cursor::new(file.to_vec()).take(MAX_BYTES));
    let in_drops = read(Drops(Cursor::new(file.to_vec())).take(MAX_BYTES));
    assert_eq!(at_once, in_drops, "the size of reads changes nothing");
}

/// What came out: a line for every frame, and the error if there was one.
fn read(file: impl Read + Send + 'static) -> (Vec<String>, Option<String>) {
    let mut frames = Vec::new();
    let mut reader = match CaptureReader::from_reader(file) {
        Ok(reader) => reader,
        Err(error) => return (frames, Some(error.to_string())),
    };
    let mut bytes = 0;
    loop {
        let frame = match reader.next_frame() {
            Ok(Some(frame)) => frame,
            Ok(None) => break,
            Err(error) => {
                let message = error.to_string();
                assert!(!message.is_empty());
                assert!(matches!(reader.next_frame(), Ok(None)), "an error is the end");
                return (frames, Some(message));
            }
        };
        assert!(frame.data.len() <= MAX_PACKET);
        assert!(frame.wire_len as usize >= frame.data.len());
        let parsed =
            network_layer(frame.link_type, frame.data).map(|start| parse(start, frame.data));
        frames.push(format!(
            "{:?} {} {} {} {parsed:?}",
            frame.time,
            frame.wire_len,
            frame.data.len(),
            frame.link_type
        ));
        bytes += frame.data.len() as u64;
        assert_eq!(reader.packets(), frames.len() as u64);
        if bytes > MAX_BYTES || frames.len() > 10_000 {
            break;
        }
    }
    (frames, None)
}

fn parse(start: NetworkStart, data: &[u8]) -> Parsed {
    let reader = SliceReader(data);
    let parsed = match start {
        NetworkStart::Ethernet => parse_ethernet(&reader),
        NetworkStart::Payload { ether_type, offset } => {
            assert!(offset <= data.len());
            parse_network(&reader, EtherType(ether_type), offset)
        }
    };
    if let Parsed::Roce(packet) = parsed {
        assert!(packet.addresses(&reader).is_some());
        let _headers = ExtendedHeaders::read(&reader, &packet);
        let _check = check_icrc(data, &packet);
    }
    parsed
}

/// Gives one byte at a time, as a slow pipe may.
struct Drops(Cursor<Vec<u8>>);

impl Read for Drops {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let one = buffer.len().min(1);
        self.0.read(&mut buffer[..one])
    }
}
