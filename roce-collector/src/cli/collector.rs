//! Command line and configuration file of `roce-collector`.

mod config;
mod one_line;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{ArgAction, Args, CommandFactory, FromArgMatches, Parser, ValueEnum};

use super::{FAILURE, InventoryArgs, MarkingArgs, complain};
use crate::attach::{DirectionChoice, HookChoice};
use crate::bpf::DatapathOptions;
use crate::logs::LogSource;

/// Name of the program in messages.
pub const PROGRAM: &str = "roce-collector";

/// Counts RoCE packets on live interfaces and serves them as metrics
///
/// Every option can also be set by a ROCE_ variable (--max-flows: ROCE_MAX_FLOWS) and by a line of the
/// configuration file (max-flows = 131072). The command line comes first, then the environment, then
/// the file. Exit code: 0 when stopped by a signal, or when --check succeeded; 2 on any error.
#[derive(Clone, Debug, Parser)]
#[command(name = PROGRAM, version, max_term_width = 100)]
pub struct Collector {
    /// Configuration file in TOML: names of options without the dashes, and their values
    #[arg(long, value_name = "FILE", env = "ROCE_CONFIG")]
    pub config: Option<PathBuf>,

    /// Load, attach, detach, and print what was possible; exit code 0 or 2
    #[arg(long)]
    pub check: bool,

    /// Interfaces to look at, at most eight
    #[arg(long = "iface", value_name = "IF", env = "ROCE_IFACE", value_delimiter = ',')]
    pub interfaces: Vec<String>,

    /// Hook to attach to
    #[arg(long, value_enum, env = "ROCE_HOOK", default_value_t)]
    pub hook: HookChoice,

    /// Direction to look at
    #[arg(long, value_enum, env = "ROCE_DIRECTION", default_value_t)]
    pub direction: DirectionChoice,

    /// Address to serve metrics at
    #[arg(
        long,
        value_name = "ADDRESS:PORT",
        env = "ROCE_LISTEN",
        default_value = "127.0.0.1:9977"
    )]
    pub listen: SocketAddr,

    /// IPv4 flow records of the kernel table (a flow takes up to three); a sixth as many of IPv6 and UD
    #[arg(long, value_name = "N", env = "ROCE_MAX_FLOWS", default_value_t = 131_072)]
    pub max_flows: u32,

    /// Time without a packet after which a flow leaves the table, as 300 or 5m
    #[arg(
        long,
        value_name = "TIME",
        env = "ROCE_FLOW_IDLE",
        default_value = "300s",
        value_parser = idle_time
    )]
    pub flow_idle: Duration,

    /// Pairs of hosts with metrics; further ones are counted together
    #[arg(long, value_name = "N", env = "ROCE_MAX_PEERS", default_value_t = 4096)]
    pub max_peers: u32,

    /// Queue pairs with metrics: the worst and the busiest
    #[arg(long, value_name = "N", env = "ROCE_QP_SERIES", default_value_t = 200)]
    pub qp_series: u32,

    /// Log to read error lines from: a file, a folder with the logs of pods, "journal", "kmsg" or "-"
    #[arg(
        long = "log-source",
        value_name = "PATH|journal|kmsg",
        env = "ROCE_LOG_SOURCE",
        value_delimiter = ','
    )]
    pub log_sources: Vec<LogSource>,

    /// JSON file with what both hosts of a failure count, read anew for each incident
    #[arg(long, value_name = "FILE", env = "ROCE_FACTS")]
    pub facts: Option<PathBuf>,

    #[expect(missing_docs, reason = "clap would show them in the place of the program's own")]
    #[command(flatten)]
    pub marking: MarkingArgs,

    #[expect(missing_docs, reason = "as above")]
    #[command(flatten)]
    pub recording: RecordingArgs,

    #[expect(missing_docs, reason = "as above")]
    #[command(flatten)]
    pub inventory: InventoryArgs,

    #[expect(missing_docs, reason = "as above")]
    #[command(flatten)]
    pub running: RunningArgs,
}

/// The flight recorder.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Flight recorder")]
pub struct RecordingArgs {
    /// Folder for the last packet headers of queue pairs that fail, one capture file an incident
    #[arg(long, value_name = "DIR", env = "ROCE_RECORD")]
    pub record: Option<PathBuf>,

