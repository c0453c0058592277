//! What can go wrong while reading a capture file.

use std::fmt::Write as _;
use std::io;

use super::LinkType;

/// Why a capture file could not be read, or not to its end. The message does not name the file.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The file could not be opened, or nothing could be read from it.
    #[error("cannot be read: {0}; check the name and the permissions")]
    Open(#[source] io::Error),
    /// A directory was named.
    #[error("is a directory; name one capture file")]
    Directory,
    /// The file holds no byte.
    #[error("the file is empty; a capture without packets still has a header: capture again")]
    Empty,
    /// The first bytes belong to no known capture format.
    #[error("not a capture file: first bytes {first}; expected pcap or pcapng{hint}")]
    UnknownFormat {
        /// The first bytes in hexadecimal.
        first: String,
        /// What the file looks like and what to do, empty or from `;` on.
        hint: &'static str,
    },
    /// No interface of the file has a link type this reader knows.
    #[error(
        "link type {0} cannot be read; capture on an Ethernet, raw IP or \"any\" (SLL) interface"
    )]
    UnsupportedLinkType(LinkType),
    /// The file ends in the middle of a packet or block. Everything before was read.
    #[error(
        "the file is cut off in the record at byte {offset}: {packets} whole packets were read, \
         what came after is missing; let the capture tool end by itself, or copy the file again"
    )]
    Truncated {
        /// Whole packets before the cut.
        packets: u64,
        /// Where the incomplete record starts, in bytes of the uncompressed file.
        offset: u64,
    },
    /// The bytes contradict the format. Everything before was read, nothing after can be.
    #[error(
        "the file is corrupt at byte {offset}, after {packets} packets: {what}; copy the file \
         again, or repair it with `editcap` or `pcapfix`"
    )]
    Corrupt {
        /// Whole packets before the fault.
        packets: u64,
        /// Where the faulty record starts, in bytes of the uncompressed file.
        offset: u64,
        /// What is wrong, with the value.
        what: String,
    },
    /// The operating system failed a read.
    #[error("reading failed at byte {offset}, after {packets} packets: {source}; try again")]
    Read {
        /// Whole packets before the failure.
        packets: u64,
        /// Bytes of the uncompressed file used before the failure.
        offset: u64,
        /// What the operating system said.
        #[source]
        source: io::Error,
    },
}

impl CaptureError {
    /// `first`: the first bytes of the file, up to four are shown.
    pub(super) fn unknown_format(first: &[u8]) -> Self {
        let hint = match first {
            [0x28, 0xb5, 0x2f, 0xfd, ..] => "; this is zstd: unpack it with `zstd -d`",
            [0xfd, b'7', b'z', b'X', ..] => "; this is xz: unpack it with `xz -d`",
            [0x04, 0x22, 0x4d, 0x18, ..] => "; this is lz4: unpack it with `lz4 -d`",
            [b'B', b'Z', b'h', ..] => "; this is bzip2: unpack it with `bzip2 -d`",
            [b's', b'n', b'o', b'o', ..] | [0x34, 0xcd, 0xb2, 0xa1] | [0xa1, 0xb2, 0xcd, 0x34] => {
                "; convert it with `editcap -F pcap`"
            }
            _ => ", plain or gzip-compressed",
        };
        let mut hex = String::new();
        for byte in first.iter().take(4) {
            let space = if hex.is_empty() { "" } else { " " };
            // Writing to a String cannot fail.
            let _ = write!(hex, "{space}{byte:02x}");
        }
        Self::UnknownFormat { first: hex, hint }
    }
}

/// A fault as the decoders see it; the reader adds where it is.
#[derive(Debug)]
pub(super) enum Fault {
    Truncated,
    Corrupt(String),
    Io(io::Error),
}

impl Fault {
    pub(super) fn at(self, packets: u64, offset: u64) -> CaptureError {
        match self {
            Self::Truncated => CaptureError::Truncated { packets, offset },
            Self::Corrupt(what) => CaptureError::Corrupt { packets, offset, what },
            Self::Io(source) => CaptureError::Read { packets, offset, source },
        }
    }

    pub(super) fn packet_too_large(len: u32) -> Self {
        Self::Corrupt(format!("a packet of {len} bytes, more than {}", super::MAX_PACKET))
    }
}
