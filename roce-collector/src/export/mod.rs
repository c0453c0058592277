//! Metrics in the text formats of OpenMetrics and Prometheus. The only module that knows the metrics
//! library.
//!
//! A scrape is rendered from one [`Snapshot`]; nothing is read or locked for it. Each family of metrics
//! has its name, meaning and values in one place: [`taps`], [`sequences`], [`peers`], [`qps`], [`flows`],
//! [`collector`].
//!
//! What is not known has no series: a direction that nothing is attached to exports none, rather than 0.

mod collector;
pub(crate) mod family;
mod flows;
mod peers;
mod qps;
mod sequences;
mod snapshot;
mod taps;

use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, prometheus_text, text};
use prometheus_client::registry::Registry;

use crate::bpf::qp_watch;
use crate::{incident, inventory, logs, recorder};
pub use snapshot::{HookLabel, ProgramRuns, Snapshot, direction as direction_of_tap};

/// Form of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// Prometheus text format 0.0.4, for older scrapers.
    Prometheus,
}

impl Format {
    /// The form that the `Accept` header of a request asks for: OpenMetrics unless only plain text will do.
    pub fn accepted(accept: Option<&str>) -> Self {
        match accept {
            Some(accept)
                if accept.contains("text/plain") && !accept.contains("openmetrics-text") =>
            {
                Self::Prometheus
            }
            _ => Self::OpenMetrics,
        }
    }

    /// Value of the `Content-Type` header.
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Prometheus => prometheus_text::CONTENT_TYPE,
        }
    }
}

/// All metrics as text.
///
/// # Errors
/// None but those of the metrics library, which has no reason for one when it writes to memory.
pub fn render(snapshot: &Arc<Snapshot>, format: Format) -> Result<String, fmt::Error> {
    let mut registry = Registry::with_prefix("roce");
    registry.register_collector(Box::new(All(Arc::clone(snapshot))));
    let mut out = String::new();
    match format {
        Format::OpenMetrics => text::encode(&mut out, &registry)?,
        Format::Prometheus => prometheus_text::encode(&mut out, &registry)?,
    }
    Ok(out)
}

#[derive(Debug)]
struct All(Arc<Snapshot>);

impl Collector for All {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Self(snapshot) = self;
        taps::encode(snapshot, &mut encoder)?;
        sequences::encode(snapshot, &mut encoder)?;
        peers::encode(snapshot, &mut encoder)?;
        qps::encode(snapshot, &mut encoder)?;
        flows::encode(snapshot, &mut encoder)?;
        collector::encode(snapshot, &mut encoder)?;
        if let Some(figures) = &snapshot.inventory {
            inventory::metrics::encode(figures, &mut encoder)?;
        }
        if let Some(figures) = &snapshot.incidents {
            incident::metrics::encode(figures, &mut encoder)?;
        }
        if let Some(figures) = &snapshot.qp_watch {
            qp_watch::metrics::encode(figures, &mut encoder)?;
        }
        if let Some(counts) = &snapshot.recorder {
            let unrecorded = snapshot.view.taps.iter().map(|tap| tap.frames_unrecorded).sum();
            recorder::metrics::encode(counts, unrecorded, &mut encoder)?;
        }
        match &snapshot.logs {
            Some(counters) => logs::metrics::encode(counters, &mut encoder),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
