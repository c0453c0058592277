//! Logs as files, plain or gzip-compressed.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use indicatif::{ProgressBar, ProgressStyle};

/// Larger logs get a progress bar.
pub(super) const LARGE: u64 = 64 * 1024 * 1024;
/// RFC 1952: ID1, ID2.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// A log, unpacked, and its size in bytes, if that is known.
pub(super) type LogFile = (Box<dyn Read + Send>, Option<u64>);

/// Opens a log; "-" is standard input.
///
/// # Errors
/// When it cannot be opened, or not be read from.
pub(super) fn open(path: &Path) -> io::Result<LogFile> {
    let (mut reader, size): (Box<dyn Read + Send>, _) = if path == Path::new("-") {
        (Box::new(io::stdin()), None)
    } else {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        (Box::new(file), metadata.is_file().then_some(metadata.len()))
    };
    let mut start = Vec::new();
    reader.by_ref().take(2).read_to_end(&mut start)?;
    let is_compressed = start == GZIP_MAGIC;
    let whole = io::Cursor::new(start).chain(reader);
    let reader: Box<dyn Read + Send> =
        if is_compressed { Box::new(MultiGzDecoder::new(whole)) } else { Box::new(whole) };
    Ok((reader, size.filter(|_| !is_compressed)))
}

/// A bar on standard error for a large log on a terminal, else one that shows nothing.
pub(super) fn progress_bar(size: Option<u64>) -> ProgressBar {
    match size.filter(|bytes| *bytes > LARGE) {
        Some(bytes) if io::stderr().is_terminal() => {
            let style = ProgressStyle::with_template("{wide_bar} {bytes}/{total_bytes} {eta}");
            ProgressBar::new(bytes)
                .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        }
        _ => ProgressBar::hidden(),
    }
}
