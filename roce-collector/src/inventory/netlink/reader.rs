//! Asks for everything, once a sweep.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use super::answer::{Answer, Losses};
use super::records::{DeviceRecord, PortRecord, QpRecord, Record};
use super::request::Request;
use super::socket::RdmaSocket;

/// Bytes of a datagram: what the kernel fills at most, given that much room.
const BUFFER: usize = 32 * 1024;
/// Datagrams of a dump, more than two million queue pairs. Only a broken kernel sends more.
const MAX_DATAGRAMS: usize = 8192;
/// Devices, and ports of a device, that are kept.
const MAX_DEVICES: usize = 4096;
const MAX_PORTS: usize = 256;
/// Times that a dump is asked for again because the kernel's lists changed meanwhile.
const REPEATS: u32 = 3;
/// Age from which on ports are asked for again: drivers ask the NIC's firmware for them.
const PORTS_AGE: Duration = Duration::from_secs(30);

/// What the kernel knows of RDMA at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelView {
    /// Devices, in the order of their indexes.
    pub devices: Vec<DeviceView>,
    /// Queue pairs of all devices, by device, in the kernel's order.
    pub qps: Vec<QpRecord>,
}

/// A device of a [`KernelView`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceView {
    /// Index, as long as the device lives.
    pub index: u32,
    /// Name.
    pub name: String,
    /// Its ports.
    pub ports: Vec<PortRecord>,
    /// Whether all of its queue pairs are in the view. If not, one that is missing may be there.
    pub is_whole: bool,
}

/// Figures of a reader since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadCounts {
    /// What answers lacked.
    pub losses: Losses,
    /// Datagrams that were longer than the buffer.
    pub truncated: u64,
    /// Dumps that were asked for again because the lists changed meanwhile.
    pub repeated: u64,
    /// Dumps that ended with an error, or not at all.
    pub failed: u64,
}

