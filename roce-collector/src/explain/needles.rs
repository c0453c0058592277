//! Which lines may matter: one search over the bytes, before anything else looks at them.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, AhoCorasickKind};
use memchr::memmem::Finder;

use super::status::UNMISTAKABLE;

/// Every form of [`super::producers`] has one of these, whatever its case.
const NEEDLES: [&str; 55] = [
    "got completion",
    "got cqe with error",
    "async event",
    "async fatal event",
    "gid table changed",
    "(synd 0x",
    " wqe[",
    "[rqpn 0x",
    "vendor_err",
    "vendor err",
    "vendor syndrome",
    "srq-attached qp",
    "wc error",
    "dump error cqe",
    "error cqe on cqn",
    "cqe_dump:",
    "cq error on",
    ": qp ",
    "_qp(0x",
    "failed with status",
    "error recovery",
    "reconnect",
    "connect rejected",
    "rdma connection establishment",
    "failed to connect queue",
    "error on cq ",
    "completion with error at",
    "scnt=",
    "syndrom ",
    "failed status",
    "status number ",
    "prov_err",
    "provider errno",
    "cq processed req",
    "req_err=",
    "bad icrc from",
    "qp#",
    "timed out rdma",
    "tx -> ",
    "rx from ",
    "link down",
    "link is down",
    "link up",
    "link is up",
    "dto completion",
    "bad completion with status",
    "(wr_cqe",
    "error. status='",
    "cq completion status",
    " qid ",
    " on qp ",
    "ib qp event",
    "capsule size less than",
    "insufficient power",
    "port module event",
];

static SEARCH: LazyLock<AhoCorasick> = LazyLock::new(|| {
    AhoCorasickBuilder::new()
        .ascii_case_insensitive(true)
        // A few hundred kilobytes for a search that costs the same for every text.
        .kind(Some(AhoCorasickKind::DFA))
        .build(NEEDLES.iter().copied().chain(UNMISTAKABLE.iter().map(|(_, words)| *words)))
        .expect("a few dozen short needles fit into an automaton")
});

/// Stands in every line in which this project tells what it read elsewhere: a collector that reads the logs of
/// its node finds its own among them, and must not tell the same failure again and again.
pub(crate) const OWN_MARK: &str = "told-by-roce-collector";

static OWN: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(OWN_MARK));

/// Whether a line is one of this project's own.
pub(super) fn is_own(line: &[u8]) -> bool {
    OWN.find(line).is_some()
}

/// Where the first needle in `bytes` ends.
pub(super) fn find(bytes: &[u8]) -> Option<usize> {
    // The earliest end is found without looking further for a longer match.
    SEARCH.find(bytes).map(|found| found.end())
}

/// Whether a line may matter.
pub(crate) fn is_candidate(line: &[u8]) -> bool {
    SEARCH.is_match(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates() {
        assert!(is_candidate(b"x NCCL WARN NET/IB : Got completion with error 12"));
        assert!(is_candidate(b"TRANSPORT RETRY COUNTER EXCEEDED"));
        assert!(!is_candidate(
            b"h:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] [send] via NET/IB/0/GDRDMA"
        ));
        assert_eq!(find(b"\xff\xfe scnt=1"), Some(8));
    }

    #[test]
    fn what_was_told_before_is_not_told_again() {
        let error = "NET/IB : Got completion with error 12, opcode 1, len 0, vendor err 129";
        let own = format!(r#"{{"origin":"{OWN_MARK}","timeline":[{{"what":"{error}"}}]}}"#);
        let wrapped = serde_json::json!({ "log": own, "stream": "stderr" }).to_string();
        for line in [own, wrapped] {
            let mut decoder =
                crate::explain::Decoder::new(crate::explain::DecoderLimits::default());
            assert_eq!(decoder.line(line.as_bytes(), 1).count(), 0);
            assert_eq!(decoder.finish().count(), 0, "{line}");
        }
        let mut decoder = crate::explain::Decoder::new(crate::explain::DecoderLimits::default());
        let found = decoder.line(error.as_bytes(), 1).count() + decoder.finish().count();
        assert_eq!(found, 1);
    }
}
