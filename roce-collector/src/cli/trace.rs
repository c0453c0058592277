//! Command line of `roce-trace`.

use std::net::IpAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::explain::{self, ExplainArgs};
use super::live::{self, LiveArgs};
use super::{MarkingArgs, qp_number, read};
use crate::read::FlowFilter;

/// What RoCE packets say about a fabric
///
/// Without a command, the options are those of `live`: `roce-trace --qp 0x45` shows the live figures of
/// one queue pair.
#[derive(Debug, Parser)]
#[command(
    name = PROGRAM,
    version,
    max_term_width = 100,
    args_conflicts_with_subcommands = true,
    arg_required_else_help = true
)]
pub struct Trace {
    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    live: LiveArgs,
}

/// Name of the program in messages.
pub const PROGRAM: &str = "roce-trace";

#[derive(Debug, Subcommand)]
enum Command {
    Explain(ExplainArgs),
    Live(LiveArgs),
    Read(ReadArgs),
}

/// Read a capture file: flows, marking, congestion, NAKs, why queue pairs died
///
/// Takes pcap and pcapng, plain or gzip-compressed, with Ethernet, raw IP, loopback and Linux cooked
/// frames. Exit code: 0 when the file was read, also when it was cut off, and nothing died in it; 1 when
/// a queue pair died, gave up or stands still, by the packets or by the log; 2 when a file cannot be read,
/// or not to its end because it is damaged.
#[derive(Debug, Args)]
pub(super) struct ReadArgs {
    /// Capture file, "-" for standard input
    pub(super) file: PathBuf,

    #[command(flatten)]
    pub(super) filter: FilterArgs,

    /// Log of the job or of a host, plain or gzip-compressed: its errors are told with what the packets show
    #[arg(long, value_name = "LOG")]
    pub(super) log: Option<PathBuf>,

    /// What both hosts count and how they are set up, as JSON: docs/troubleshooting.md shows the form
    #[arg(long, value_name = "FILE")]
    pub(super) facts: Option<PathBuf>,

    /// Address of the host on which the capture was made: packets that it sends were seen before the wire.
    /// Left out: the capture was made in between
    #[arg(long, value_name = "IP")]
    pub(super) captured_on: Vec<IpAddr>,

    /// Form of the output
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub(super) format: OutputFormat,

    /// Flow records kept, of about 3 kB (a flow takes up to three); packets of further flows are counted
    /// together
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1_000_000,
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub(super) max_flows: u32,

    #[command(flatten)]
    pub(super) marking: MarkingArgs,
}

/// Which flows are asked for.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct FilterArgs {
    /// Only flows of this queue pair, decimal or 0x hexadecimal
    #[arg(long, value_name = "N", value_parser = qp_number)]
    qp: Option<u32>,

    /// Only flows from or to this address
    #[arg(long, value_name = "IP")]
    peer: Option<IpAddr>,
}

/// Form of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum OutputFormat {
    /// For people
    Text,
    /// One JSON object
    Json,
}

impl Trace {
    /// Does what was asked.
    ///
    /// # Errors
    /// What the program ends with: unreadable input, output that cannot be written.
    pub fn run(&self) -> anyhow::Result<ExitCode> {
        match &self.command {
            Some(Command::Explain(args)) => explain::run(args),
            Some(Command::Live(args)) => live::run(args),
            Some(Command::Read(args)) => read::run(args),
            None => live::run(&self.live),
        }
    }
}

impl FilterArgs {
    pub(super) fn filter(self) -> FlowFilter {
        FlowFilter { qp: self.qp, peer: self.peer }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        Trace::command().debug_assert();
    }
}
