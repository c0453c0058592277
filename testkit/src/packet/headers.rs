//! Values of the extended headers, and how each is laid out on the wire.

use super::opcode::ExtHeader;

/// RDMA extended transport header: where a WRITE goes or a READ comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reth {
    /// Virtual address.
    pub va: u64,
    /// Remote key.
    pub rkey: u32,
    /// Length of the whole message in bytes.
    pub dma_len: u32,
}

/// Acknowledge extended transport header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Aeth {
    /// Class in bits 6:5 (00 ACK, 01 RNR NAK, 11 NAK), credit count, timer or code in bits 4:0.
    pub syndrome: u8,
    /// Message sequence number, 24 bits.
    pub msn: u32,
}

impl Aeth {
    /// A positive acknowledgement with the credit field saying "no credits in use".
    pub const fn ack(msn: u32) -> Self {
        Self { syndrome: 0x1f, msn }
    }

    /// A NAK with `code`: 0 PSN sequence error, 1 invalid request, 2 remote access error,
    /// 3 remote operational error, 4 invalid RD request.
    pub const fn nak(code: u8, msn: u32) -> Self {
        Self { syndrome: 0x60 | (code & 0x1f), msn }
    }

    /// A receiver-not-ready NAK with the 5-bit `timer` code.
    pub const fn rnr(timer: u8, msn: u32) -> Self {
        Self { syndrome: 0x20 | (timer & 0x1f), msn }
    }
}

impl Default for Aeth {
    fn default() -> Self {
        Self::ack(0)
    }
}

/// Datagram extended transport header.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Deth {
    /// Queue key.
    pub qkey: u32,
    /// Source QP, 24 bits.
    pub src_qp: u32,
}

/// Operands of COMPARE SWAP and FETCH ADD.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AtomicEth {
    /// Virtual address.
    pub va: u64,
    /// Remote key.
    pub rkey: u32,
    /// Value to swap in or to add.
    pub swap_add: u64,
    /// Value to compare with.
    pub compare: u64,
}

/// Values for every extended header; an opcode takes the ones it carries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ExtValues {
    pub(super) ee_context: u32,
    pub(super) deth: Deth,
    pub(super) xrc_srq: u32,
    pub(super) feth: u32,
    pub(super) reth: Reth,
    pub(super) atomic: AtomicEth,
    pub(super) aeth: Aeth,
    pub(super) atomic_ack: u64,
    pub(super) immediate: u32,
    pub(super) invalidate_rkey: u32,
}

impl ExtValues {
    /// Appends `header` in network byte order.
    pub(super) fn write(&self, header: ExtHeader, out: &mut Vec<u8>) {
        match header {
            ExtHeader::Rdeth => put_u24_after(0, self.ee_context, out),
            ExtHeader::Xrceth => put_u24_after(0, self.xrc_srq, out),
            ExtHeader::Aeth => put_u24_after(self.aeth.syndrome, self.aeth.msn, out),
            ExtHeader::Deth => {
                out.extend(self.deth.qkey.to_be_bytes());
                put_u24_after(0, self.deth.src_qp, out);
            }
            ExtHeader::Feth => out.extend(self.feth.to_be_bytes()),
            ExtHeader::Reth => {
                out.extend(self.reth.va.to_be_bytes());
                out.extend(self.reth.rkey.to_be_bytes());
                out.extend(self.reth.dma_len.to_be_bytes());
            }
            ExtHeader::AtomicEth => {
                out.extend(self.atomic.va.to_be_bytes());
                out.extend(self.atomic.rkey.to_be_bytes());
                out.extend(self.atomic.swap_add.to_be_bytes());
                out.extend(self.atomic.compare.to_be_bytes());
            }
            ExtHeader::AtomicAckEth => out.extend(self.atomic_ack.to_be_bytes()),
            ExtHeader::ImmDt => out.extend(self.immediate.to_be_bytes()),
            ExtHeader::Ieth => out.extend(self.invalidate_rkey.to_be_bytes()),
        }
    }
}

/// Appends `first`, then the low 24 bits of `value`: a shape that half of the headers have.
pub(super) fn put_u24_after(first: u8, value: u32, out: &mut Vec<u8>) {
    let [_, high, middle, low] = value.to_be_bytes();
    out.extend([first, high, middle, low]);
}