    /// Size that these files have together, as 64MiB; the oldest are removed
    #[arg(
        long,
        value_name = "SIZE",
        env = "ROCE_RECORD_LIMIT",
        default_value = "64MiB",
        value_parser = size
    )]
    pub record_limit: u64,

    /// Queue pairs in trouble whose last 64 headers are kept at a time, in 8 KiB each
    #[arg(
        long,
        value_name = "N",
        env = "ROCE_RECORD_QPS",
        default_value_t = 512,
        value_parser = clap::value_parser!(u32).range(1..=DatapathOptions::MAX_RECORDERS.into())
    )]
    pub record_qps: u32,
}

/// How the daemon runs.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Running")]
pub struct RunningArgs {
    /// Form of the log on standard error
    #[arg(long, value_enum, env = "ROCE_LOG_FORMAT", default_value_t)]
    pub log_format: LogFormat,

    /// Measure the run time of the kernel programs; costs some time for each packet
    #[arg(
        long,
        value_name = "BOOL",
        env = "ROCE_BPF_STATS",
        action = ArgAction::Set,
        num_args = 0..=1,
        require_equals = true,
        default_value = "false",
        default_missing_value = "true"
    )]
    pub bpf_stats: bool,

    /// Folder in the place of /sys, for tests
    #[arg(long, value_name = "DIR", env = "ROCE_SYSFS_ROOT", default_value = "/sys", hide = true)]
    pub sysfs_root: PathBuf,
}

/// Form of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Lines for people
    #[default]
    Text,
    /// One JSON object a line
    Json,
}

impl Collector {
    /// Reads the command line, the environment and the configuration file.
    ///
    /// # Errors
    /// The exit code, when the program ends here: help was asked for, or something is wrong, which has
    /// been said then on standard error, one line for each error.
    pub fn from_command_line(
        arguments: impl IntoIterator<Item = OsString>,
    ) -> Result<Self, ExitCode> {
        let arguments: Vec<_> = arguments.into_iter().collect();
        parse(&arguments).map_err(|errors| match errors {
            Refusal::Help(error) => {
                let is_written = error.print().is_ok();
                if is_written { ExitCode::SUCCESS } else { ExitCode::from(FAILURE) }
            }
            Refusal::Errors(errors) => {
                for error in &errors {
                    complain(PROGRAM, error);
                }
                ExitCode::from(FAILURE)
            }
        })
    }
}

/// Why there are no settings.
#[derive(Debug)]
enum Refusal {
    /// Text that was asked for.
    Help(clap::Error),
    Errors(Vec<String>),
}

impl From<clap::Error> for Refusal {
    fn from(error: clap::Error) -> Self {
        if error.use_stderr() {
            Self::Errors(vec![one_line::of(&error)])
        } else {
            Self::Help(error)
        }
    }
}

fn parse(arguments: &[OsString]) -> Result<Collector, Refusal> {
    let command = Collector::command();
    let matches = command.clone().try_get_matches_from(arguments)?;
    let mut collector = Collector::from_arg_matches(&matches)?;
    if let Some(file) = &collector.config {
        let command = config::apply(command, file).map_err(Refusal::Errors)?;
        collector = Collector::from_arg_matches(&command.try_get_matches_from(arguments)?)?;
    }
    // An empty variable is what a unit file makes of one that is not set.
    collector.interfaces.retain(|name| !name.is_empty());
    collector.recording.record.take_if(|folder| folder.as_os_str().is_empty());
    collector.log_sources.retain(|source| *source != LogSource::Path(PathBuf::new()));
    Ok(collector)
}

/// Seconds, or a number with a unit. A sweep a second cannot tell less.
fn idle_time(text: &str) -> Result<Duration, String> {
    let time = match text.parse() {
        Ok(seconds) => Ok(Duration::from_secs(seconds)),
        Err(_) => humantime::parse_duration(text),
    };
    let bounds = Duration::from_secs(1)..=Duration::from_hours(24 * 365);
    time.ok()
        .filter(|time| bounds.contains(time))
        .ok_or_else(|| "expected a time of at least one second, as 300 or 5m".to_owned())
}

/// Bytes, or a number with a unit of powers of two.
fn size(text: &str) -> Result<u64, String> {
    let digits = text.find(|it: char| !it.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let shift = match unit.trim_start() {
        "" | "B" => Some(0),
        "K" | "KiB" => Some(10),
        "M" | "MiB" => Some(20),
        "G" | "GiB" => Some(30),
        _ => None,
    };
    number
        .parse::<u64>()
        .ok()
        .zip(shift)
        .and_then(|(number, shift)| number.checked_mul(1 << shift))
        .filter(|size| *size > 0)
        .ok_or_else(|| "expected a size above 0, as 67108864, 512KiB, 64MiB or 1GiB".to_owned())
}

#[cfg(test)]
mod tests;
