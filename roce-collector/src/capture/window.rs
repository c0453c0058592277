//! A window of fixed size over the input.

use std::ops::Range;

use super::error::Fault;
use super::input::Input;

/// Size of the window in bytes: two of the largest records fit.
const CAPACITY: usize = 1024 * 1024;

/// The largest record that can be looked at in one piece, in bytes.
pub(super) const MAX_RECORD: usize = CAPACITY / 2;

/// Bytes read at a time: they are still in the second-level cache when they are looked at.
const READ: usize = 128 * 1024;

/// The part of the input that is in memory: `buffer[start..end]`.
#[derive(Debug)]
pub(super) struct Window {
    input: Input,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    /// Offset in the input of `buffer[start]`.
    offset: u64,
    /// Offset in the input of the current record.
    record: u64,
}

impl Window {
    pub(super) fn new(input: Input) -> Self {
        Self { input, buffer: vec![0; CAPACITY].into(), start: 0, end: 0, offset: 0, record: 0 }
    }

    /// Begins a record here; false when every byte was taken.
    #[inline]
    pub(super) fn begin_record(&mut self) -> Result<bool, Fault> {
        self.record = self.offset;
        self.has(1)
    }

    /// Whether `len` more bytes are there; at most [`MAX_RECORD`]. An input that is cut off by its
    /// own account (gzip) is [`Fault::Truncated`] instead of false.
    #[inline]
    pub(super) fn has(&mut self, len: usize) -> Result<bool, Fault> {
        Ok(self.end - self.start >= len || self.fill(len)?)
    }

    /// The next `len` bytes, which stay; at most [`MAX_RECORD`]. [`Fault::Truncated`] when there
    /// are not so many.
    #[inline]
    pub(super) fn peek(&mut self, len: usize) -> Result<&[u8], Fault> {
        if !self.has(len)? {
            return Err(Fault::Truncated);
        }
        Ok(&self.buffer[self.start..self.start + len])
    }

    /// What is in memory and not taken.
    pub(super) fn rest(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Takes `len` bytes that [`Window::peek`] has shown. The returned range is good for
    /// [`Window::bytes`] until the next `peek`.
    #[inline]
    pub(super) fn take(&mut self, len: usize) -> Range<usize> {
        let range = self.start..self.start + len;
        self.start = range.end;
        self.offset += len as u64;
        range
    }

    /// The bytes of a range from [`Window::take`].
    #[inline]
    pub(super) fn bytes(&self, range: Range<usize>) -> &[u8] {
        &self.buffer[range]
    }

    /// Drops `len` bytes of the input, which need not fit into the window.
    pub(super) fn skip(&mut self, mut len: u64) -> Result<(), Fault> {
        while len > 0 {
            let part = len.min(MAX_RECORD as u64) as usize;
            self.peek(part)?;
            self.take(part);
            len -= part as u64;
        }
        Ok(())
    }

    /// Offset in the input of the record that was begun last.
    pub(super) fn record_offset(&self) -> u64 {
        self.record
    }

    pub(super) fn bytes_read(&self) -> u64 {
        self.input.bytes_read()
    }

    /// Reads until `len` bytes are there; false when the input ends before. Returns as soon as it
    /// can, so that a live pipe is followed without delay.
    #[cold]
    fn fill(&mut self, len: usize) -> Result<bool, Fault> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        while self.end < len {
            let room = (self.end + READ).min(CAPACITY);
            match self.input.read(&mut self.buffer[self.end..room])? {
                0 => return Ok(false),
                bytes => self.end += bytes,
            }
        }
        Ok(true)
    }
}
