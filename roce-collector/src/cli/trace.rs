//! Command line of `roce-trace`.

use std::net::IpAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::{MarkingArgs, read};
use crate::read::FlowFilter;

/// What RoCE packets say about a fabric
#[derive(Debug, Parser)]
#[command(name = PROGRAM, version, max_term_width = 100)]
pub struct Trace {
    #[command(subcommand)]
    command: Command,
}

/// Name of the program in messages.
pub const PROGRAM: &str = "roce-trace";

#[derive(Debug, Subcommand)]
enum Command {
    Read(ReadArgs),
}

/// Read a capture file: flows, marking, congestion, NAKs
///
/// Takes pcap and pcapng, plain or gzip-compressed, with Ethernet, raw IP, loopback and Linux cooked
/// frames. Exit code: 0 when the file was read, also when it was cut off; 2 when it cannot be read, or
/// not to its end because it is damaged.
#[derive(Debug, Args)]
pub(super) struct ReadArgs {
    /// Capture file, "-" for standard input
    pub(super) file: PathBuf,

    #[command(flatten)]
    pub(super) filter: FilterArgs,

    /// Form of the output
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub(super) format: OutputFormat,

    /// Flow records kept, of about 2 kB (a flow takes up to three); packets of further flows are counted
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
            Command::Read(args) => read::run(args),
        }
    }
}

impl FilterArgs {
    pub(super) fn filter(self) -> FlowFilter {
        FlowFilter { qp: self.qp, peer: self.peer }
    }
}

fn qp_number(text: &str) -> Result<u32, String> {
    const MAX: u32 = 0x00ff_ffff;
    let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let number = match hexadecimal {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => text.parse(),
    };
    let number = number.ok().filter(|number| *number <= MAX);
    number.ok_or_else(|| {
        format!("expected a queue pair number from 0 to {MAX}, or from 0x0 to {MAX:#x}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        Trace::command().debug_assert();
    }

    #[test]
    fn queue_pairs_in_both_notations() {
        assert_eq!(qp_number("69"), Ok(69));
        assert_eq!(qp_number("0x45"), Ok(69));
        for bad in ["", "0x", "45h", "-1", "16777216", "0x1000000"] {
            assert!(qp_number(bad).is_err(), "{bad:?}");
        }
    }
}
