//! What taps saw of one connection, from its requester to its responder.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Outcome;
use crate::capture::Timestamp;
use crate::flow::{NakReport, SequenceReport};

/// What was seen at all.
#[derive(Clone, Debug, Default)]
pub enum Sight {
    /// Nobody looked: there is a log alone.
    #[default]
    NotLooked,
    /// Somebody looked where no packets can be seen; the reason in words.
    Blind(String),
    /// Taps saw packets, and none of this connection.
    NotFound,
    /// What each tap saw.
    Seen(Vec<TapSight>),
}

/// What one tap saw of a connection.
#[derive(Clone, Debug, Default)]
pub struct TapSight {
    /// Its name for people: `eth0 egress`, `capture.pcap`.
    pub tap: String,
    /// Where it is on the way.
    pub place: Place,
    /// Packets of the requester; `None` when there were none.
    pub requests: Option<Requests>,
    /// Answers of the responder; `None` when there were none.
    pub answers: Option<Answers>,
    /// Reason code with which the connection manager refused the connection (REJ), if one did.
    pub rejected: Option<u16>,
}

/// Where a tap is between requester and responder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// On the requester's host: what it sees has not yet been on the wire, answers have.
    AtRequester,
    /// On the responder's host.
    AtResponder,
    /// In between, or not known.
    #[default]
    OnTheWay,
}

/// Packets from the requester.
///
/// Counts are of the time around the failure where the source can tell it (live: the latest 120 s), else of
/// all that the tap saw of the connection.
#[derive(Clone, Debug, Default)]
pub struct Requests {
    /// Packets.
    pub packets: u64,
    /// When the last was seen.
    pub last_seen: Option<Timestamp>,
    /// What became of their PSNs; `None` where nobody could look.
    pub sequence: Option<SequenceReport>,
    /// The tries of the PSN that was tried most often; `None` when every PSN was answered at once.
    pub ladder: Option<Ladder>,
    /// Rewinds after silence to PSNs that this tap had seen acknowledged, since the last new PSN. Tries that
    /// nobody answered are in `ladder` instead.
    pub rewinds_after_ack: u32,
    /// Packets by ECN codepoint: not ECT, ECT(1), ECT(0), CE.
    pub ecn: [u64; 4],
    /// Packets by DSCP.
    pub dscp: BTreeMap<u8, u64>,
    /// Packets whose DSCP is not what the policy says.
    pub wrong_dscp: u64,
    /// Congestion notifications to the requester.
    pub cnps: u64,
    /// When congestion was told of last: by a CE mark or a congestion notification.
    pub last_congestion: Option<Timestamp>,
    /// Sizes that pass and sizes that do not.
    pub payload: Option<Payload>,
    /// Whether the responder was seen to end the connection (CM DREQ from it, or DREP to a DREQ of the requester)
    /// before the retry ladder began. A DREQ that the requester sends after its own failure does not count.
    pub was_disconnected: bool,
    /// Whether the tap was there when the connection began: it saw the messages of the connection manager, or the
    /// first packet came well after the tap's own start.
    pub is_from_start: bool,
}

/// Tries of one PSN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ladder {
    /// The oldest PSN that was sent again.
    pub psn: u32,
    /// How often it was sent again.
    pub tries: u32,
    /// When it was sent again first.
    pub first_try: Option<Timestamp>,
    /// From the first try to the last.
    pub age: Option<Duration>,
    /// The longest silence before a try.
    pub longest_silence: Duration,
    /// Whether it was acknowledged in the end.
    pub was_answered: bool,
}

/// Sizes of payloads, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload {
    /// The largest that is known to have been acknowledged, or sent in a time without trouble.
    pub passed: u32,
    /// That of the packets that are sent again and again.
    pub repeated: u32,
}

/// Answers from the responder.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    /// Packets: ACKs, NAKs, READ responses.
    pub packets: u64,
    /// When the last was seen.
    pub last_seen: Option<Timestamp>,
    /// NAKs by code; `None` where they were cut.
    pub naks: Option<NakReport>,
    /// RNR NAKs, likewise.
    pub rnr_naks: Option<u64>,
    /// RNR NAKs of the last PSN that was refused in a row, without an ACK in between. NAKs of sequence errors
    /// do not end the row: responders send them for the rest of a refused message.
    pub rnr_in_a_row: u64,
    /// Wait that the last one asked for, in milliseconds.
    pub rnr_timer_ms: Option<f64>,
    /// Answers since the retry ladder began; `None` when that cannot be told. One or two may be late answers to
    /// earlier requests.
    pub since_ladder: Option<u64>,
}

/// Other connections of the same two hosts, in the time around the failure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Neighbours {
    /// Other queue pairs from the requester's host to the responder's with packets in that time.
    pub to_peer: u32,
    /// Of these, those that got answers in that time.
    pub answered: u32,
    /// Of these, those that got none although they asked.
    pub unanswered: u32,
    /// Traffic of all connections between the hosts that is marked as the policy says.
    pub rightly_marked: Traffic,
    /// And of those that are not.
    pub wrongly_marked: Traffic,
    /// What is known of the responder's queue pair, where its host is looked at, too.
    pub peer_qp: PeerQp,
}

/// Packets and what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Packets.
    pub packets: u64,
    /// Lost.
    pub lost: u64,
    /// Sent again.
    pub retransmitted: u64,
}

/// The responder's queue pair as its own kernel lists it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PeerQp {
    /// Its host is not looked at.
    #[default]
    NotKnown,
    /// It is there and usable.
    Alive,
    /// It is in the error state.
    Failed,
    /// It went away before or with the failure.
    Gone,
}

impl Sight {
    /// What taps saw; empty when nothing was.
    pub fn taps(&self) -> &[TapSight] {
        match self {
            Self::Seen(taps) => taps,
            _ => &[],
        }
    }

    /// The tap at this place.
    pub fn at(&self, place: Place) -> Option<&TapSight> {
        self.taps().iter().find(|tap| tap.place == place)
    }

    /// Requests of every tap that saw any.
    pub fn requests(&self) -> impl Iterator<Item = &Requests> {
        self.taps().iter().filter_map(|tap| tap.requests.as_ref())
    }

    /// Answers of every tap that saw any.
    pub fn answers(&self) -> impl Iterator<Item = &Answers> {
        self.taps().iter().filter_map(|tap| tap.answers.as_ref())
    }

    /// The retry ladder with the most tries.
    pub fn ladder(&self) -> Option<Ladder> {
        self.requests().filter_map(|requests| requests.ladder).max_by_key(|ladder| ladder.tries)
    }

    /// What the taps alone say of the outcome.
    pub fn outcome(&self) -> Outcome {
        match self.ladder() {
            Some(ladder) if ladder.was_answered => Outcome::Recovered,
            Some(ladder) if ladder.tries > MOST_RETRIES => Outcome::Stalled,
            _ => Outcome::Unknown,
        }
    }
}

/// The 3-bit retry counter of a QP allows no more, IBTA 9.7.5.1.4: who goes on retries for ever.
pub(crate) const MOST_RETRIES: u32 = 7;
