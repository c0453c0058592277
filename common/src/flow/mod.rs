//! What is kept for one flow, and how one packet changes it.
//!
//! A *record* belongs to one (tap, source, destination, destination QP, transport, PSN space). It has
//! a hot slot, which every packet changes, and a cold part, which only rare events change. User space
//! joins the records of a flow.
//!
//! Most packets of a stream look alike: same opcode, same TOS byte, same header lengths. Such a
//! [`Run`] is counted by the two totals of the slot alone. When a packet differs, the run's packets
//! and bytes are booked to opcode, ECN, DSCP and payload in the cold part and a new run starts. So
//! everything is exact, and a cache line of rare counters is touched once for each run.

mod account;
mod cold;
mod hash;
mod key;
mod opcode_index;
mod place;
mod run;
mod sequence_record;
mod slot;
mod spill;

pub use account::{ColdAccess, Observation, account};
pub use cold::{DSCP_VALUES, FlowCold};
pub use hash::{hash_narrow, hash_wide, slot_index};
pub use key::{FlowKey, NarrowKey, PsnSpace, RecordTag, WideKey};
pub use opcode_index::{OPCODE_COUNTERS, opcode_index, opcode_of_index};
pub use place::RecordPlace;
pub use run::{Run, RunClass};
pub use sequence_record::SequenceRecord;
pub use slot::{FlowSlot, NarrowSlot, WIRE_BYTES_BITS, WideSlot};
pub use spill::{SpillCount, SpillKey};
