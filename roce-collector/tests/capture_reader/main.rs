//! The capture reader on real files, on every variant of the formats, and on damaged input.

mod build;
mod damage;
mod files;
mod formats;

use std::fs;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use roce_collector::capture::{CaptureError, CaptureReader, LinkType, Timestamp};

/// A frame kept after the reader moved on.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Owned {
    time: Option<Timestamp>,
    wire_len: u32,
    data: Vec<u8>,
    link_type: LinkType,
    interface: u32,
}

/// Everything a reader gives: the frames, and the error that ended them.
fn drain(reader: &mut CaptureReader) -> (Vec<Owned>, Option<CaptureError>) {
    let mut frames = Vec::new();
    loop {
        match reader.next_frame() {
            Ok(Some(frame)) => frames.push(Owned {
                time: frame.time,
                wire_len: frame.wire_len,
                data: frame.data.to_vec(),
                link_type: frame.link_type,
                interface: frame.interface,
            }),
            Ok(None) => return (frames, None),
            Err(error) => {
                assert!(matches!(reader.next_frame(), Ok(None)), "an error is the end");
                return (frames, Some(error));
            }
        }
    }
}

/// The frames of a sound file.
fn frames(reader: &mut CaptureReader) -> Vec<Owned> {
    let (frames, error) = drain(reader);
    assert!(error.is_none(), "{error:?}");
    frames
}

fn reader(bytes: &[u8]) -> Result<CaptureReader, CaptureError> {
    CaptureReader::from_reader(Cursor::new(bytes.to_vec()))
}

/// Frames and error of bytes that may not even have a header.
fn read(bytes: &[u8]) -> (Vec<Owned>, Option<CaptureError>) {
    match reader(bytes) {
        Ok(mut reader) => drain(&mut reader),
        Err(error) => (Vec::new(), Some(error)),
    }
}

fn capture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/captures").join(name)
}

fn open(name: &str) -> CaptureReader {
    CaptureReader::open(&capture(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The bytes of a file, unpacked.
fn bytes(name: &str) -> Vec<u8> {
    let path = capture(name);
    let bytes = fs::read(&path).expect("a file of testdata");
    if path.extension().is_none_or(|extension| extension != "gz") {
        return bytes;
    }
    let mut unpacked = Vec::new();
    GzDecoder::new(&bytes[..]).read_to_end(&mut unpacked).expect("a sound gzip file");
    unpacked
}
