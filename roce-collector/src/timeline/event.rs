//! What can happen.

use serde::Serialize;

/// One thing that happened to the packets of one direction. PSNs are numbers below 2^24, times
/// microseconds; a time is `None` where the tap gave no times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Event {
    /// The first packet seen.
    First {
        /// Its operation.
        opcode: &'static str,
        /// Its PSN.
        psn: u32,
    },
    /// A PSN came before others that were due.
    Gap {
        /// The first PSN that was due.
        psn: u32,
        /// The last one before the packet that came.
        last: u32,
        /// How many of them are missing for certain.
        missing: u32,
    },
    /// Missing PSNs came.
    Filled {
        /// The first of them.
        psn: u32,
        /// The last.
        last: u32,
        /// How many.
        packets: u32,
        /// Since the gap.
        after_us: Option<u64>,
        /// Whether they were late by themselves.
        outcome: FillOutcome,
    },
    /// The sender went back and sent again.
    Rewind {
        /// Where it went back to.
        psn: u32,
        /// The last PSN sent again, or filled on the way.
        last: u32,
        /// Packets until it was where it had been, or until something else happened.
        packets: u32,
        /// Of these, packets that had been missing.
        filled: u32,
        /// The tap had seen that PSN acknowledged: the answer did not reach the sender, or too late. `false`
        /// also where that is not certain, and of READs: a later response says nothing of the one that is
        /// asked for again.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        was_acknowledged: bool,
        /// Why.
        #[serde(flatten)]
        cause: RewindCause,
    },
    /// Packets seen before came again, and it is not clear why.
    Repeated {
        /// The first PSN.
        psn: u32,
        /// The last.
        last: u32,
        /// How many.
        packets: u32,
    },
    /// A negative acknowledgement.
    Nak {
        /// What it says: `psn_sequence_error`, `remote_access_error`, ...
        code: &'static str,
        /// The PSN that the receiver waits for, or refuses.
        psn: u32,
    },
    /// The receiver had no receive posted.
    RnrNak {
        /// The PSN that it refuses.
        psn: u32,
        /// How long it wants the sender to wait.
        timer_us: u32,
    },
    /// The peer acknowledged PSNs that the tap did not see.
    Unseen {
        /// The PSN acknowledged.
        psn: u32,
        /// How many before it were missing.
        packets: u32,
    },
    /// The tap says that it lost packets, and PSNs were missing then.
    TapLost {
        /// How many.
        packets: u32,
    },
    /// PSNs that a NAK had asked for were acknowledged, and the tap never saw them come.
    LostUnseen {
        /// The PSN acknowledged.
        psn: u32,
        /// How many.
        packets: u32,
    },
    /// Fills decided long after they came, and not one for one.
    Late {
        /// How many of them were late by themselves.
        packets: u32,
    },
    /// Packets with a CE mark, with pauses of less than 100 ms.
    CeMarks {
        /// How many.
        packets: u32,
        /// From the first to the last.
        during_us: Option<u64>,
    },
    /// Congestion notifications, with pauses of less than 100 ms.
    Cnp {
        /// How many.
        packets: u32,
        /// From the first to the last.
        during_us: Option<u64>,
    },
    /// A frame with a wrong ICRC, which was not looked at.
    Damaged {
        /// The PSN that stands in it.
        psn: u32,
    },
    /// No packet of either QP for a while before this one.
    Silence {
        /// How long.
        silent_us: u64,
    },
    /// Connection manager: request for a connection.
    ConnectRequest {
        /// QP of the one who asks.
        qp: u32,
        /// First PSN that it will send.
        psn: u32,
    },
    /// Connection manager: the request was granted.
    ConnectReply {
        /// QP of the one who answers.
        qp: u32,
        /// First PSN that it will send.
        psn: u32,
    },
    /// Connection manager: the connection is ready to use.
    ReadyToUse,
    /// Connection manager: the request or the reply was refused.
    Reject {
        /// Reason code, IBTA 12.6.7.2.
        reason: u16,
    },
    /// Connection manager: one side wants to end the connection.
    DisconnectRequest {
        /// QP of the other side.
        qp: u32,
    },
    /// Connection manager: the other side agrees.
    DisconnectReply,
    /// The first acknowledgement or response.
    FirstAnswer {
        /// Its operation.
        opcode: &'static str,
        /// Its PSN.
        psn: u32,
    },
    /// The last acknowledgement or response.
    LastAnswer {
        /// Its operation.
        opcode: &'static str,
        /// Its PSN.
        psn: u32,
    },
    /// The last packet seen.
    Last {
        /// Its operation.
        opcode: &'static str,
        /// Its PSN.
        psn: u32,
    },
    /// Requests at the end that nobody answered, as far as the tap saw.
    Unanswered {
        /// The first PSN.
        psn: u32,
        /// The last.
        last: u32,
    },
    /// Nothing came any more.
    Nothing {
        /// Until the tap itself ended.
        silent_us: u64,
    },
    /// More happened than is kept.
    Omitted {
        /// Entries left out here.
        entries: u64,
    },
}

/// Why a sender went back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "cause", rename_all = "snake_case")]
pub enum RewindCause {
    /// A NAK asked for that PSN.
    Nak {
        /// Since the NAK.
        after_us: Option<u64>,
    },
    /// The wait that an RNR NAK asked for was over.
    Rnr {
        /// Since the RNR NAK.
        after_us: Option<u64>,
    },
    /// No answer came in time.
    Timeout {
        /// Silence before.
        silent_us: u64,
    },
    /// A READ that is asked for again from inside its own range: a response was lost.
    ImpliedNak,
    /// Neither a NAK nor silence was seen.
    Unexplained,
}

/// Why missing PSNs came after all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FillOutcome {
    /// Not decided.
    Open,
    /// They were late by themselves: no loss.
    Late,
    /// They had been lost and were sent again.
    SentAgain,
}

impl Event {
    /// What makes two events alike, whatever their figures are.
    pub(super) fn likeness(&self) -> impl PartialEq + use<> {
        let detail = match self {
            Self::Rewind { cause, was_acknowledged, .. } => {
                Some((std::mem::discriminant(cause), *was_acknowledged))
            }
            _ => None,
        };
        let code = match self {
            Self::Nak { code, .. } => Some(*code),
            _ => None,
        };
        (std::mem::discriminant(self), detail, code)
    }
}
