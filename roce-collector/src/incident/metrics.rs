//! Metrics of incidents.

use std::borrow::Cow;
use std::fmt;

use prometheus_client::encoding::DescriptorEncoder;

use super::{CorrelatorCounts, Incident};
use crate::export::family::{counter, label};

/// What is exported. A collector without error sources has none.
#[derive(Clone, Debug, Default)]
pub struct IncidentFigures {
    /// Queue pairs that died.
    pub errors: Vec<(ErrorLabels, u64)>,
    /// Incidents by what became of the queue pair as it was told first.
    pub outcomes: Vec<(&'static str, u64)>,
    /// What became of signals.
    pub signals: CorrelatorCounts,
}

/// By what errors are told apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ErrorLabels {
    device: Cow<'static, str>,
    status: Cow<'static, str>,
    vendor_err: Cow<'static, str>,
    cause: &'static str,
}

impl ErrorLabels {
    pub(super) fn of(incident: &Incident) -> Self {
        let device = incident.device.clone();
        let status = incident.status.as_ref().map(|status| status.code.to_string());
        let vendor_err = incident.vendor_err.as_ref().map(|code| code.hex.clone());
        let known =
            |value: Option<String>, unknown| value.map_or(Cow::Borrowed(unknown), Cow::Owned);
        Self {
            device: known(device, "unknown"),
            status: known(status, "none"),
            vendor_err: known(vendor_err, "none"),
            cause: incident.verdict.id.id(),
        }
    }

    /// Of errors that there is no series for.
    pub(crate) const fn other() -> Self {
        let other = Cow::Borrowed("other");
        Self {
            device: Cow::Borrowed("other"),
            status: Cow::Borrowed("other"),
            vendor_err: other,
            cause: "other",
        }
    }
}

/// Writes all families.
pub(crate) fn encode(
    figures: &IncidentFigures,
    encoder: &mut DescriptorEncoder<'_>,
) -> fmt::Result {
    counter(
        encoder,
        "qp_errors",
        "Queue pairs that died, each once, by the status and vendor code of the failed work completion and by \
         the cause that was found first",
        figures.errors.iter().map(|(labels, errors)| {
            let labels = [
                label("device", &*labels.device),
                label("status", &*labels.status),
                label("vendor_err", &*labels.vendor_err),
                label("cause", labels.cause),
            ];
            (labels, *errors)
        }),
    )?;
    counter(
        encoder,
        "incidents",
        "Incidents by what had become of the queue pair when it was told of first",
        figures
            .outcomes
            .iter()
            .map(|(outcome, incidents)| ([label("outcome", *outcome)], *incidents)),
    )?;
    let CorrelatorCounts {
        signals,
        context,
        failures: _,
        revisions,
        teardowns,
        early,
        failed_left_out,
        closed_early,
        context_left_out,
        lost,
    } = figures.signals;
    let events = [
        ("signal", signals),
        ("context", context),
        ("revision", revisions),
        ("teardown", teardowns),
        ("early", early),
        ("closed_early", closed_early),
        ("failed_qp_left_out", failed_left_out),
        ("context_left_out", context_left_out),
        ("lost", lost),
    ];
    counter(
        encoder,
        "incident_events",
        "What happened to signals of error sources on their way to incidents",
        events.map(|(event, count)| ([label("event", event)], count)),
    )
}
