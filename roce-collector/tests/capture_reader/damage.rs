//! Files that are cut off, corrupt or no captures: every whole packet comes out, then one error
//! that says what to do; nothing panics.

use std::io::{self, Read, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use roce_collector::capture::{CaptureError, CaptureReader};

use crate::build::{Order, Pcap, PcapNg, option};
use crate::{Owned, bytes, capture, read, reader};

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("memory is writable")
}

fn message(bytes: &[u8]) -> String {
    let (_, error) = read(bytes);
    error.expect("an error").to_string()
}

/// Where the packets of a little-endian pcap file end, by a walk of its own.
fn packet_ends(pcap: &[u8]) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut at = 24;
    while at < pcap.len() {
        let len = pcap[at + 8..].first_chunk().map_or(0, |len| u32::from_le_bytes(*len));
        at += 16 + len as usize;
        ends.push(at);
    }
    ends
}

/// Cuts `file` to `len` bytes: the whole packets, then an error unless the cut is a block's end.
fn check_cut(file: &[u8], len: usize, whole: &[Owned], packet_ends: &[usize], clean: bool) {
    let (frames, error) = read(&file[..len]);
    let expected = packet_ends.iter().filter(|&&end| end <= len).count();
    assert_eq!(frames, whole[..expected], "cut at {len}");
    match error {
        None => assert!(clean, "cut at {len} unnoticed"),
        Some(CaptureError::Empty) => assert_eq!(len, 0),
        Some(CaptureError::UnknownFormat { .. }) => assert!(len < 4),
        Some(CaptureError::Truncated { packets, offset }) => {
            assert!(!clean && packets == expected as u64 && offset < len as u64, "cut at {len}");
        }
        Some(error) => panic!("cut at {len}: {error}"),
    }
}

#[test]
fn real_pcap_files_cut_at_every_length() {
    for name in [
        "tcpdump/lldp_app_priority.pcap",
        "derived/pfc_frames.pcap",
        "derived/timeout_retransmit_then_ack.pcap",
        "lab/err-badrkey-write-v4.va.pcap.gz",
    ] {
        let file = bytes(name);
        let (whole, _) = read(&file);
        let ends = packet_ends(&file);
        assert_eq!(whole.len(), ends.len());
        for len in 0..file.len() {
            check_cut(&file, len, &whole, &ends, len == 24 || ends.contains(&len));
        }
    }
}

/// Every kind of block, in both byte orders.
fn every_block() -> PcapNg {
    let mut file = PcapNg::default();
    for order in [Order::Little, Order::Big] {
        let resolution = option(order, 9, &[9]);
        let drops = option(order, 5, &order.u64(1));
        file = file
            .section(order)
            .interface(order, 1, 0, &resolution)
            .packet(order, 0, 1, b"enhanced")
            .block(order, 3, &[&order.u32(6), b"simple"])
            .block(order, 0x0bad, &[b"custom"])
            .old_packet(order, 0, 1, 2)
            .packet_with(order, 0, 3, b"with options", &option(order, 4, &order.u64(2)))
            .statistics(order, 0, &drops);
    }
    file
}

#[test]
fn pcapng_cut_at_every_length() {
    let file = every_block();
    let packets = file.packet_ends();
    let PcapNg { bytes: file, ends } = file;
    let (whole, error) = read(&file);
    assert!(error.is_none() && whole.len() == 8);
    for len in 0..file.len() {
        check_cut(&file, len, &whole, &packets, ends.iter().any(|&(end, _)| end == len));
    }
}

#[test]
fn a_real_pcapng_file_cut_anywhere_gives_its_first_packets() {
    let file = bytes("derived/hns_scrubbed.pcapng");
    let (whole, _) = read(&file);
    for len in (4..4096).chain((4096..file.len()).step_by(101)) {
        let (frames, error) = read(&file[..len]);
        assert_eq!(frames, whole[..frames.len()]);
        assert!(matches!(error, None | Some(CaptureError::Truncated { .. })), "{len}: {error:?}");
    }
}

