//! Streaming reader of capture files: pcap and pcapng, plain or gzip-compressed.
//!
//! A file is read through one window of a fixed size ([`window`]), so memory does not depend on the
//! file, and frames borrow from that window, so no packet costs an allocation.
//!
//! The two formats are decoded here and not by a crate: of the crates that read them,
//! `pcap-parser` 0.17 reads big-endian options and power-of-two time resolutions wrongly and does
//! not know the obsolete Packet Block; `pcap-file` allocates per packet with options and refuses
//! files that libpcap and Wireshark read.
//!
//! ```no_run
//! # use std::path::Path;
//! # use roce_collector::capture::{CaptureError, CaptureReader};
//! # fn main() -> Result<(), CaptureError> {
//! let mut reader = CaptureReader::open(Path::new("mirror.pcapng.gz"))?;
//! while let Some(frame) = reader.next_frame()? {
//!     println!("{} bytes on {}", frame.wire_len, frame.link_type);
//! }
//! # Ok(())
//! # }
//! ```

mod error;
mod gzip;
mod input;
mod link;
mod order;
mod pcap;
mod pcapng;
mod time;
mod window;

use std::io::Read;
use std::ops::Range;
use std::path::Path;

use serde::Serialize;

pub use self::error::CaptureError;
use self::input::Input;
pub use self::link::{LinkType, NetworkStart, network_layer};
use self::pcap::Pcap;
use self::pcapng::PcapNg;
pub use self::time::Timestamp;
use self::window::Window;

/// The largest packet a capture file may hold, in bytes: the limit of libpcap and Wireshark.
pub const MAX_PACKET: usize = 256 * 1024;

/// Format of a capture file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Classic libpcap file, microseconds or nanoseconds.
    Pcap,
    /// pcapng (draft-ietf-opsawg-pcapng).
    PcapNg,
}

/// What the head of a capture file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CaptureInfo {
    /// Format of the file, whether or not it is compressed.
    pub format: Format,
    /// Link type of the first interface; `None` when a pcapng file describes no interface.
    pub link_type: Option<LinkType>,
    /// Most bytes kept of a packet on the first interface; `None` when the file sets no limit.
    pub snaplen: Option<u32>,
}

/// One captured frame. It borrows the reader's window until the next call.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// When it was captured; `None` when the file does not say (pcapng Simple Packet Block) or
    /// gives a time outside 1970 to 2554.
    pub time: Option<Timestamp>,
    /// Length on the wire in bytes. At least `data.len()`.
    pub wire_len: u32,
    /// The captured bytes, from the link-layer header on.
    pub data: &'a [u8],
    /// Link type of the interface that captured it.
    pub link_type: LinkType,
    /// Number of that interface in its pcapng section; 0 in pcap.
    pub interface: u32,
    /// Whether the capturing side says that it lost packets before this one.
    pub loss: TapLoss,
    /// Statistics that the file has had so far: [`TapLoss::SinceStatistics`] is since the last of them but
    /// one.
    pub statistics: u32,
}

/// When the capturing side lost packets, as the file says it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TapLoss {
    /// Not, or the file does not say.
    #[default]
    None,
    /// Between this packet and the one before it on the same interface.
    SinceFrame,
    /// Since the statistics before the latest, or the start of the capture.
    SinceStatistics,
}

/// A frame as the format decoders hand it over: its bytes as a range of the window.
#[derive(Debug)]
struct Record {
    time: Option<Timestamp>,
    wire_len: u32,
    data: Range<usize>,
    link_type: LinkType,
    interface: u32,
    loss: TapLoss,
    statistics: u32,
}

#[derive(Debug)]
enum Decoder {
    Pcap(Pcap),
    PcapNg(PcapNg),
}

/// Reads the frames of one capture file in file order.
#[derive(Debug)]
pub struct CaptureReader {
    window: Window,
    decoder: Decoder,
    total_bytes: Option<u64>,
    packets: u64,
    done: bool,
}

impl CaptureReader {
    /// Opens the capture file at `path`, or standard input for `-`, and reads up to its first
    /// packet.
    ///
    /// # Errors
    /// The file cannot be read, is no capture file, or has only link types that cannot be read.
    /// Messages do not name the file; the caller does.
    pub fn open(path: &Path) -> Result<Self, CaptureError> {
        let (input, total_bytes) = Input::open(path)?;
        Self::start(input, total_bytes)
    }

