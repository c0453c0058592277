//! A made-up kernel: as many queue pairs as one likes, and the troubles of a real one.

use std::collections::VecDeque;
use std::io;

use netlink_packet_core::{DefaultNla, Emitable, NLM_F_DUMP_INTR, NLM_F_MULTIPART, NetlinkBuffer};
use roce_collector::inventory::netlink::{Command, RdmaSocket};

/// Bytes of attributes in a datagram, as with a receive buffer of 32 KiB.
const DATAGRAM: usize = 32_000;

/// Devices, each with so many queue pairs.
#[derive(Clone, Debug, Default)]
pub(crate) struct FakeKernel {
    devices: Vec<u32>,
    trouble: Trouble,
    queue: VecDeque<Vec<u8>>,
    last: Vec<u8>,
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Trouble {
    /// The dumps that it goes wrong with; all without it.
    pub(crate) with: Option<Command>,
    /// Dumps that still come with the mark of an interrupted one.
    pub(crate) interrupted: u32,
    /// Error that ends each dump.
    pub(crate) error: i32,
    /// Whether the first record of each dump lacks its end.
    pub(crate) is_cut: bool,
    /// Whether the end mark never comes.
    pub(crate) is_endless: bool,
    /// Whether the answer stops before its end mark.
    pub(crate) is_silent: bool,
}

impl FakeKernel {
    pub(crate) fn with_devices(devices: &[u32]) -> Self {
        Self::in_trouble(devices, Trouble::default())
    }

    pub(crate) fn in_trouble(devices: &[u32], trouble: Trouble) -> Self {
        Self { devices: devices.to_vec(), trouble, ..Self::default() }
    }

    fn queue_pairs(&self, device: u32) -> Vec<Vec<u8>> {
        let mut tables = vec![Vec::new()];
        for qp in 0..self.devices[device as usize] {
            let entry = attribute(20, queue_pair(qp));
            if tables.last().unwrap().len() + entry.len() > DATAGRAM {
                tables.push(Vec::new());
            }
            tables.last_mut().unwrap().extend(entry);
        }
        let messages =
            tables.into_iter().map(|table| [handle(device), attribute(19, table)].concat());
        messages.collect()
    }

    fn answer(&self, request: &NetlinkBuffer<&[u8]>) -> Vec<Vec<u8>> {
        let device =
            request.payload().get(4..8).map(|index| u32::from_ne_bytes(index.try_into().unwrap()));
        let kind = request.message_type();
        if kind == Command::Devices.message_type() {
            return (0..self.devices.len() as u32).map(handle).collect();
        }
        let device = device.unwrap();
        if kind == Command::Ports.message_type() {
            let netdev = attribute(51, format!("eth{device}\0").into());
            return vec![[handle(device), number(3, 1), netdev].concat()];
        }
        self.queue_pairs(device)
    }
}

fn attribute(kind: u16, value: Vec<u8>) -> Vec<u8> {
    let attribute = DefaultNla::new(kind, value);
    let mut bytes = vec![0; attribute.buffer_len()];
    attribute.emit(&mut bytes);
    bytes
}

fn number(kind: u16, value: u32) -> Vec<u8> {
    attribute(kind, value.to_ne_bytes().to_vec())
}

fn handle(device: u32) -> Vec<u8> {
    [number(1, device), attribute(2, format!("mlx5_{device}\0").into())].concat()
}

/// A connected RC queue pair, one of 40 threads' in turn.
fn queue_pair(qp: u32) -> Vec<u8> {
    let small = |kind, value| attribute(kind, vec![value]);
    let state = if qp % 1000 == 999 { 6 } else { 3 };
    [
        number(3, 1),
        number(21, 0x100 + qp),
        number(60, 7),
        number(28, 5000 + qp % 40),
        number(22, 0x8000 + qp),
        number(23, qp * 3),
        number(24, qp * 5),
        small(25, 0),
        small(26, 2),
        small(27, state),
    ]
    .concat()
}

fn message(kind: u16, flags: u16, sequence: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 16 + payload.len()];
    let mut buffer = NetlinkBuffer::new(&mut bytes[..]);
    buffer.set_length(16 + payload.len() as u32);
    buffer.set_message_type(kind);
    buffer.set_flags(flags);
    buffer.set_sequence_number(sequence);
    buffer.payload_mut().copy_from_slice(payload);
    bytes
}

impl RdmaSocket for FakeKernel {
    fn send(&mut self, request: &[u8]) -> io::Result<()> {
        let request = NetlinkBuffer::new_checked(request).unwrap();
        let kind = request.message_type();
        let is_concerned = self.trouble.with.is_none_or(|with| with.message_type() == kind);
        let trouble = if is_concerned { self.trouble } else { Trouble::default() };
        let mut flags = NLM_F_MULTIPART;
        if trouble.interrupted > 0 {
            self.trouble.interrupted -= 1;
            flags |= NLM_F_DUMP_INTR;
        }
        let mut payloads = self.answer(&request);
        if trouble.is_cut
            && let Some(first) = payloads.first_mut()
        {
            first.truncate(first.len() - 5);
        }
        let sequence = request.sequence_number();
        let answers = payloads.iter().map(|payload| message(kind, flags, sequence, payload));
        self.queue = answers.collect();
        if !trouble.is_silent {
            self.queue.push_back(message(3, flags, sequence, &(-trouble.error).to_ne_bytes()));
        }
        self.last = message(kind, flags, sequence, &[]);
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let datagram = match self.queue.pop_front() {
            Some(end) if self.trouble.is_endless && self.queue.is_empty() => {
                self.queue.push_back(end);
                self.last.clone()
            }
            Some(datagram) => datagram,
            None => return Err(io::ErrorKind::WouldBlock.into()),
        };
        let fits = datagram.len().min(buffer.len());
        buffer[..fits].copy_from_slice(&datagram[..fits]);
        Ok(datagram.len())
    }
}
