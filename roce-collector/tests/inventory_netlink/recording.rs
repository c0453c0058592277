//! Conversations of `testdata/netlink`, and a kernel that repeats one.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use roce_collector::inventory::netlink::RdmaSocket;

/// Bytes before a datagram in a capture of LINKTYPE_NETLINK.
const COOKED_HEADER: usize = 16;
/// First byte pair of that header for what the process sent.
const SENT: [u8; 2] = [0, 4];
/// Type of a question for devices.
const DEVICES: u16 = 0x1401;

/// Requests and the datagrams that answered each.
#[derive(Clone, Debug)]
pub(crate) struct Recording(pub(crate) Vec<(Vec<u8>, Vec<Vec<u8>>)>);

pub(crate) fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/netlink").join(name)
}

impl Recording {
    pub(crate) fn open(name: &str) -> Self {
        let file = fs::read(path(&format!("{name}.pcap"))).unwrap();
        assert_eq!(file[20..24], 253_u32.to_le_bytes(), "{name} is no capture of netlink");
        let mut conversation: Vec<(Vec<u8>, Vec<Vec<u8>>)> = Vec::new();
        let mut rest = &file[24..];
        while let Some((header, packet)) = rest.split_at_checked(16) {
            let length = u32::from_le_bytes(header[8..12].try_into().unwrap()) as usize;
            let datagram = packet[COOKED_HEADER..length].to_vec();
            if packet[..2] == SENT {
                conversation.push((datagram, Vec::new()));
            } else {
                conversation.last_mut().unwrap().1.push(datagram);
            }
            rest = &packet[length..];
        }
        assert!(rest.is_empty() && !conversation.is_empty(), "{name} is cut off");
        Self(conversation)
    }

    /// The datagrams that answered a request, whatever its sequence number was.
    pub(crate) fn answer(&self, request: &[u8]) -> Option<&[Vec<u8>]> {
        let same = |other: &&(Vec<u8>, _)| without_sequence(&other.0) == without_sequence(request);
        self.0.iter().find(same).map(|(_, answer)| answer.as_slice())
    }
}

/// Gives the recorded answers, with the sequence numbers of the requests at hand.
#[derive(Debug)]
pub(crate) struct Replay {
    /// The one in use comes first. Each question for devices, but the first, goes on to the next.
    recordings: VecDeque<Recording>,
    queue: VecDeque<Vec<u8>>,
    /// How often each kind of request came.
    pub(crate) asked: BTreeMap<u16, usize>,
}

impl Replay {
    pub(crate) fn new(recording: Recording) -> Self {
        Self::in_turn([recording])
    }

    /// One recording for each sweep; the last stays.
    pub(crate) fn in_turn(recordings: impl IntoIterator<Item = Recording>) -> Self {
        let recordings = recordings.into_iter().collect();
        Self { recordings, queue: VecDeque::new(), asked: BTreeMap::new() }
    }
}

impl RdmaSocket for Replay {
    fn send(&mut self, request: &[u8]) -> io::Result<()> {
        let kind = u16::from_ne_bytes([request[4], request[5]]);
        let asked = self.asked.entry(kind).or_default();
        *asked += 1;
        if kind == DEVICES && *asked > 1 && self.recordings.len() > 1 {
            self.recordings.pop_front();
        }
        let answer = self.recordings[0].answer(request).ok_or(io::ErrorKind::ConnectionRefused)?;
        for datagram in answer {
            self.queue.push_back(with_sequence(datagram, &request[8..12]));
        }
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let datagram = self.queue.pop_front().ok_or(io::ErrorKind::WouldBlock)?;
        let fits = datagram.len().min(buffer.len());
        buffer[..fits].copy_from_slice(&datagram[..fits]);
        Ok(datagram.len())
    }
}

fn without_sequence(request: &[u8]) -> Vec<u8> {
    with_sequence(request, &[0; 4])
}

/// The same messages with another sequence number.
pub(crate) fn with_sequence(datagram: &[u8], sequence: &[u8]) -> Vec<u8> {
    let mut datagram = datagram.to_vec();
    let mut at = 0;
    while at < datagram.len() {
        let length = u32::from_ne_bytes(datagram[at..at + 4].try_into().unwrap()) as usize;
        datagram[at + 8..at + 12].copy_from_slice(sequence);
        at += length.next_multiple_of(4);
    }
    datagram
}
