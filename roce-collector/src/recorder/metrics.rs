//! Metrics of the flight recorder.

use std::fmt;

use prometheus_client::encoding::DescriptorEncoder;

use super::RecorderCounts;
use crate::export::family::{counter, label};

/// Writes all families; `unrecorded` are packets that the kernel had no recorder for.
pub(crate) fn encode(
    counts: &RecorderCounts,
    unrecorded: u64,
    encoder: &mut DescriptorEncoder<'_>,
) -> fmt::Result {
    let RecorderCounts { written, failed, removed, empty, overwritten } = *counts;
    counter(
        encoder,
        "recorder_incidents",
        "Incidents that the flight recorder was asked to write a capture file of, by what became of it",
        [("written", written), ("failed", failed), ("nothing_recorded", empty)]
            .map(|(outcome, incidents)| ([label("outcome", outcome)], incidents)),
    )?;
    counter(
        encoder,
        "recorder_files_removed",
        "Older capture files of the flight recorder that made room for others",
        [([], removed)],
    )?;
    counter(
        encoder,
        "recorder_frames_lost",
        "Packets of connections in trouble that the flight recorder does not have",
        [("no_recorder", unrecorded), ("overwritten", overwritten)]
            .map(|(reason, frames)| ([label("reason", reason)], frames)),
    )
}
