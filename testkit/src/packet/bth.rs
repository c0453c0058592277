//! Base transport header.

use super::headers::put_u24_after;
use super::opcode::Opcode;

pub(super) const LEN: usize = 12;

pub(super) const SOLICITED: u8 = 0x80;
pub(super) const MIGRATED: u8 = 0x40;
pub(super) const FECN: u8 = 0x80;
pub(super) const BECN: u8 = 0x40;

/// The fields of a BTH as they are packed on the wire.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bth {
    pub(super) opcode: Opcode,
    /// SE, M and header version; the pad count is added when written.
    pub(super) flags: u8,
    pub(super) pkey: u16,
    /// FECN and BECN.
    pub(super) notification: u8,
    pub(super) dest_qp: u32,
    pub(super) ack_req: bool,
    pub(super) psn: u32,
}

impl Bth {
    pub(super) const fn new(opcode: Opcode) -> Self {
        let cnp = opcode.0 == Opcode::CNP.0;
        Self {
            opcode,
            flags: if cnp { 0 } else { MIGRATED },
            pkey: 0xffff,
            notification: if cnp { BECN } else { 0 },
            dest_qp: 0,
            ack_req: false,
            psn: 0,
        }
    }

    pub(super) fn write(self, pad_count: u8, out: &mut Vec<u8>) {
        out.extend([self.opcode.0, self.flags | pad_count << 4]);
        out.extend(self.pkey.to_be_bytes());
        put_u24_after(self.notification, self.dest_qp, out);
        put_u24_after(u8::from(self.ack_req) << 7, self.psn, out);
    }
}

/// `byte` with `bit` on or off.
pub(super) const fn with_bit(byte: u8, bit: u8, on: bool) -> u8 {
    if on { byte | bit } else { byte & !bit }
}
