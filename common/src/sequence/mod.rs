//! The PSN engine: what one packet says about loss, reordering and retransmission.
//!
//! One state per record, so per PSN space: the requests to one QP, or the responses to it. Two parts:
//! [`SequenceWord`] changes with every packet; [`SequenceState`] is touched only when something is not in
//! order, and by what the other direction says.
//!
//! ```text
//! missing PSN --comes, alone or with other missing ones----------> reordered
//!             --comes alone, and a NAK had asked for it,
//!               or silence went before-------------------------> lost, recovered
//!             --comes in a rewind-------------------------------> lost, recovered
//!             --comes, and then once more by itself-------------> reordered
//!             --is acknowledged, never comes--------------------> unseen; lost where a NAK had named it
//!             --was found missing while the tap lost packets----> unseen
//!             --UC, never comes---------------------------------> lost
//!             --else--------------------------------------------> open
//! ```
//!
//! What is behind the next PSN comes in *bursts*: packets whose PSNs follow each other. A burst is a
//! rewind as soon as it has a packet that the tap had seen and that cannot be late itself; until then
//! nobody can tell. What a rewind brings is decided after a grace time, because a receiver that gets
//! packets out of order sends a NAK: then the retransmission may overtake the packet that is merely late.
//!
//! What cannot be told: a late packet that comes just where the sender, going back, would have sent it
//! again, when it goes back once more before it does. That looks like a loss, and is called one.
//!
//! Everything is of fixed size, and what crosses a function border is a plain word: see
//! [`crate::wire::VlanTags`] for the reason.

mod acknowledge;
mod acks;
mod behind;
mod bits;
mod border;
mod burst;
mod histogram;
mod holes;
mod hull;
mod ladder;
mod observe;
mod packet;
mod pending;
mod state;
mod totals;
mod window;
mod word;

pub use acks::AckState;
pub use histogram::{DISTANCE_BUCKETS, Histograms, RTT_BUCKETS};
pub use ladder::{RetryLadder, RewindCause, RewindEpisode};
pub use observe::Sequence;
pub use packet::{PacketClass, SequenceKind, SequencePacket, SequenceTraits, read_span};
pub use state::SequenceState;
pub use totals::SequenceTotals;
pub use window::Window;
pub use word::SequenceWord;

/// Larger steps forward than this are a new sequence, not a loss.
pub const MAX_GAP: u32 = (1 << 16) - 1;
/// Larger steps back than this are a new sequence, not a retransmission.
pub const MAX_REWIND: u32 = 1 << 20;
/// PSNs behind the next one that an answer may be for.
pub const MAX_OUTSTANDING: i32 = 1 << 12;
/// After this many microseconds of silence, a PSN ahead of its turn is a new start.
pub const IDLE: u32 = 2_000_000;
/// And so is one this far behind its turn, if it starts a message.
pub const MIN_RESTART: u32 = 4096;
/// Shortest silence before a repeat that is called a timeout, in microseconds: below what any NIC waits.
pub const MIN_TIMEOUT: u32 = 3_000;
/// Time during which a packet that was only late may still follow its own retransmission, in units of
/// 1,024 microseconds.
pub const GRACE: u16 = 10;
