//! Opcode counters of one record: its transport and PSN space leave at most 19 opcodes.

use super::{PsnSpace, RecordTag};
use crate::wire::{Opcode, OpcodeKind, Transport};

/// Counters a record has; the last one is for opcodes that no standard defines.
pub const OPCODE_COUNTERS: usize = 20;
const UNKNOWN: usize = OPCODE_COUNTERS - 1;

/// Five-bit operations of a request, in counter order.
const REQUESTS: [u8; UNKNOWN] = [
    0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x13, 0x14, 0x16,
    0x17, 0x1c, 0x1d,
];
/// Operation of the first response counter; the others follow in order.
const FIRST_RESPONSE: u8 = 0x0d;
/// Responses: READ response first, middle, last, only, ACK, atomic ACK.
const RESPONSES: usize = 6;

/// Counter of every opcode byte. A table: the kernel path has no branch for it, and the verifier sees a
/// plain load that is checked before use.
static COUNTER: [u8; 256] = counter_table();

/// Counter of an opcode.
#[inline(always)]
pub fn opcode_index(opcode: Opcode) -> usize {
    match COUNTER.get(opcode.0 as usize) {
        Some(&counter) => counter as usize,
        None => UNKNOWN,
    }
}

const fn counter(opcode: Opcode) -> u8 {
    let operation = opcode.0 & 0x1f;
    match opcode.classify() {
        OpcodeKind::Unknown => UNKNOWN as u8,
        OpcodeKind::Cnp => 0,
        OpcodeKind::Response | OpcodeKind::Acknowledge => operation - FIRST_RESPONSE,
        OpcodeKind::Request => match operation {
            0x00..=0x0c => operation,
            0x13 | 0x14 => operation - 0x13 + 13,
            0x16 | 0x17 => operation - 0x16 + 15,
            _ => operation - 0x1c + 17,
        },
    }
}

#[expect(clippy::indexing_slicing, reason = "evaluated at compile time")]
const fn counter_table() -> [u8; 256] {
    let mut table = [0; 256];
    let mut opcode = 0;
    while opcode < 256 {
        table[opcode] = counter(Opcode(opcode as u8));
        opcode += 1;
    }
    table
}

/// Opcode of a counter of a record with this tag; `None` for the counter of unknown opcodes.
pub fn opcode_of_index(index: usize, tag: RecordTag) -> Option<Opcode> {
    let group = match tag.transport() {
        Transport::Rc => 0x00,
        Transport::Uc => 0x20,
        Transport::Ud => 0x60,
        Transport::Xrc => 0xa0,
        Transport::Cnp => return (index == 0).then_some(Opcode::CNP),
        Transport::Rd | Transport::Manufacturer => return None,
    };
    let operation = match tag.space() {
        PsnSpace::Request => *REQUESTS.get(index)?,
        PsnSpace::Response | PsnSpace::Acknowledge => {
            (index < RESPONSES).then(|| FIRST_RESPONSE + index as u8)?
        }
    };
    Some(Opcode(group | operation))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_defined_opcode_has_a_counter_of_its_own() {
        for code in 0..=255 {
            let opcode = Opcode(code);
            let index = opcode_index(opcode);
            assert!(index < OPCODE_COUNTERS);
            let back = opcode_of_index(index, RecordTag::new(0, opcode));
            if opcode.is_defined() {
                assert_eq!(back, Some(opcode));
            } else {
                assert_eq!(index, UNKNOWN);
                assert_eq!(back, None);
            }
        }
    }
}