#[test]
fn a_cut_gzip_file_gives_what_was_unpacked() {
    let raw = bytes("derived/rnr_exhausted.pcap");
    let (whole, _) = read(&raw);
    let packed = gzip(&raw);
    let mut most = 0;
    for len in 2..packed.len() {
        let (frames, error) = read(&packed[..len]);
        assert_eq!(frames, whole[..frames.len()]);
        // Also where the cut lies between two packets, and when only the checksum is missing.
        assert!(matches!(error, Some(CaptureError::Truncated { .. })), "{len}: {error:?}");
        most = most.max(frames.len());
    }
    assert_eq!(most, whole.len());
}

#[test]
fn a_damaged_gzip_file_gives_every_packet_before_the_damage() {
    let raw = bytes("derived/hns_scrubbed.pcap");
    let (whole, _) = read(&raw);
    for len in [100, 1000, 30_000, raw.len()] {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&raw[..len]).expect("memory");
        encoder.flush().expect("memory");
        // The compressor has given out everything; a block of type 3 does not exist.
        let packed = [&encoder.get_ref()[..], &[0xff; 8]].concat();
        let (frames, error) = read(&packed);
        let (expected, _) = read(&raw[..len]);
        assert_eq!(frames, whole[..expected.len()], "{len}");
        assert!(matches!(error, Some(CaptureError::Corrupt { .. })), "{len}: {error:?}");
    }
}

#[test]
fn the_message_of_a_cut_file_says_what_was_read() {
    let file = bytes("derived/hns_scrubbed.pcap");
    let error = message(&file[..file.len() - 1]);
    assert!(error.contains("104 whole packets were read"), "{error}");
}

#[test]
fn what_is_no_capture_file() {
    let expected = "not a capture file: first bytes 7f 45 4c 46; \
                    expected pcap or pcapng, plain or gzip-compressed";
    assert_eq!(message(b"\x7fELF\x02\x01\x01"), expected);
    assert_eq!(message(&gzip(b"\x7fELF\x02\x01\x01")), expected);
    assert!(message(b"hi").contains("first bytes 68 69;"));
    assert!(message(b"\x28\xb5\x2f\xfd1234").contains("unpack it with `zstd -d`"));
    assert!(message(b"\x34\xcd\xb2\xa1....").contains("convert it with `editcap -F pcap`"));
    for empty in [&b""[..], &gzip(b"")] {
        assert!(message(empty).contains("the file is empty"));
    }
}

#[test]
fn what_cannot_be_opened() {
    let error = CaptureReader::open(&capture("derived")).unwrap_err();
    assert_eq!(error.to_string(), "is a directory; name one capture file");
    let error = CaptureReader::open(Path::new("/nonexistent.pcap")).unwrap_err().to_string();
    assert!(error.contains("No such file") && error.contains("check the name"), "{error}");
}

#[test]
fn contradictions_are_named_with_their_value() {
    let order = Order::Little;
    let pcap = Pcap::new(order, 0xa1b2_c3d4, 1).packet(1, 1, 3, b"fine");
    let mut large = pcap.bytes.clone();
    large.extend([[0; 4], [0; 4], order.u32(262_145), order.u32(262_145)].concat());
    let (frames, error) = read(&large);
    assert_eq!((frames.len(), frames[0].wire_len), (1, 4), "never shorter than what was captured");
    let error = error.unwrap().to_string();
    let start = "the file is corrupt at byte 44, after 1 packets: a packet of 262145 bytes";
    assert!(error.starts_with(start), "{error}");

    let mut version = pcap.bytes;
    version[4] = 3;
    assert!(message(&version).contains("pcap version 3.4"));

    let head = || PcapNg::default().section(order).interface(order, 1, 0, &[]);
    let unknown = head().packet(order, 7, 1, b"x");
    assert!(message(&unknown.bytes).contains("interface 7 where the section describes 1"));

    let mut tail = head().packet(order, 0, 1, b"x").bytes;
    *tail.last_mut().unwrap() = 1;
    assert!(message(&tail).contains("a block starts with length 36 and ends with 16777252"));

    let mut short = head().bytes;
    short.extend([order.u32(6), order.u32(8), order.u32(8)].concat());
    assert!(message(&short).contains("a block of type 0x6 with length 8"));

    let overrun = head().block(order, 6, &[&[0; 12], &order.u32(100), &order.u32(100), b"few."]);
    assert!(message(&overrun.bytes).contains("a packet of 100 bytes in 4"));
}

