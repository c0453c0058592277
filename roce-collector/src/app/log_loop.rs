//! Error lines of the log sources, decoded and told in the collector's own log.

use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{MissedTickBehavior, interval};

use crate::explain::{Cause, ErrorRecord, Severity, WcStatus};
use crate::logs::{LogDecoders, LogSources, now};

/// Time between two looks for sources that have fallen silent.
const TICK: Duration = Duration::from_millis(250);

/// Decodes lines until every source has ended, or until `stopped`.
pub(super) async fn decode(mut sources: LogSources, mut stopped: oneshot::Receiver<()>) {
    let mut decoders = LogDecoders::default();
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut has_ended = false;
    while !has_ended {
        let records = tokio::select! {
            line = sources.lines.recv() => {
                has_ended = line.is_none();
                line.map(|line| decoders.line(&line, now())).unwrap_or_default()
            }
            _ = &mut stopped => {
                has_ended = true;
                Vec::new()
            }
            _ = ticks.tick() => decoders.idle(now()),
        };
        for (source, record) in &records {
            tell(source, record);
        }
    }
    let mut records = Vec::new();
    while let Ok(line) = sources.lines.try_recv() {
        records.extend(decoders.line(&line, now()));
    }
    records.extend(decoders.finish());
    for (source, record) in &records {
        tell(source, record);
    }
}

fn tell(source: &str, record: &ErrorRecord) {
    macro_rules! tell {
        ($level:ident) => {
            tracing::$level!(
                source,
                line = record.line,
                lines = record.lines,
                time = record.time.map(tracing::field::display),
                producer = record.producer.name(),
                status = record.status.map(WcStatus::name),
                event = record.event.as_ref().map(|event| event.name()),
                vendor_err = record.vendor_err.map(|code| format!("{code:#04x}")),
                cause = record.cause().map(Cause::id),
                device = record.device,
                local_qp = record.local.qp,
                peer_qp = record.peer.qp,
                peer = record.peer_rdma_ip().map(tracing::field::display),
                "{}",
                record.meaning()
            )
        };
    }
    match record.severity() {
        Severity::Error => tell!(error),
        Severity::Secondary => tell!(warn),
        Severity::Info => tell!(info),
    }
}
