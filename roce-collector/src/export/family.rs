//! Writing one family of metrics.

use std::borrow::Cow;
use std::fmt;

use prometheus_client::encoding::{
    DescriptorEncoder, EncodeCounterValue, EncodeGaugeValue, NoLabelSet,
};
use prometheus_client::metrics::MetricType;

use crate::sweep::Durations;

/// Labels of one series.
pub(crate) type Labels<'a, const N: usize> = [(&'static str, Cow<'a, str>); N];

/// Writes a counter with its series; nothing when there are none. `_total` is added to the name.
pub(crate) fn counter<'a, const N: usize>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    series: impl IntoIterator<Item = (Labels<'a, N>, impl EncodeCounterValue)>,
) -> fmt::Result {
    let mut series = series.into_iter().peekable();
    if series.peek().is_none() {
        return Ok(());
    }
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
    for (labels, value) in series {
        family.encode_family(&labels)?.encode_counter::<NoLabelSet, _, u64>(&value, None)?;
    }
    Ok(())
}

/// Writes a gauge with its series; nothing when there are none.
pub(crate) fn gauge<'a, const N: usize>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    series: impl IntoIterator<Item = (Labels<'a, N>, impl EncodeGaugeValue)>,
) -> fmt::Result {
    let mut series = series.into_iter().peekable();
    if series.peek().is_none() {
        return Ok(());
    }
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for (labels, value) in series {
        family.encode_family(&labels)?.encode_gauge(&value)?;
    }
    Ok(())
}

/// Writes a histogram.
pub(crate) fn histogram(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    durations: &Durations,
) -> fmt::Result {
    encoder
        .encode_descriptor(name, help, None, MetricType::Histogram)?
        .encode_histogram::<NoLabelSet>(
            durations.sum,
            durations.count(),
            &durations.classes(),
            None,
        )
}

/// Writes histograms with labels, each with its sum and what lies in each class, by upper bound, the last
/// without one; nothing when there are none.
pub(crate) fn distribution<'a, const N: usize, const CLASSES: usize>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    series: impl IntoIterator<Item = (Labels<'a, N>, f64, [(f64, u64); CLASSES])>,
) -> fmt::Result {
    let mut series = series.into_iter().peekable();
    if series.peek().is_none() {
        return Ok(());
    }
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Histogram)?;
    for (labels, sum, classes) in series {
        let count = classes.iter().map(|(_, count)| count).sum();
        family
            .encode_family(&labels)?
            .encode_histogram::<NoLabelSet>(sum, count, &classes, None)?;
    }
    Ok(())
}

/// One label.
pub(crate) fn label<'a>(
    name: &'static str,
    value: impl Into<Cow<'a, str>>,
) -> (&'static str, Cow<'a, str>) {
    (name, value.into())
}
