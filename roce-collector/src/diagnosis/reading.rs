//! What several rules ask of a case.

use super::{Answers, Case, Ladder, Verdict};
use crate::explain::WcStatus;
use crate::flow::NakReport;

/// Without a status, this many tries of one PSN are trouble. Fewer happen to healthy connections: a lost
/// packet at the end of a message takes one, and it lost again a second.
pub(super) const MIN_TRIES: u32 = 3;

/// Local ACK timeouts ran out without an answer: the only statuses that may be the network's fault.
fn is_silence(status: WcStatus) -> bool {
    const RESP_TIMEOUT: u8 = 20;
    status == WcStatus::RETRY_EXC || status.code() == RESP_TIMEOUT
}

/// The status, where it tells of a fault; flushes tell of none.
pub(super) fn status(case: &Case) -> Option<WcStatus> {
    case.failure.status.filter(|status| *status != WcStatus::WR_FLUSH)
}

/// Only flushes are known: whatever they follow from is not.
pub(super) fn is_flush(case: &Case) -> bool {
    status(case).is_none()
        && (case.failure.is_flush_only || case.failure.status == Some(WcStatus::WR_FLUSH))
}

/// A status, or a NAK on the wire, which no fault of the network brings forth: the request arrived and was
/// answered, or never left.
pub(super) fn clears_network(case: &Case) -> bool {
    status(case).is_some_and(|status| !is_silence(status)) || fatal_naks(case).total() > 0
}

/// NAKs after which a queue pair is in error, by code; none of sequence errors.
///
/// With a code that nobody defined the request arrived all the same.
pub(super) fn fatal_naks(case: &Case) -> NakReport {
    let naks = naks(case);
    NakReport { psn_sequence_error: 0, ..naks }
}

/// NAKs by code, of the tap that saw most of each.
pub(super) fn naks(case: &Case) -> NakReport {
    let seen = case.sight.answers().filter_map(|answers| answers.naks);
    seen.fold(NakReport::default(), |a, b| NakReport {
        psn_sequence_error: a.psn_sequence_error.max(b.psn_sequence_error),
        invalid_request: a.invalid_request.max(b.invalid_request),
        remote_access_error: a.remote_access_error.max(b.remote_access_error),
        remote_operational_error: a.remote_operational_error.max(b.remote_operational_error),
        invalid_rd_request: a.invalid_rd_request.max(b.invalid_rd_request),
        unknown: a.unknown.max(b.unknown),
    })
}

/// Answers were seen, and nobody knows which of them were NAKs.
pub(super) fn are_naks_cut(case: &Case) -> bool {
    let mut answers = case.sight.answers().peekable();
    answers.peek().is_some() && answers.all(|answers| answers.naks.is_none())
}

/// The retry ladder with the most tries that nobody has answered.
pub(super) fn open_ladder(case: &Case) -> Option<Ladder> {
    let ladders = case.sight.requests().filter_map(|requests| requests.ladder);
    ladders.filter(|ladder| !ladder.was_answered).max_by_key(|ladder| ladder.tries)
}

/// The requester gets no answer: it says so itself, or it is seen trying.
pub(super) fn is_silent(case: &Case) -> bool {
    case.failure.status.is_some_and(is_silence)
        || open_ladder(case).is_some_and(|ladder| ladder.tries >= MIN_TRIES)
        || case.sight.requests().any(|requests| requests.rewinds_after_ack >= MIN_TRIES)
}

/// Signs that packets were lost, apart from tries that nobody answered. One loss may be in all three.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Loss {
    /// PSNs that a tap saw missing.
    pub lost: u64,
    /// NAKs of sequence errors that neither an RNR NAK nor reordering explains.
    pub naks: u64,
    /// Rewinds of the sender: for a NAK, a response that did not come, or silence that ended.
    pub rewinds: u64,
}

impl Loss {
    pub(super) fn of(case: &Case) -> Self {
        let sequences = || case.sight.requests().filter_map(|requests| requests.sequence);
        let lost = sequences().map(|sequence| sequence.lost).max().unwrap_or(0);
        let rnr_naks = case.sight.answers().filter_map(|answers| answers.rnr_naks).max();
        // Late packets make a receiver send NAKs, and a sender go back, as lost ones do.
        let is_reordering = lost == 0 && sequences().any(|sequence| sequence.reordered > 0);
        if is_reordering {
            return Self::default();
        }
        let naks = naks(case).psn_sequence_error.saturating_sub(rnr_naks.unwrap_or(0));
        let tries = open_ladder(case).map_or(0, |ladder| u64::from(ladder.tries));
        let rewinds = sequences()
            .map(|sequence| sequence.go_back_n_episodes + sequence.timeouts.saturating_sub(tries))
            .max();
        let rewinds = if rnr_naks.unwrap_or(0) > 0 { naks } else { rewinds.unwrap_or(0) };
        Self { lost, naks, rewinds }
    }

    /// How many at least.
    pub(super) fn count(self) -> u64 {
        self.lost.max(self.naks).max(self.rewinds)
    }
}

/// The connection is in trouble of a kind that lost packets make.
pub(super) fn is_in_trouble(case: &Case) -> bool {
    is_silent(case) || Loss::of(case).count() > 0
}

/// Whether any answer was ever seen.
pub(super) fn was_ever_answered(case: &Case) -> bool {
    case.sight.answers().any(|answers: &Answers| answers.packets > 0)
        || case
            .sight
            .requests()
            .any(|requests| requests.ladder.is_some_and(|ladder| ladder.was_answered))
}

/// The network, and the hosts as far as they forward or drop: what [`clears_network`] acquits.
pub(super) const fn blames_network(verdict: Verdict) -> bool {
    !matches!(
        verdict,
        Verdict::AccessError
            | Verdict::RemoteOperationError
            | Verdict::ProtectionError
            | Verdict::ReceiverNotReady
            | Verdict::FlushSecondary
            | Verdict::Unknown
    )
}
