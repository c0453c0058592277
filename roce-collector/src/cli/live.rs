//! `roce-trace live`.

use std::io::{self, BufWriter, IsTerminal};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, ValueEnum};
use tokio::runtime::Builder;

use super::MarkingArgs;
use super::trace::FilterArgs;
use crate::attach::{DirectionChoice, HookChoice};
use crate::http::MAX_LIMIT;
use crate::live::{
    CollectorAddress, LineFormat, OwnOptions, Pace, Question, Source, SourceOptions, Stop,
    watch_lines, watch_screen,
};

/// Show the flows of this node, with rates: worst trouble first
///
/// Asks the collector that runs on this node. Where none answers, loads and attaches its own programs to
/// the interfaces of --iface, which needs root, and detaches them at the end. Exit code: 0 when it ended
/// as asked, 2 on any error.
#[derive(Clone, Debug, Args)]
pub(super) struct LiveArgs {
    /// Interfaces to attach to where no collector answers, at most eight; with one, only their flows
    #[arg(long = "iface", value_name = "IF", value_delimiter = ',')]
    interfaces: Vec<String>,

    #[command(flatten)]
    filter: FilterArgs,

    /// Form of the output
    #[arg(long, value_enum, default_value_t)]
    format: LiveFormat,

    /// Collector to ask; "none" asks nobody
    #[arg(
        long,
        value_name = "URL",
        env = "ROCE_COLLECTOR",
        default_value = "http://127.0.0.1:9977",
        visible_alias = "listen-url",
        value_parser = collector
    )]
    collector: CollectorChoice,

    /// Hook to attach to
    #[arg(long, value_enum, default_value_t)]
    hook: HookChoice,

    /// Direction to look at
    #[arg(long, value_enum, default_value_t)]
    direction: DirectionChoice,

    /// Time between two samples, for example 500ms, 1s, 1m
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = interval)]
    interval: Duration,

    /// End after so many samples
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,

    /// End after this time
    #[arg(long, value_name = "TIME", conflicts_with = "count", value_parser = humantime::parse_duration)]
    duration: Option<Duration>,

    /// Flows shown, those in trouble first
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1000,
        value_parser = clap::value_parser!(u64).range(1..=MAX_LIMIT as u64)
    )]
    limit: u64,

    #[command(flatten)]
    marking: MarkingArgs,
}

/// Form of the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum LiveFormat {
    /// A screen that refreshes on a terminal, else as plain
    #[default]
    Table,
    /// Lines for people
    Plain,
    /// One JSON object a line for each sample
    Json,
}

/// Whom to ask.
#[derive(Clone, Debug)]
struct CollectorChoice(Option<CollectorAddress>);

/// Watches until told to stop.
pub(super) fn run(args: &LiveArgs) -> anyhow::Result<ExitCode> {
    let runtime =
        Builder::new_current_thread().enable_all().build().context("cannot start the runtime")?;
    runtime.block_on(watch(args))?;
    Ok(ExitCode::SUCCESS)
}

async fn watch(args: &LiveArgs) -> anyhow::Result<()> {
    let mut stop = Stop::new().context("cannot take signals")?;
    let filter = args.filter.filter();
    let question = Question { qp: filter.qp, peer: filter.peer };
    let pace = Pace { interval: args.interval, count: args.count, duration: args.duration };
    let options = SourceOptions {
        collector: args.collector.0.clone(),
        own: OwnOptions {
            interfaces: args.interfaces.clone(),
            hook: args.hook,
            direction: args.direction,
            marking: args.marking.policy(),
        },
        question,
        limit: args.limit as usize,
    };
    let mut source = tokio::select! {
        source = Source::find(options) => source?,
        () = stop.requested() => return Ok(()),
    };
    let stdout = io::stdout();
    let format = match args.format {
        LiveFormat::Table if stdout.is_terminal() && io::stdin().is_terminal() => {
            let is_unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
            watch_screen(&mut source, question, pace, !is_unwanted, &mut stop).await?;
            return Ok(());
        }
        LiveFormat::Table | LiveFormat::Plain => LineFormat::Plain,
        LiveFormat::Json => LineFormat::Json,
    };
    let mut out = BufWriter::new(stdout.lock());
    watch_lines(&mut source, question, pace, format, &mut out, &mut stop).await?;
    Ok(())
}

fn collector(text: &str) -> Result<CollectorChoice, String> {
    if text.eq_ignore_ascii_case("none") {
        return Ok(CollectorChoice(None));
    }
    let address = text.parse::<CollectorAddress>().map_err(|error| error.to_string())?;
    Ok(CollectorChoice(Some(address)))
}

fn interval(text: &str) -> Result<Duration, String> {
    const MIN: Duration = Duration::from_millis(100);
    const MAX: Duration = Duration::from_hours(24);
    let interval = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if interval < MIN || interval > MAX {
        return Err("expected 100ms to 1day".to_owned());
    }
    Ok(interval)
}
