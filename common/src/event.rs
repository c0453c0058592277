//! Rare things that the kernel tells user space of, one by one.

use crate::flow::WideKey;

/// What happened to the packets of one record.
///
/// The counters of the record have it, too: events say when, and in which order. They may be lost, which
/// is counted, and no record sends many in a second.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowEvent {
    /// Nanoseconds since boot, without the time that the machine slept.
    pub time_ns: u64,
    /// One of [`EventKind`].
    pub kind: u32,
    /// PSN that it is about.
    pub psn: u32,
    /// How many; see the kind.
    pub count: u32,
    /// See the kind.
    pub detail: u32,
    /// The record; never a narrow key.
    pub key: WideKey,
    /// Of a rewind of requests, its [`crate::sequence::AckState::episode_word`], else 0.
    pub episode: u32,
    /// Of a rewind of requests, the [`crate::sequence::AckState::acknowledged_word`] when it came, else 0; also
    /// 0 of a READ, for a later response says nothing of the one that is asked for again.
    pub acknowledged: u32,
    /// Zero.
    pub reserved: u32,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum EventKind {
    /// A PSN came before others: `psn` is the first that was due, `count` how many are missing for
    /// certain, and `detail` the PSN that came.
    Gap = 1,
    /// The sender went back. Its packet with `psn`, `count` before the next one, shows it; where it began
    /// and why is in `episode`. `detail` is the silence before that packet in microseconds.
    Rewind = 2,
    /// The peer refused `psn`: `detail` is the syndrome byte of a NAK or RNR NAK.
    Nak = 3,
}

impl EventKind {
    /// The kind with this number.
    pub const fn of_code(code: u32) -> Option<Self> {
        match code {
            1 => Some(Self::Gap),
            2 => Some(Self::Rewind),
            3 => Some(Self::Nak),
            _ => None,
        }
    }
}

const _: () = assert!(size_of::<FlowEvent>() == 80);
