//! Metrics of the probes on queue pairs.

use std::fmt;

use prometheus_client::encoding::DescriptorEncoder;
use roce_common::qp_watch::LostRecords;

use super::{Point, QpFailure, QpFailureKind};
use crate::export::family::{counter, gauge, label};

/// What is exported. Where nobody asked for probes there is none of it.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// Which points are watched.
    pub points: Vec<(Point, bool)>,
    /// What was told, in the order of the kinds.
    pub told: [u64; 4],
    /// What the probes could not tell.
    pub lost: LostRecords,
    /// Records that were none.
    pub damaged: u64,
    /// What nobody took in time.
    pub not_taken: u64,
}

const KINDS: [QpFailureKind; 4] = [
    QpFailureKind::ModifiedToErr,
    QpFailureKind::DriverError,
    QpFailureKind::AsyncEvent(0),
    QpFailureKind::Destroyed,
];

impl Figures {
    /// Whether something of this kind would be seen now.
    fn sees(&self, kind: QpFailureKind) -> bool {
        self.points.iter().any(|(point, is_watched)| *is_watched && point.tells(kind))
    }

    /// Counts what was told.
    pub fn count(&mut self, failure: &QpFailure) {
        let place = KINDS.iter().position(|kind| kind.name() == failure.what.name());
        if let Some(told) = place.and_then(|place| self.told.get_mut(place)) {
            *told += 1;
        }
    }
}

/// Writes all families.
pub(crate) fn encode(figures: &Figures, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    gauge(
        encoder,
        "collector_qp_watch",
        "Whether a probe is on a function of the kernel that changes queue pairs: 1, or 0 where the kernel \
         does not allow it, or has not loaded its module; then errors between two looks are missed",
        figures
            .points
            .iter()
            .map(|(point, is_watched)| ([label("program", point.name())], u64::from(*is_watched))),
    )?;
    counter(
        encoder,
        "collector_qp_watch_events",
        "What the probes on queue pairs told, by kind",
        KINDS
            .iter()
            .zip(figures.told)
            .filter(|(kind, told)| *told > 0 || figures.sees(**kind))
            .map(|(kind, told)| ([label("what", kind.name())], told)),
    )?;
    if figures.told == [0; 4] && !figures.points.iter().any(|(_, is_watched)| *is_watched) {
        return Ok(());
    }
    let lost = [
        ("rate_limit", figures.lost.limited),
        ("ring_full", figures.lost.ring_full),
        ("unreadable", figures.lost.unreadable),
        ("damaged_record", figures.damaged),
        ("not_taken", figures.not_taken),
    ];
    counter(
        encoder,
        "collector_qp_watch_lost",
        "What the probes on queue pairs saw and could not tell, by reason",
        lost.map(|(reason, events)| ([label("reason", reason)], events)),
    )
}

#[cfg(test)]
mod tests;
