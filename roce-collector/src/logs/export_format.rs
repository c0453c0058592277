//! The journal's export format: fields as `NAME=value`, or with a length where values are not plain text.
//!
//! Described at <https://systemd.io/JOURNAL_EXPORT_FORMATS/>.

use memchr::memchr;

use crate::capture::Timestamp;

/// Bytes kept of one field. Longer ones are cut.
const MAX_FIELD: usize = 64 * 1024;

/// The fields of an entry that matter here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) cursor: Option<String>,
    pub(super) time: Option<Timestamp>,
    pub(super) host: Option<String>,
    pub(super) identifier: Option<String>,
    pub(super) pid: Option<String>,
    /// Of the kernel's own log.
    pub(super) is_kernel: bool,
    pub(super) message: Vec<u8>,
}

/// Reads entries out of bytes that come in pieces.
#[derive(Debug, Default)]
pub(super) struct ExportReader {
    buffer: Vec<u8>,
    state: State,
    entry: Entry,
    errors: u64,
}

#[derive(Debug, Default)]
enum State {
    /// At the start of a line.
    #[default]
    Line,
    /// In a line that is too long.
    RestOfLine,
    /// Before the length of a value.
    Length { name: Vec<u8> },
    /// In a value, of which so much is still to come, and so much of it is kept.
    Value { name: Vec<u8>, left: u64, value: Vec<u8> },
    /// Before the end of the line behind a value.
    EndOfValue,
}

impl ExportReader {
    /// Fields that were cut, and lengths that cannot be.
    pub(super) fn take_errors(&mut self) -> u64 {
        std::mem::take(&mut self.errors)
    }

    /// Reads on; `found` gets the entries that are complete.
    pub(super) fn feed(&mut self, piece: &[u8], found: &mut impl FnMut(Entry)) {
        self.buffer.extend_from_slice(piece);
        let mut buffer = std::mem::take(&mut self.buffer);
        let mut at = 0;
        while let Some(len) = self.step(&buffer[at..], found) {
            at += len;
        }
        buffer.drain(..at);
        self.buffer = buffer;
    }

    /// Takes something off the start of `bytes`, and says how much; nothing while too little is there.
    fn step(&mut self, bytes: &[u8], found: &mut impl FnMut(Entry)) -> Option<usize> {
        match std::mem::take(&mut self.state) {
            State::Line => match memchr(b'\n', bytes) {
                Some(end) => {
                    self.line(&bytes[..end], found);
                    Some(end + 1)
                }
                None if bytes.len() > MAX_FIELD => {
                    self.errors += 1;
                    // What there is of it is worth as much as a cut line of any other log.
                    self.line(bytes, found);
                    self.state = State::RestOfLine;
                    Some(bytes.len())
                }
                None => None,
            },
            State::RestOfLine => {
                let end = memchr(b'\n', bytes);
                if end.is_none() {
                    self.state = State::RestOfLine;
                }
                let len = end.map_or(bytes.len(), |end| end + 1);
                (len > 0).then_some(len)
            }
            State::Length { name } => {
                let Some(len) = bytes.first_chunk() else {
                    self.state = State::Length { name };
                    return None;
                };
                let left = u64::from_le_bytes(*len);
                self.errors += u64::from(left > MAX_FIELD as u64);
                self.state = State::Value { name, left, value: Vec::new() };
                Some(len.len())
            }
            State::Value { name, left, mut value } => {
                let len = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
                let room = MAX_FIELD - value.len();
                value.extend_from_slice(&bytes[..len.min(room)]);
                let left = left - len as u64;
                if left == 0 {
                    self.field(&name, &value);
                    self.state = State::EndOfValue;
                    return Some(len);
                }
                self.state = State::Value { name, left, value };
                (len > 0).then_some(len)
            }
            State::EndOfValue => {
                if bytes.is_empty() {
                    self.state = State::EndOfValue;
                    return None;
                }
                self.errors += u64::from(bytes[0] != b'\n');
                Some(1)
            }
        }
    }

    fn line(&mut self, line: &[u8], found: &mut impl FnMut(Entry)) {
        if line.is_empty() {
            let entry = std::mem::take(&mut self.entry);
            if entry != Entry::default() {
                found(entry);
            }
        } else if let Some(equals) = memchr(b'=', line) {
            self.field(&line[..equals], &line[equals + 1..]);
        } else {
            self.state = State::Length { name: line[..line.len().min(64)].to_vec() };
        }
    }

