//! How far the peer has acknowledged.

use roce_common::sequence::AckState;
use serde::{Deserialize, Serialize};

/// What the last acknowledgements of a flow's requests say.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AcknowledgedReport {
    /// Highest PSN acknowledged.
    pub psn: u32,
    /// Message sequence number of the last answer: messages that the responder has completed, modulo 2^24.
    pub msn: u32,
    /// Credit code of the last ACK; `null` where credits are not used.
    pub credits: Option<u8>,
    /// PSNs that one answer acknowledged, on average: more than 1 where ACKs are coalesced.
    pub psns_per_answer: f64,
}

impl AcknowledgedReport {
    /// Where credits are not used, this stands for them.
    const UNUSED: u8 = 31;

    /// The report of a record of requests; `None` before the first acknowledgement.
    pub fn of(acks: &AckState) -> Option<Self> {
        let credits = acks.credits();
        let average = f64::from(acks.acknowledged_psns) / f64::from(acks.acks.max(1));
        Some(Self {
            psn: acks.acknowledged()?.get(),
            msn: acks.msn(),
            credits: (credits != Self::UNUSED).then_some(credits),
            psns_per_answer: (average * 100.0).round() / 100.0,
        })
    }
}
