//! Requests to the kernel.

use netlink_packet_core::{
    DefaultNla, Emitable, NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
    NetlinkSerializable,
};

use super::ids::{Command, attribute};

/// A request for a dump: of all devices, or of one device's ports or queue pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    command: Command,
    device: Option<u32>,
}

impl Request {
    /// All RDMA devices.
    pub const DEVICES: Self = Self { command: Command::Devices, device: None };

    /// Ports of the device with this index.
    pub const fn ports(device: u32) -> Self {
        Self { command: Command::Ports, device: Some(device) }
    }

    /// Queue pairs of the device with this index. The kernel dumps them for one device at a time.
    pub const fn queue_pairs(device: u32) -> Self {
        Self { command: Command::QueuePairs, device: Some(device) }
    }

    /// The request as a datagram.
    pub fn to_bytes(self, sequence: u32) -> Vec<u8> {
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | NLM_F_DUMP;
        header.sequence_number = sequence;
        let mut message = NetlinkMessage::new(header, NetlinkPayload::InnerMessage(self));
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        bytes
    }

    fn attributes(self) -> Vec<DefaultNla> {
        let index = self
            .device
            .map(|index| DefaultNla::new(attribute::DEV_INDEX, index.to_ne_bytes().to_vec()));
        index.into_iter().collect()
    }
}

impl NetlinkSerializable for Request {
    fn message_type(&self) -> u16 {
        self.command.message_type()
    }

    fn buffer_len(&self) -> usize {
        self.attributes().as_slice().buffer_len()
    }

    fn serialize(&self, buffer: &mut [u8]) {
        self.attributes().as_slice().emit(buffer);
    }
}
