//! Error lines of the log sources, decoded and told in the collector's own log.

use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::{MissedTickBehavior, interval};

use crate::explain::{Cause, ErrorRecord, OWN_MARK, Severity, WcStatus};
use crate::logs::{LogDecoders, LogSources, SourcedRecord, now};

/// Time between two looks for sources that have fallen silent.
const TICK: Duration = Duration::from_millis(250);

/// Records that wait for the incidents. Beyond it decoding waits, and then the sources count what they lose.
pub(super) const MAX_RECORDS: usize = 4096;

/// Decodes lines until every source has ended, or until `stopped`; the records go to `incidents`.
pub(super) async fn decode(
    mut sources: LogSources,
    incidents: mpsc::Sender<SourcedRecord>,
    mut stopped: oneshot::Receiver<()>,
) {
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
        tell_all(records, &incidents).await;
    }
    let mut records = Vec::new();
    while let Ok(line) = sources.lines.try_recv() {
        records.extend(decoders.line(&line, now()));
    }
    records.extend(decoders.finish());
    tell_all(records, &incidents).await;
}

async fn tell_all(records: Vec<SourcedRecord>, incidents: &mpsc::Sender<SourcedRecord>) {
    for (source, record) in records {
        tell(&source, &record);
        // Nobody wants it any more when the collector ends.
        let _ = incidents.send((source, record)).await;
    }
}

fn tell(source: &str, record: &ErrorRecord) {
    macro_rules! tell {
        ($level:ident) => {
            tracing::$level!(
                origin = OWN_MARK,
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
