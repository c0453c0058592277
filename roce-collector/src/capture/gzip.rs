//! Gzip files (RFC 1952), unpacked so that damage costs nothing that stands before it.
//!
//! `flate2` unpacks; the members are taken apart here, because its own gzip readers drop what one call
//! has unpacked when the same call meets the damage.

use std::io::{self, BufRead};

use flate2::{Crc, Decompress, FlushDecompress, Status};

/// RFC 1952: ID1, ID2.
pub(super) const MAGIC: [u8; 2] = [0x1f, 0x8b];
const DEFLATE: u8 = 8;
const FIXED_HEADER: usize = 10;

/// Flags of the header: what follows its fixed part.
const HEADER_CRC: u8 = 1 << 1;
const EXTRA: u8 = 1 << 2;
const NAME: u8 = 1 << 3;
const COMMENT: u8 = 1 << 4;

/// Unpacks the members of a gzip file, one behind the other.
pub(super) struct Gzip<R> {
    source: R,
    inflate: Decompress,
    crc: Crc,
    place: Place,
    /// Damage was met behind bytes that were handed out first.
    is_damaged: bool,
}

/// What comes next.
#[derive(Clone, Copy)]
enum Place {
    Header,
    Body,
    Trailer,
}

impl<R: BufRead> Gzip<R> {
    pub(super) fn new(source: R) -> Self {
        Self {
            source,
            inflate: Decompress::new(false),
            crc: Crc::new(),
            place: Place::Header,
            is_damaged: false,
        }
    }

    pub(super) const fn source(&self) -> &R {
        &self.source
    }

    /// Unpacks some bytes into `buffer`, which should have 32 KiB, the reach of a back reference: damage
    /// takes with it what did not fit. 0 at the end.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.is_damaged {
            return Err(damaged());
        }
        loop {
            match self.place {
                Place::Header => {
                    if self.source.fill_buf()?.is_empty() {
                        return Ok(0);
                    }
                    self.header()?;
                    self.inflate.reset(false);
                    self.crc.reset();
                    self.place = Place::Body;
                }
                Place::Body => match self.body(buffer)? {
                    0 => {}
                    bytes => return Ok(bytes),
                },
                Place::Trailer => {
                    self.trailer()?;
                    self.place = Place::Header;
                }
            }
        }
    }

    fn header(&mut self) -> io::Result<()> {
        let mut fixed = [0; FIXED_HEADER];
        self.source.read_exact(&mut fixed)?;
        let [id1, id2, method, flags, ..] = fixed;
        if [id1, id2] != MAGIC || method != DEFLATE {
            return Err(invalid("what follows is no gzip header"));
        }
        if flags & EXTRA != 0 {
            let mut len = [0; 2];
            self.source.read_exact(&mut len)?;
            let mut extra = vec![0; usize::from(u16::from_le_bytes(len))];
            self.source.read_exact(&mut extra)?;
        }
        for text in [NAME, COMMENT] {
            if flags & text != 0 {
                self.source.skip_until(0)?;
            }
        }
        if flags & HEADER_CRC != 0 {
            self.source.read_exact(&mut [0; 2])?;
        }
        Ok(())
    }

    fn body(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let packed = self.source.fill_buf()?;
        let is_end = packed.is_empty();
        let (taken, given) = (self.inflate.total_in(), self.inflate.total_out());
        let status = self.inflate.decompress(packed, buffer, FlushDecompress::None);
        let taken = (self.inflate.total_in() - taken) as usize;
        let given = (self.inflate.total_out() - given) as usize;
        self.source.consume(taken);
        self.crc.update(&buffer[..given]);
        match status {
            Ok(Status::StreamEnd) => self.place = Place::Trailer,
            Ok(Status::Ok | Status::BufError) if taken + given > 0 => {}
            Ok(_) if is_end => return Err(io::ErrorKind::UnexpectedEof.into()),
            Err(_) if given > 0 => self.is_damaged = true,
            Ok(_) | Err(_) => return Err(damaged()),
        }
        Ok(given)
    }

    fn trailer(&mut self) -> io::Result<()> {
        let mut trailer = [0; 8];
        self.source.read_exact(&mut trailer)?;
        let sum = u32::from_le_bytes([trailer[0], trailer[1], trailer[2], trailer[3]]);
        let len = u32::from_le_bytes([trailer[4], trailer[5], trailer[6], trailer[7]]);
        if sum == self.crc.sum() && len == self.crc.amount() {
            Ok(())
        } else {
            Err(invalid("the checksum does not match"))
        }
    }
}

fn damaged() -> io::Error {
    invalid("what is packed is damaged")
}

fn invalid(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