#[test]
fn the_largest_packet_is_read_and_interfaces_are_bounded() {
    let order = Order::Little;
    let jumbo = vec![0x5a; 262_144];
    let file = Pcap::new(order, 0xa1b2_c3d4, 1).packet(1, 1, 262_144, &jumbo);
    assert_eq!(read(&file.bytes).0[0].data, jumbo);

    let head = PcapNg::default().section(order);
    let one = PcapNg::default().interface(order, 1, 0, &[]).bytes;
    let many = [head.bytes, one.repeat(16_385)].concat();
    assert!(message(&many).contains("more than 16384 interfaces"));
}

/// Gives one byte a read, and is interrupted in between.
struct Trickle(io::Cursor<Vec<u8>>, bool);

impl Read for Trickle {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.1 = !self.1;
        if self.1 { Err(io::ErrorKind::Interrupted.into()) } else { self.0.read(&mut buffer[..1]) }
    }
}

/// Breaks after the bytes before it.
struct Broken;

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::other("disk on fire"))
    }
}

#[test]
fn slow_and_failing_sources() {
    let file = bytes("derived/pfc_frames.pcap");
    let mut slow = CaptureReader::from_reader(Trickle(io::Cursor::new(file.clone()), false));
    let (frames, error) = crate::drain(slow.as_mut().unwrap());
    assert!(frames.len() == 5 && error.is_none());

    let broken = io::Cursor::new(file).chain(Broken);
    let (frames, error) = crate::drain(&mut CaptureReader::from_reader(broken).unwrap());
    assert_eq!(frames.len(), 5);
    let error = error.unwrap();
    assert!(matches!(error, CaptureError::Read { packets: 5, offset: 404, .. }), "{error:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..2048), magic in 0..7_usize) {
        let heads: [&[u8]; 7] = [
            &[],
            &[0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0],
            &[0xa1, 0xb2, 0xc3, 0xd4, 0, 2, 0, 4],
            &[0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0],
            &[0x0a, 0x0d, 0x0d, 0x0a],
            &PcapNg::default().section(Order::Little).interface(Order::Little, 1, 0, &[]).bytes,
            &[0x1f, 0x8b, 8, 0],
        ];
        read(&[heads[magic], &bytes].concat());
    }

    #[test]
    fn random_blocks_never_panic(blocks in prop::collection::vec(
        (0..12_u32, prop::collection::vec(any::<u8>(), 0..64), any::<bool>()), 0..16,
    )) {
        let mut file = PcapNg::default().section(Order::Big).interface(Order::Big, 1, 0, &[]);
        for (kind, body, quiet) in blocks {
            // Small numbers in front make the fields plausible more often.
            let head: &[u8] = if quiet { &[0; 12] } else { &[] };
            file = file.block(Order::Big, kind, &[head, &body]);
        }
        read(&file.bytes);
    }

    #[test]
    fn flipped_bytes_never_panic_and_keep_what_was_before(at in any::<prop::sample::Index>(), flip in 1..=255_u8) {
        let pcap = bytes("derived/rnr_exhausted.pcap");
        let pcap_ends = packet_ends(&pcap);
        let pcapng = every_block();
        for (file, ends) in [(pcap, pcap_ends), (pcapng.bytes.clone(), pcapng.packet_ends())] {
            let (whole, _) = read(&file);
            let mut flipped = file.clone();
            let at = at.index(file.len());
            flipped[at] ^= flip;
            let (frames, _) = read(&flipped);
            let before = ends.iter().filter(|&&end| end <= at).count();
            prop_assert_eq!(frames.get(..before), Some(&whole[..before]));
        }
    }

    #[test]
    fn flipped_gzip_bytes_never_panic(at in any::<prop::sample::Index>(), flip in 1..=255_u8) {
        let mut packed = gzip(&bytes("derived/pfc_frames.pcap"));
        let at = at.index(packed.len());
        packed[at] ^= flip;
        read(&packed);
        reader(&packed).ok();
    }
}