    /// Like [`CaptureReader::open`], on bytes from anywhere.
    ///
    /// # Errors
    /// As [`CaptureReader::open`].
    pub fn from_reader(reader: impl Read + Send + 'static) -> Result<Self, CaptureError> {
        Self::start(Input::new(Box::new(reader)).map_err(CaptureError::Open)?, None)
    }

    fn start(input: Input, total_bytes: Option<u64>) -> Result<Self, CaptureError> {
        let mut window = Window::new(input);
        let decoder = Decoder::start(&mut window)?;
        if let Some(link_type) = decoder.unreadable() {
            return Err(CaptureError::UnsupportedLinkType(link_type));
        }
        Ok(Self { window, decoder, total_bytes, packets: 0, done: false })
    }

    /// Format, link type and snapshot length of the file.
    pub fn info(&self) -> CaptureInfo {
        match &self.decoder {
            Decoder::Pcap(pcap) => pcap.info(),
            Decoder::PcapNg(pcapng) => pcapng.info(),
        }
    }

    /// The next frame, or `None` at the end of the file and after an error.
    ///
    /// # Errors
    /// [`CaptureError::Truncated`] when the file ends inside a packet, after all whole packets;
    /// [`CaptureError::Corrupt`] and [`CaptureError::Read`] when nothing after this point can be
    /// read.
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, CaptureError> {
        if self.done {
            return Ok(None);
        }
        let record = match &mut self.decoder {
            Decoder::Pcap(pcap) => pcap.next_record(&mut self.window),
            Decoder::PcapNg(pcapng) => pcapng.next_record(&mut self.window),
        };
        match record {
            Ok(Some(record)) => {
                self.packets += 1;
                Ok(Some(Frame {
                    time: record.time,
                    wire_len: record.wire_len,
                    data: self.window.bytes(record.data),
                    link_type: record.link_type,
                    interface: record.interface,
                    loss: record.loss,
                    statistics: record.statistics,
                }))
            }
            Ok(None) => {
                self.done = true;
                Ok(None)
            }
            Err(fault) => {
                self.done = true;
                Err(fault.at(self.packets, self.window.record_offset()))
            }
        }
    }

    /// Bytes taken from the file so far, before decompression.
    pub fn bytes_read(&self) -> u64 {
        self.window.bytes_read()
    }

    /// Size of the file in bytes; `None` for standard input, pipes and devices.
    pub fn total_bytes(&self) -> Option<u64> {
        self.total_bytes
    }

    /// Frames handed out so far.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// What statistics behind the last packet say; to be asked at the end.
    pub fn loss_at_end(&self) -> TapLoss {
        match &self.decoder {
            Decoder::Pcap(_) => TapLoss::None,
            Decoder::PcapNg(pcapng) => pcapng.loss(),
        }
    }

    /// Packets that the capturing side says it lost, as far as the file was read. `None` when the
    /// file does not say; a pcap file never does.
    pub fn capture_dropped(&self) -> Option<u64> {
        match &self.decoder {
            Decoder::Pcap(_) => None,
            Decoder::PcapNg(pcapng) => pcapng.dropped(),
        }
    }
}

impl Decoder {
    fn start(window: &mut Window) -> Result<Self, CaptureError> {
        if !window.begin_record().map_err(|fault| fault.at(0, 0))? {
            return Err(CaptureError::Empty);
        }
        // No format begins with fewer than four bytes.
        if !window.has(4).map_err(|fault| fault.at(0, 0))? {
            return Err(CaptureError::unknown_format(window.rest()));
        }
        let first: [u8; 4] = window.rest().first_chunk().copied().unwrap_or_default();
        let decoder = if first == pcapng::SECTION_HEADER_MAGIC {
            PcapNg::start(window).map(Self::PcapNg)
        } else if let Some(variant) = pcap::Variant::of(first) {
            Pcap::start(window, variant).map(Self::Pcap)
        } else {
            return Err(CaptureError::unknown_format(&first));
        };
        decoder.map_err(|fault| fault.at(0, window.record_offset()))
    }

    /// A link type of the file when none of those it names can be read.
    fn unreadable(&self) -> Option<LinkType> {
        match self {
            Self::Pcap(pcap) => pcap.info().link_type.filter(|link| !link.is_readable()),
            Self::PcapNg(pcapng) => pcapng.unreadable(),
        }
    }
}
