//! `roce-trace`: what RoCE packets say about a fabric, live or in a capture file.

use std::process::ExitCode;

use clap::Parser;
use roce_collector::cli;
use roce_collector::cli::trace::{PROGRAM, Trace};

fn main() -> ExitCode {
    // A wrong command line ends here, with a message and exit code 2.
    let trace = Trace::parse();
    cli::exit_code(PROGRAM, trace.run())
}
