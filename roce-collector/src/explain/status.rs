//! Status of a work completion.

use std::fmt;

use super::text::find_ignoring_case;

/// Status of a work completion: `enum ibv_wc_status` of libibverbs, and the same numbers in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WcStatus(u8);

/// Name, then the words that libraries print: libibverbs first, then the kernel, UCX, Open MPI.
const STATUSES: [(&str, &[&str]); 22] = [
    ("IBV_WC_SUCCESS", &["success"]),
    ("IBV_WC_LOC_LEN_ERR", &["local length error"]),
    ("IBV_WC_LOC_QP_OP_ERR", &["local QP operation error"]),
    ("IBV_WC_LOC_EEC_OP_ERR", &["local EE context operation error", "local EEC operation error"]),
    ("IBV_WC_LOC_PROT_ERR", &["local protection error", "local protocol error"]),
    (
        "IBV_WC_WR_FLUSH_ERR",
        &["work request flushed error", "WR flushed because QP in error state", "WR flushed"],
    ),
    (
        "IBV_WC_MW_BIND_ERR",
        &[
            "memory management operation error",
            "memory bind operation error",
            "memory window bind error",
        ],
    ),
    ("IBV_WC_BAD_RESP_ERR", &["bad response error", "bad response"]),
    ("IBV_WC_LOC_ACCESS_ERR", &["local access error"]),
    (
        "IBV_WC_REM_INV_REQ_ERR",
        &["remote invalid request error", "invalid request error", "invalid request"],
    ),
    ("IBV_WC_REM_ACCESS_ERR", &["remote access error"]),
    ("IBV_WC_REM_OP_ERR", &["remote operation error", "remote QP operation error"]),
    (
        "IBV_WC_RETRY_EXC_ERR",
        &[
            "transport retry counter exceeded",
            "transport retry count exceeded",
            "retry exceeded error",
        ],
    ),
    (
        "IBV_WC_RNR_RETRY_EXC_ERR",
        &[
            "RNR retry counter exceeded",
            "receive-no-ready retry count exceeded",
            "receiver not ready retry exceeded error",
        ],
    ),
    ("IBV_WC_LOC_RDD_VIOL_ERR", &["local RDD violation error", "local RDD violation"]),
    ("IBV_WC_REM_INV_RD_REQ_ERR", &["remote invalid RD request", "invalid read request error"]),
    ("IBV_WC_REM_ABORT_ERR", &["aborted error", "remote side aborted", "remote abort"]),
    ("IBV_WC_INV_EECN_ERR", &["invalid EE context number", "invalid EEC number error"]),
    ("IBV_WC_INV_EEC_STATE_ERR", &["invalid EE context state", "invalid EEC state"]),
    ("IBV_WC_FATAL_ERR", &["fatal error"]),
    ("IBV_WC_RESP_TIMEOUT_ERR", &["response timeout error", "response timeout"]),
    ("IBV_WC_GENERAL_ERR", &["general error"]),
];

/// Words that mean nothing else, wherever they stand.
pub(super) const UNMISTAKABLE: [(WcStatus, &str); 12] = [
    (WcStatus::RETRY_EXC, "transport retry counter exceeded"),
    (WcStatus::RETRY_EXC, "transport retry count exceeded"),
    (WcStatus::RNR_RETRY_EXC, "RNR retry counter exceeded"),
    (WcStatus::RNR_RETRY_EXC, "receive-no-ready retry count exceeded"),
    (WcStatus::WR_FLUSH, "work request flushed error"),
    (WcStatus::LOC_PROT, "local protection error"),
    (WcStatus::LOC_QP_OP, "local QP operation error"),
    (WcStatus::REM_INV_REQ, "remote invalid request error"),
    (WcStatus::REM_ACCESS, "remote access error"),
    (WcStatus::REM_OP, "remote operation error"),
    (WcStatus::MW_BIND, "memory management operation error"),
    (WcStatus::MW_BIND, "memory bind operation error"),
];

impl WcStatus {
    /// Local length error.
    pub const LOC_LEN: Self = Self(1);
    /// Local QP operation error.
    pub const LOC_QP_OP: Self = Self(2);
    /// Local protection error.
    pub const LOC_PROT: Self = Self(4);
    /// Work request flushed: a consequence, never a cause.
    pub const WR_FLUSH: Self = Self(5);
    /// Memory window bind error.
    pub const MW_BIND: Self = Self(6);
    /// Unexpected response from the peer.
    pub const BAD_RESP: Self = Self(7);
    /// Local access error.
    pub const LOC_ACCESS: Self = Self(8);
    /// The peer refused the request as invalid.
    pub const REM_INV_REQ: Self = Self(9);
    /// The peer refused access to its memory.
    pub const REM_ACCESS: Self = Self(10);
    /// The peer could not complete the request.
    pub const REM_OP: Self = Self(11);
    /// No acknowledgement, also after all retries.
    pub const RETRY_EXC: Self = Self(12);
    /// The peer was never ready to receive.
    pub const RNR_RETRY_EXC: Self = Self(13);
    /// The peer aborted the operation.
    pub const REM_ABORT: Self = Self(16);
    /// None of the others.
    pub const GENERAL: Self = Self(21);

