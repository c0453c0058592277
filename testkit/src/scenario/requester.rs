//! Turns messages into packets with the right opcodes and PSNs.

use super::connection::Connection;
use crate::packet::{Aeth, Opcode, Packet, Reth};

/// The requester of a connection, and how far it is.
#[derive(Debug)]
pub(super) struct Requester<'a> {
    pub(super) connection: &'a Connection,
    /// PSN of the next request.
    pub(super) psn: u32,
    /// Messages completed.
    pub(super) msn: u32,
    /// Transport bits of every opcode: 0x00 RC, 0x20 UC, 0xa0 XRC.
    transport: u8,
}

/// The five-bit operations of a message that takes more than one packet, and of one that does not.
#[derive(Debug, Clone, Copy)]
pub(super) struct Operations {
    pub(super) first: Opcode,
    pub(super) middle: Opcode,
    pub(super) last: Opcode,
    pub(super) only: Opcode,
}

pub(super) const WRITE: Operations = Operations {
    first: Opcode::RC_RDMA_WRITE_FIRST,
    middle: Opcode::RC_RDMA_WRITE_MIDDLE,
    last: Opcode::RC_RDMA_WRITE_LAST,
    only: Opcode::RC_RDMA_WRITE_ONLY,
};

pub(super) const SEND: Operations = Operations {
    first: Opcode::RC_SEND_FIRST,
    middle: Opcode::RC_SEND_MIDDLE,
    last: Opcode::RC_SEND_LAST,
    only: Opcode::RC_SEND_ONLY,
};

const READ_RESPONSE: Operations = Operations {
    first: Opcode::RC_RDMA_READ_RESPONSE_FIRST,
    middle: Opcode::RC_RDMA_READ_RESPONSE_MIDDLE,
    last: Opcode::RC_RDMA_READ_RESPONSE_LAST,
    only: Opcode::RC_RDMA_READ_RESPONSE_ONLY,
};

impl Operations {
    /// Opcode of packet `at` of `count`.
    fn of(self, at: usize, count: usize) -> Opcode {
        match at {
            _ if count == 1 => self.only,
            0 => self.first,
            _ if at + 1 == count => self.last,
            _ => self.middle,
        }
    }
}

impl<'a> Requester<'a> {
    /// An RC requester at the connection's first PSN.
    pub(super) const fn new(connection: &'a Connection) -> Self {
        Self::with_transport(connection, 0)
    }

    /// A requester of another transport: 0x20 UC, 0xa0 XRC.
    pub(super) const fn with_transport(connection: &'a Connection, transport: u8) -> Self {
        Self { connection, psn: connection.first_psn, msn: 0, transport }
    }

    /// A request of one packet with the next PSN.
    pub(super) fn request(&mut self, operation: Opcode) -> Packet {
        let packet = self.connection.forward(self.opcode(operation)).psn(self.psn);
        self.psn = next(self.psn, 1);
        packet
    }

    /// A message of `length` bytes; its last packet asks for an ACK, except on UC.
    pub(super) fn message(&mut self, operations: Operations, length: usize) -> Vec<Packet> {
        let reth = Self::reth(length);
        let count = self.packets(length);
        let packets = (0..count)
            .map(|at| {
                let last = at + 1 == count;
                self.request(operations.of(at, count))
                    .reth(reth)
                    .ack_req(last && self.transport != 0x20)
                    .payload(self.piece(at, length))
            })
            .collect();
        self.msn += 1;
        packets
    }

    /// A READ of `length` bytes and its responses.
    pub(super) fn read(&mut self, length: usize) -> (Packet, Vec<Packet>) {
        let count = self.packets(length);
        let first = self.psn;
        let request =
            self.request(Opcode::RC_RDMA_READ_REQUEST).reth(Self::reth(length)).ack_req(true);
        self.psn = next(first, count as u32);
        self.msn += 1;
        let responses = (0..count).map(|at| {
            self.connection
                .backward(self.opcode(READ_RESPONSE.of(at, count)))
                .psn(next(first, at as u32))
                .aeth(Aeth::ack(self.msn))
                .payload(self.piece(at, length))
        });
        (request, responses.collect())
    }

    /// An ACK of everything sent so far.
    pub(super) fn acknowledge(&self) -> Packet {
        self.answer(next(self.psn, 0x00ff_ffff), Aeth::ack(self.msn))
    }

    /// An ACK or NAK for `psn`.
    pub(super) fn answer(&self, psn: u32, aeth: Aeth) -> Packet {
        let opcode = self.opcode(Opcode::RC_ACKNOWLEDGE);
        self.connection.backward(opcode).psn(psn).aeth(aeth)
    }

    fn opcode(&self, operation: Opcode) -> Opcode {
        Opcode(self.transport | (operation.0 & 0x1f))
    }

    fn packets(&self, length: usize) -> usize {
        length.div_ceil(self.connection.pmtu).max(1)
    }

    fn reth(length: usize) -> Reth {
        Reth { va: 0x7f00_0000_0000, rkey: 0x1234, dma_len: length as u32 }
    }

    /// Payload of packet `at` of a message of `length` bytes.
    fn piece(&self, at: usize, length: usize) -> Vec<u8> {
        let pmtu = self.connection.pmtu;
        vec![at as u8; (length - at * pmtu).min(pmtu)]
    }
}

/// `psn` plus `count`, in 24 bits.
pub(super) const fn next(psn: u32, count: u32) -> u32 {
    psn.wrapping_add(count) & 0x00ff_ffff
}
