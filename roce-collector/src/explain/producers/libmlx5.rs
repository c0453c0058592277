//! libmlx5 prints the completion queue entry, and nothing for flushed work and exhausted retries.

use super::{Found, Sequel};
use crate::explain::event::Event;
use crate::explain::record::{ErrorRecord, Producer};
use crate::explain::text::after;

/// `mlx5: host-a: got completion with error:`, before four rows of four words.
pub(super) fn parse(message: &str) -> Option<Found> {
    let rest = after(message, "mlx5: ")?;
    let (host, _) = rest.split_once(": got completion with error")?;
    let mut record = ErrorRecord::new(Producer::Libmlx5);
    record.host = Some(host.to_owned());
    record.event = Some(Event::error_cqe());
    Some(Found::whole(record).then(Sequel::CqeDump))
}
