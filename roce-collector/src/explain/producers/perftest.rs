//! perftest. "syndrom" is its spelling; the code is hexadecimal.

use super::{Found, Sequel};
use crate::explain::event::Event;
use crate::explain::record::{ErrorRecord, Producer};
use crate::explain::status::WcStatus;
use crate::explain::text::{after, between, decimal, decimal_after, hexadecimal_after};

pub(super) fn parse(message: &str) -> Option<Found> {
    let mut record = ErrorRecord::new(Producer::Perftest);
    if message.starts_with("Completion with error at ") {
        record.event = Some(Event::error_cqe());
        return Some(Found::whole(record).then(Sequel::PerftestStatus));
    }
    if let Some(posted) = decimal_after(message, "scnt=") {
        record.posted = Some(posted);
        record.completed = decimal_after(message, "ccnt=");
        return Some(Found::whole(record).tail_of(Sequel::PerftestCounts));
    }
    let code = hexadecimal_after(message, " syndrom ")?;
    let rest = after(message, "Failed status")?;
    // `Failed status 12: wr_id 0 syndrom 0x81`, `Failed status-words (12): wr_id 0 syndrom 0x81`.
    let (format, status) = match decimal(rest) {
        Some(status) => ("perftest old", status),
        None => ("perftest new", between(rest, "(", ")").and_then(decimal)?),
    };
    record.producer_format = Some(format);
    record.status = WcStatus::new(status);
    record.vendor_err = Some(code as u32);
    record.wr_id = decimal_after(rest, "wr_id ");
    let found = Found::whole(record).continuing(Sequel::PerftestStatus);
    Some(found.then(Sequel::PerftestCounts))
}