    fn field(&mut self, name: &[u8], value: &[u8]) {
        let text = || Some(String::from_utf8_lossy(&value[..value.len().min(256)]).into_owned());
        match name {
            b"MESSAGE" => self.entry.message = value[..value.len().min(MAX_FIELD)].to_vec(),
            b"__CURSOR" => self.entry.cursor = text(),
            b"_HOSTNAME" => self.entry.host = text(),
            b"SYSLOG_IDENTIFIER" => self.entry.identifier = text(),
            b"_TRANSPORT" => self.entry.is_kernel = value == b"kernel",
            b"_PID" => self.entry.pid = text(),
            b"__REALTIME_TIMESTAMP" => {
                let micros = text().and_then(|text| text.parse::<u64>().ok());
                self.entry.time =
                    micros.and_then(|us| us.checked_mul(1000)).map(Timestamp::from_nanos);
            }
            _ => {}
        }
    }
}

impl Entry {
    /// The message as lines of a log, each with time, host and process in front.
    pub(super) fn to_lines(&self) -> Vec<u8> {
        let part = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
        let time = self.time.map(|time| time.to_string()).unwrap_or_default();
        let pid = self.pid.as_ref().map(|pid| format!("[{pid}]")).unwrap_or_default();
        let head = format!("{time} {} {}{pid}: ", part(&self.host), part(&self.identifier));
        let mut lines = Vec::with_capacity(head.len() + self.message.len() + 1);
        for line in self.message.split(|byte| *byte == b'\n') {
            lines.extend_from_slice(head.as_bytes());
            lines.extend_from_slice(line);
            lines.push(b'\n');
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], piece: usize) -> (Vec<Entry>, u64) {
        let mut reader = ExportReader::default();
        let mut entries = Vec::new();
        for piece in bytes.chunks(piece) {
            reader.feed(piece, &mut |entry| entries.push(entry));
        }
        assert!(reader.buffer.len() <= MAX_FIELD);
        (entries, reader.take_errors())
    }

    fn binary(name: &str, value: &[u8]) -> Vec<u8> {
        [name.as_bytes(), b"\n", &(value.len() as u64).to_le_bytes(), value, b"\n"].concat()
    }

    #[test]
    fn text_and_binary_fields_in_pieces_of_any_size() {
        let bytes = [
            b"__CURSOR=s=1;i=2\n__REALTIME_TIMESTAMP=1795953600500000\n_HOSTNAME=node7\n".to_vec(),
            b"SYSLOG_IDENTIFIER=trainer\n_PID=77\n_UID=0\n".to_vec(),
            binary("MESSAGE", b"one\ntwo=\xff"),
            b"\n\nMESSAGE=three\nSYSLOG_IDENTIFIER=kernel\n_TRANSPORT=kernel\n\n".to_vec(),
        ]
        .concat();
        for piece in [1, 3, 8, 1000] {
            let (entries, errors) = read(&bytes, piece);
            assert_eq!((entries.len(), errors), (2, 0), "{piece}");
            assert_eq!(entries[0].cursor.as_deref(), Some("s=1;i=2"));
            let head = b"2026-11-29T12:00:00.500000000Z node7 trainer[77]: ";
            let expected = [&head[..], b"one\n", head, b"two=\xff\n"].concat();
            assert_eq!(entries[0].to_lines(), expected);
            assert_eq!(entries[1].to_lines(), b" - kernel: three\n");
            assert_eq!((entries[0].is_kernel, entries[1].is_kernel), (false, true));
        }
    }

    #[test]
    fn long_fields_are_cut_and_counted() {
        let long = vec![b'x'; 3 * MAX_FIELD];
        let bytes = [
            binary("MESSAGE", &long),
            binary("COREDUMP", &long),
            b"\nMESSAGE=".to_vec(),
            long,
            b"\n\nMESSAGE=short\n\n".to_vec(),
        ]
        .concat();
        let (entries, errors) = read(&bytes, 4096);
        let lengths: Vec<_> = entries.iter().map(|entry| entry.message.len()).collect();
        assert_eq!((lengths[0], lengths[2], lengths.len(), errors), (MAX_FIELD, 5, 3, 3));
        assert!(lengths[1] <= MAX_FIELD);
    }

    #[test]
    fn a_length_that_cannot_be_loses_what_follows_but_not_the_program() {
        let bytes = [&b"MESSAGE\n"[..], &u64::MAX.to_le_bytes(), b"x\n\nMESSAGE=y\n\n"].concat();
        assert_eq!(read(&bytes, 5), (vec![], 1));
    }
}
