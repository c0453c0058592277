//! libfabric over verbs: the provider's error number is the status. Vendor codes are dropped there.

use super::Found;
use crate::explain::record::{ErrorRecord, Producer};
use crate::explain::status::WcStatus;
use crate::explain::text::{after, between, decimal, find_ignoring_case};

/// `fi_cq_readerr: err: 5, prov_err: remote access error (10)`,
/// `cq_readerr 5 (Input/output error), provider errno: 12 (transport retry counter exceeded)`,
/// `cq_readerr (Provider errno: 12) : transport retry counter exceeded`, `prov_errno: 5`.
pub(super) fn parse(message: &str) -> Option<Found> {
    let mut record = ErrorRecord::new(Producer::Libfabric);
    if let Some(rest) = after(message, "prov_err: ") {
        let (words, code) = rest.split_once(" (")?;
        record.status = same(WcStatus::new(decimal(code)?)?, words);
    } else {
        let at = ["provider errno", "prov_errno"]
            .into_iter()
            .find_map(|name| find_ignoring_case(message, name).map(|at| at + name.len()))?;
        let rest = &message[at..];
        let code = decimal(rest.trim_start_matches([':', ' ', '=']))?;
        let words = between(rest, "(", ")").or_else(|| after(rest, ") : ")).unwrap_or_default();
        record.status = same(WcStatus::new(code)?, words);
    }
    record.status?;
    Some(Found::whole(record))
}

/// Other providers have other numbers: where words are printed, they must be those of the number.
fn same(status: WcStatus, words: &str) -> Option<WcStatus> {
    let said = WcStatus::from_words(words).or_else(|| WcStatus::mentioned_in(words));
    (words.trim().is_empty() || said == Some(status)).then_some(status)
}
