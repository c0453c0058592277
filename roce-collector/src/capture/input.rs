//! Where the bytes come from: a file or standard input, gzip-compressed or not.

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Chain, Cursor, Read};
use std::path::Path;

use super::CaptureError;
use super::error::Fault;
use super::gzip::{self, Gzip};

/// Compressed bytes read at a time.
const GZIP_BUFFER: usize = 64 * 1024;

/// The source with the bytes that were looked at put back in front.
type Source = Counted<Chain<Cursor<Vec<u8>>, Box<dyn Read + Send>>>;

/// The bytes of a capture file, uncompressed.
pub(super) enum Input {
    Plain(Source),
    Gzip(Box<Gzip<BufReader<Source>>>),
}

impl Input {
    /// Opens `path` (`-` is standard input) and returns its size when it is a regular file.
    pub(super) fn open(path: &Path) -> Result<(Self, Option<u64>), CaptureError> {
        if path.as_os_str() == "-" {
            let input = Self::new(Box::new(io::stdin())).map_err(CaptureError::Open)?;
            return Ok((input, None));
        }
        let file = File::open(path).map_err(CaptureError::Open)?;
        let metadata = file.metadata().map_err(CaptureError::Open)?;
        if metadata.is_dir() {
            return Err(CaptureError::Directory);
        }
        let input = Self::new(Box::new(file)).map_err(CaptureError::Open)?;
        Ok((input, metadata.is_file().then_some(metadata.len())))
    }

    /// Looks at the first bytes of `source` for the gzip magic.
    pub(super) fn new(mut source: Box<dyn Read + Send>) -> io::Result<Self> {
        let mut first = Vec::with_capacity(gzip::MAGIC.len());
        source.by_ref().take(gzip::MAGIC.len() as u64).read_to_end(&mut first)?;
        let is_gzip = first == gzip::MAGIC;
        let source = Counted { inner: Cursor::new(first).chain(source), bytes: 0 };
        Ok(if is_gzip {
            let buffered = BufReader::with_capacity(GZIP_BUFFER, source);
            Self::Gzip(Box::new(Gzip::new(buffered)))
        } else {
            Self::Plain(source)
        })
    }

    /// Reads some bytes into `buffer`; 0 at the end.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Fault> {
        loop {
            let result = match self {
                Self::Plain(source) => source.read(buffer),
                Self::Gzip(decoder) => decoder.read(buffer),
            };
            let error = match result {
                Ok(bytes) => return Ok(bytes),
                Err(error) => error,
            };
            let gzip = matches!(self, Self::Gzip(_));
            return Err(match error.kind() {
                io::ErrorKind::Interrupted => continue,
                io::ErrorKind::UnexpectedEof if gzip => Fault::Truncated,
                io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData if gzip => {
                    Fault::Corrupt(format!("the gzip data cannot be unpacked ({error})"))
                }
                _ => Fault::Io(error),
            });
        }
    }

    /// Bytes taken from the source so far, before decompression.
    pub(super) fn bytes_read(&self) -> u64 {
        match self {
            Self::Plain(source) => source.bytes,
            Self::Gzip(decoder) => decoder.source().get_ref().bytes,
        }
    }
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain(_) => "Plain",
            Self::Gzip(_) => "Gzip",
        })
    }
}

/// A reader that counts what passes.
pub(super) struct Counted<R> {
    inner: R,
    bytes: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.inner.read(buffer)?;
        self.bytes += bytes as u64;
        Ok(bytes)
    }
}
