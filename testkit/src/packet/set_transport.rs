//! Setters of the BTH, the extended headers, the payload and what is forced.

use super::bth::{self, with_bit};
use super::builder::Packet;
use super::headers::{Aeth, AtomicEth, Deth, Reth};

impl Packet {
    /// Solicited event bit.
    pub const fn solicited(mut self, on: bool) -> Self {
        self.bth.flags = with_bit(self.bth.flags, bth::SOLICITED, on);
        self
    }

    /// `MigReq` bit; on by default, except in a CNP.
    pub const fn migrated(mut self, on: bool) -> Self {
        self.bth.flags = with_bit(self.bth.flags, bth::MIGRATED, on);
        self
    }

    /// Transport header version, 4 bits; only 0 is defined.
    pub const fn header_version(mut self, version: u8) -> Self {
        self.bth.flags = (self.bth.flags & 0xf0) | (version & 0x0f);
        self
    }

    /// Partition key.
    pub const fn pkey(mut self, pkey: u16) -> Self {
        self.bth.pkey = pkey;
        self
    }

    /// FECN bit.
    pub const fn fecn(mut self, on: bool) -> Self {
        self.bth.notification = with_bit(self.bth.notification, bth::FECN, on);
        self
    }

    /// BECN bit.
    pub const fn becn(mut self, on: bool) -> Self {
        self.bth.notification = with_bit(self.bth.notification, bth::BECN, on);
        self
    }

    /// Destination QP, 24 bits.
    pub const fn dest_qp(mut self, qp: u32) -> Self {
        self.bth.dest_qp = qp;
        self
    }

    /// Acknowledge request bit.
    pub const fn ack_req(mut self, on: bool) -> Self {
        self.bth.ack_req = on;
        self
    }

    /// Packet sequence number, 24 bits; higher bits are cut off, so a counter wraps by itself.
    pub const fn psn(mut self, psn: u32) -> Self {
        self.bth.psn = psn & 0x00ff_ffff;
        self
    }

    /// RETH of RDMA WRITE, READ request, FLUSH and ATOMIC WRITE.
    pub const fn reth(mut self, reth: Reth) -> Self {
        self.ext.reth = reth;
        self
    }

    /// AETH of ACK, NAK, READ response and atomic acknowledge.
    pub const fn aeth(mut self, aeth: Aeth) -> Self {
        self.ext.aeth = aeth;
        self
    }

    /// DETH of UD and RD.
    pub const fn deth(mut self, deth: Deth) -> Self {
        self.ext.deth = deth;
        self
    }

    /// `AtomicETH` of COMPARE SWAP and FETCH ADD.
    pub const fn atomic(mut self, atomic: AtomicEth) -> Self {
        self.ext.atomic = atomic;
        self
    }

    /// Original value that an atomic acknowledge returns.
    pub const fn atomic_ack(mut self, original: u64) -> Self {
        self.ext.atomic_ack = original;
        self
    }

    /// Immediate data.
    pub const fn immediate(mut self, data: u32) -> Self {
        self.ext.immediate = data;
        self
    }

    /// `R_Key` that a SEND with invalidate invalidates.
    pub const fn invalidate(mut self, rkey: u32) -> Self {
        self.ext.invalidate_rkey = rkey;
        self
    }

    /// SRQ number of an XRC request, 24 bits.
    pub const fn xrc_srq(mut self, srq: u32) -> Self {
        self.ext.xrc_srq = srq;
        self
    }

    /// FETH of FLUSH: selectivity level in bits 5:4, placement type in bits 3:0.
    pub const fn feth(mut self, feth: u32) -> Self {
        self.ext.feth = feth;
        self
    }

    /// EE context of RD, 24 bits.
    pub const fn ee_context(mut self, context: u32) -> Self {
        self.ext.ee_context = context;
        self
    }

    /// Payload bytes; the pad to a multiple of 4 is added by itself.
    pub fn payload(mut self, bytes: Vec<u8>) -> Self {
        self.payload = bytes;
        self
    }

    /// A payload of `len` zeros.
    pub fn payload_len(self, len: usize) -> Self {
        self.payload(vec![0; len])
    }

    /// Puts a wrong value into the length field of the network header.
    pub const fn force_ip_len(mut self, len: u16) -> Self {
        self.forced.ip_len = Some(len);
        self
    }

    /// Puts a wrong value into the UDP length field.
    pub const fn force_udp_len(mut self, len: u16) -> Self {
        self.forced.udp_len = Some(len);
        self
    }

    /// Puts a wrong value (2 bits) into the pad count of the BTH; the pad itself stays right.
    pub const fn force_pad_count(mut self, count: u8) -> Self {
        self.forced.pad_count = Some(count & 3);
        self
    }

    /// Puts this value into the ICRC.
    pub const fn force_icrc(mut self, icrc: [u8; 4]) -> Self {
        self.forced.icrc = Some(icrc);
        self
    }
}