/// Why there is no view.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// No socket; see [`super::is_absent`].
    #[error("cannot open an RDMA netlink socket: {0}")]
    Open(#[source] io::Error),
    /// The list of devices could not be had.
    #[error("cannot ask the kernel for its RDMA devices: {0}")]
    Devices(#[source] io::Error),
}

/// Reads views from the kernel, or from what takes its place.
#[derive(Debug)]
pub struct Reader<O, S> {
    open: O,
    socket: Option<S>,
    sequence: u32,
    buffer: Box<[u8]>,
    limit: usize,
    ports: BTreeMap<u32, KnownPorts>,
    counts: ReadCounts,
}

#[derive(Debug)]
struct KnownPorts {
    name: String,
    ports: Vec<PortRecord>,
    read: Duration,
}

impl<O: FnMut() -> io::Result<S>, S: RdmaSocket> Reader<O, S> {
    /// A reader that opens its socket by `open`, again after errors, and keeps at most `limit` queue pairs.
    pub fn new(open: O, limit: usize) -> Self {
        Self {
            open,
            socket: None,
            sequence: 0,
            buffer: vec![0; BUFFER].into(),
            limit,
            ports: BTreeMap::new(),
            counts: ReadCounts::default(),
        }
    }

    /// What could not be read so far.
    pub const fn counts(&self) -> ReadCounts {
        self.counts
    }

    /// The socket, while one is open.
    pub const fn socket(&self) -> Option<&S> {
        self.socket.as_ref()
    }

    /// Reads everything. `uptime` is the time since some fixed moment.
    ///
    /// # Errors
    /// When there is no list of devices. That a device fails is none: its view says that it is not whole.
    pub fn read(&mut self, uptime: Duration) -> Result<KernelView, ReadError> {
        if self.socket.is_none() {
            self.socket = Some((self.open)().map_err(ReadError::Open)?);
        }
        let mut devices = self.devices().map_err(ReadError::Devices)?;
        devices.sort_unstable_by_key(|device| device.index);
        devices.dedup_by_key(|device| device.index);
        self.ports.retain(|index, known| {
            devices.iter().any(|device| device.index == *index && device.name == known.name)
        });
        let mut view = KernelView::default();
        for device in devices {
            let ports = self.ports(&device, uptime);
            let room = self.limit - view.qps.len();
            let answer = self.dump::<QpRecord>(Request::queue_pairs(device.index), room);
            let is_whole = answer.as_ref().is_ok_and(Answer::is_whole);
            let mut qps = answer.map(|answer| answer.records).unwrap_or_default();
            qps.retain(|qp| qp.device == device.index);
            view.qps.append(&mut qps);
            let DeviceRecord { index, name } = device;
            view.devices.push(DeviceView { index, name, ports, is_whole });
        }
        Ok(view)
    }

    /// All devices: one that is missing would be taken for gone, and its queue pairs with it.
    fn devices(&mut self) -> io::Result<Vec<DeviceRecord>> {
        let answer = self.dump::<DeviceRecord>(Request::DEVICES, MAX_DEVICES)?;
        match answer.end() {
            Some(0) if answer.is_interrupted => Err(io::Error::other("the list keeps changing")),
            Some(0) if answer.losses.damaged != 0 => Err(io::Error::other("the list is damaged")),
            Some(0) | None => Ok(answer.records),
            Some(error) => Err(io::Error::from_raw_os_error(error)),
        }
    }

    /// Ports of a device: those that are known when they are not old, or when the device does not answer.
    fn ports(&mut self, device: &DeviceRecord, uptime: Duration) -> Vec<PortRecord> {
        let known = match self.ports.remove(&device.index) {
            Some(known) if uptime.saturating_sub(known.read) < PORTS_AGE => known,
            known => {
                let answer = self.dump::<PortRecord>(Request::ports(device.index), MAX_PORTS);
                let whole = answer.ok().filter(Answer::is_whole).map(|answer| answer.records);
                let ports = whole.or(known.map(|known| known.ports)).unwrap_or_default();
                KnownPorts { name: device.name.clone(), ports, read: uptime }
            }
        };
        let ports = known.ports.clone();
        self.ports.insert(device.index, known);
        ports
    }

    /// Asks until the answer is of one piece, a few times at most. An answer that ended with an error
    /// comes with what it had before.
    fn dump<R: Record>(&mut self, request: Request, limit: usize) -> io::Result<Answer<R>> {
        let mut repeats = 0;
        loop {
            let answer = self.ask(request, limit);
            match &answer {
                Ok(answer) if answer.is_interrupted && repeats < REPEATS => {
                    repeats += 1;
                    self.counts.repeated += 1;
                    continue;
                }
                Ok(answer) => {
                    self.counts.failed += u64::from(answer.end() != Some(0));
                    let Losses { damaged, foreign, over_limit } = answer.losses;
                    self.counts.losses.damaged += damaged;
                    self.counts.losses.foreign += foreign;
                    self.counts.losses.over_limit += over_limit;
                }
                Err(_) => {
                    self.counts.failed += 1;
                    // What is left of the answer goes with the socket.
                    self.socket = None;
                }
            }
            return answer;
        }
    }

    fn ask<R: Record>(&mut self, request: Request, limit: usize) -> io::Result<Answer<R>> {
        let Self { open, socket, sequence, buffer, counts, .. } = self;
        let socket = match socket {
            Some(socket) => socket,
            None => socket.insert(open()?),
        };
        *sequence = sequence.wrapping_add(1);
        socket.send(&request.to_bytes(*sequence))?;
        let mut answer = Answer::new(*sequence, limit);
        for _ in 0..MAX_DATAGRAMS {
            let length = socket.receive(buffer)?;
            counts.truncated += u64::from(length > buffer.len());
            answer.take(&buffer[..length.min(buffer.len())]);
            if answer.end().is_some() {
                return Ok(answer);
            }
        }
        Err(io::Error::other("the answer does not end"))
    }
}
