//! The daemon: what is started in which order, and how it ends.

mod host_loop;
mod incidents;
mod inventory_loop;
mod links;
mod log;
mod log_loop;
mod privileges;
mod qp_watch_loop;
mod sweep_loop;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::sync_channel;

use anyhow::{Context, Result, anyhow};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, oneshot, watch};

use crate::attach::LinkSource;
use crate::bpf::{self, AttachRequest, Attachments, Datapath, DatapathOptions};
use crate::cli::collector::Collector;
use crate::http::{ServerState, Status, serve};
use crate::logs::{LogLimits, LogSources};
use crate::recorder::FlightRecorder;
use host_loop::HostLoop;
use incidents::{IncidentSettings, Incidents, SignalSources};
use inventory_loop::InventoryLoop;
use links::Latest;
use qp_watch_loop::QpWatchLoop;
use sweep_loop::SweepLoop;

/// Questions for flows that may wait; see [`ServerState::flows`].
const QUESTIONS: usize = 4;

/// Runs until SIGTERM or SIGINT, or for `--check` until the table is printed.
///
/// # Errors
/// What keeps the collector from starting, or from going on.
pub fn run(collector: &Collector) -> Result<ExitCode> {
    log::start(collector.running.log_format);
    // One thread until privileges are dropped: Linux keeps them for each thread.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        if collector.check { check(collector).await } else { collect(collector).await }
    })
}

fn datapath_options(collector: &Collector) -> DatapathOptions {
    DatapathOptions {
        max_flows: collector.max_flows,
        // None at all is refused by name, when the interfaces are looked up.
        interfaces: collector.interfaces.len().max(1) as u32,
        marking: collector.marking.policy(),
        recorders: collector
            .recording
            .record
            .as_ref()
            .map_or(0, |_| collector.recording.record_qps),
    }
}

fn attach_request(collector: &Collector) -> AttachRequest {
    AttachRequest {
        interfaces: collector.interfaces.clone(),
        hook: collector.hook,
        direction: collector.direction,
        kernel: crate::attach::KernelFacts::default(),
    }
}

fn incident_settings(collector: &Collector) -> IncidentSettings {
    IncidentSettings {
        facts: collector.facts.clone(),
        log_format: collector.running.log_format,
        recorder: flight_recorder(collector),
    }
}

async fn check(collector: &Collector) -> Result<ExitCode> {
    let options = datapath_options(collector);
    let request = attach_request(collector);
    let table = bpf::check(&options, request, &collector.running.sysfs_root).await?;
    println!("{table}");
    for line in qp_watch_loop::check(collector) {
        println!("{line}");
    }
    Ok(ExitCode::SUCCESS)
}

async fn collect(collector: &Collector) -> Result<ExitCode> {
    let listener = listen(collector.listen).await?;
    // From here on a signal stops the collector in good order.
    let stop = stop_signal()?;
    let source = LinkSource::open(&collector.running.sysfs_root)?;
    let links = source.read(&collector.interfaces).await?;
    crate::attach::resolve(&links, &collector.interfaces)?;
    let mut datapath = Datapath::load(&datapath_options(collector))?;
    let statistics = bpf_stats(collector)?;
    let attachments = Attachments::attach(&mut datapath, &links, attach_request(collector))?;
    log_table(&attachments);
    // Nothing of it runs before the next await, so no thread of it keeps privileges.
    let probes = qp_watch_loop::attach(collector);
    let logs = LogSources::start(&collector.log_sources, LogLimits::default());
    privileges::drop_most().context("cannot drop privileges")?;

    let is_stopping = Arc::new(AtomicBool::new(false));
    let (publisher, status) = watch::channel(Arc::new(Status::default()));
    let (flows, questions) = sync_channel(QUESTIONS);
    let latest_links = Latest::default();
    let host = HostLoop::start(collector, status.clone(), Arc::clone(&is_stopping))?;
    let (inventory, changes) = InventoryLoop::start(collector, Arc::clone(&is_stopping))?;
    let queue_pairs = inventory.snapshot();
    let (qp_watch, failures) = QpWatchLoop::start(probes, Arc::clone(&is_stopping))?;
    let (records, log_records) = mpsc::channel(log_loop::MAX_RECORDS);
    let (incident_publisher, incidents) = watch::channel(Arc::default());
    let signals = SignalSources {
        logs: log_records,
        queue_pairs: changes,
        probes: failures,
        inventory: queue_pairs.clone(),
    };
    let sweeper = SweepLoop {
        datapath,
        attachments,
        statistics,
        links: latest_links.clone(),
        host: host.report(),
        inventory: queue_pairs.clone(),
        qp_watch: qp_watch.figures(),
        incidents: Incidents::new(signals, incident_settings(collector), incident_publisher),
        logs: (!collector.log_sources.is_empty()).then(|| Arc::clone(&logs.counters)),
        questions,
        publisher,
    };
    let sweeper = sweeper.start(collector, Arc::clone(&is_stopping))?;
    let watcher = tokio::spawn(links::watch(source, collector.interfaces.clone(), latest_links));
    let (stop_decoder, stopped) = oneshot::channel();
    let decoder = tokio::spawn(log_loop::decode(logs, records, stopped));
    tracing::info!("listening on http://{}", collector.listen);

    let answers = ServerState { status, flows, inventory: queue_pairs, incidents };
    let served = serve(listener, answers, stop).await;
    watcher.abort();
    // What it has begun to decode is told before the end.
    drop(stop_decoder);
    let has_decoded = decoder.await.is_ok();
    is_stopping.store(true, std::sync::atomic::Ordering::Relaxed);
    let is_sound = sweeper.join().is_ok()
        & host.join().is_ok()
        & inventory.join().is_ok()
        & qp_watch.join().is_ok()
        & has_decoded;
    served.context("the HTTP server failed")?;
    if !is_sound {
        return Err(anyhow!("a part of the collector panicked; see above"));
    }
    tracing::info!("stopped");
    Ok(ExitCode::SUCCESS)
}

async fn listen(address: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(address).await.map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => anyhow!(
            "cannot listen on {address}: it is in use, perhaps by another collector; choose one with \
             --listen"
        ),
        _ => anyhow!("cannot listen on {address}: {error}; choose another address with --listen"),
    })
}

/// Ends with the first SIGTERM or SIGINT.
fn stop_signal() -> Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("stopping");
    })
}

/// The flight recorder, if one is asked for. A folder that cannot be used is said, and may be mended later.
fn flight_recorder(collector: &Collector) -> Option<FlightRecorder> {
    let recording = &collector.recording;
    let folder = recording.record.clone()?;
    let interfaces = collector.interfaces.clone().into();
    let recorder = FlightRecorder::new(folder, recording.record_limit, interfaces);
    if let Err(error) = recorder.prepare() {
        let folder = recorder.folder().display();
        tracing::warn!(
            "--record {folder}: {error}; packets of incidents are not written until files can be put there"
        );
    }
    Some(recorder)
}

fn bpf_stats(collector: &Collector) -> Result<Option<bpf::RunStatistics>> {
    let statistics = collector.running.bpf_stats.then(bpf::RunStatistics::enable);
    Ok(statistics.transpose()?)
}

fn log_table(attachments: &Attachments) {
    for row in attachments.table().rows() {
        tracing::info!(
            interface = row.interface,
            direction = row.direction.name(),
            hook = row.hook.name(),
            mode = row.mode.name(),
            "{}",
            row.outcome
        );
    }
}