    /// From its number; success is no error and has no value here, nor has a number without a name.
    pub const fn new(code: u64) -> Option<Self> {
        if code == 0 || code >= STATUSES.len() as u64 { None } else { Some(Self(code as u8)) }
    }

    /// Its number.
    pub const fn code(self) -> u8 {
        self.0
    }

    /// Its name in libibverbs.
    pub fn name(self) -> &'static str {
        STATUSES[usize::from(self.0)].0
    }

    /// What libibverbs prints for it.
    pub fn words(self) -> &'static str {
        STATUSES[usize::from(self.0)].1[0]
    }

    /// The status of `words`, which stand where a status belongs: a name or what a library prints for it.
    pub(super) fn from_words(words: &str) -> Option<Self> {
        let words = words.trim();
        let position = STATUSES.iter().position(|(name, phrases)| {
            name.eq_ignore_ascii_case(words)
                || phrases.iter().any(|phrase| phrase.eq_ignore_ascii_case(words))
        })?;
        Self::new(position as u64)
    }

    /// The status whose words stand anywhere in `text`.
    pub(super) fn mentioned_in(text: &str) -> Option<Self> {
        let mut words = UNMISTAKABLE.iter();
        let found = words.find(|(_, words)| find_ignoring_case(text, words).is_some());
        found.map(|(status, _)| *status)
    }

    /// The status that mlx5 drivers make of a CQE's syndrome (rdma-core and kernel, mlx5 `cq.c`).
    pub(super) const fn from_mlx5_syndrome(syndrome: u8) -> Option<Self> {
        Some(match syndrome {
            0x01 => Self::LOC_LEN,
            0x02 => Self::LOC_QP_OP,
            0x04 => Self::LOC_PROT,
            0x05 => Self::WR_FLUSH,
            0x06 => Self::MW_BIND,
            0x10 => Self::BAD_RESP,
            0x11 => Self::LOC_ACCESS,
            0x12 => Self::REM_INV_REQ,
            0x13 => Self::REM_ACCESS,
            0x14 => Self::REM_OP,
            0x15 => Self::RETRY_EXC,
            0x16 => Self::RNR_RETRY_EXC,
            0x22 => Self::REM_ABORT,
            _ => return None,
        })
    }
}

impl fmt::Display for WcStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name(), self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names() {
        assert_eq!(WcStatus::new(12), Some(WcStatus::RETRY_EXC));
        assert_eq!(WcStatus::RETRY_EXC.to_string(), "IBV_WC_RETRY_EXC_ERR (12)");
        assert_eq!((WcStatus::new(0), WcStatus::new(22)), (None, None));
        assert_eq!(WcStatus::new(21), Some(WcStatus::GENERAL));
    }

    #[test]
    fn words_of_every_library() {
        for (words, status) in [
            ("Transport retry count exceeded", WcStatus::RETRY_EXC),
            ("RETRY EXCEEDED ERROR", WcStatus::RETRY_EXC),
            ("IBV_WC_RETRY_EXC_ERR", WcStatus::RETRY_EXC),
            ("WR flushed", WcStatus::WR_FLUSH),
            ("Work Request Flushed Error", WcStatus::WR_FLUSH),
            ("memory bind operation error", WcStatus::MW_BIND),
            ("Receive-no-ready retry count exceeded", WcStatus::RNR_RETRY_EXC),
            ("Remote access error", WcStatus::REM_ACCESS),
        ] {
            assert_eq!(WcStatus::from_words(words), Some(status), "{words}");
        }
        assert_eq!(WcStatus::from_words("success"), None);
        assert_eq!(WcStatus::from_words("404 Not Found"), None);
    }

    #[test]
    fn words_inside_a_sentence() {
        let text = "poll: RNR Retry Counter Exceeded, giving up";
        assert_eq!(WcStatus::mentioned_in(text), Some(WcStatus::RNR_RETRY_EXC));
        assert_eq!(WcStatus::mentioned_in("a fatal error, a bad response"), None);
    }
}
