//! `roce-collector`: counts RoCE packets on live interfaces and serves them as metrics.

use std::process::ExitCode;

use roce_collector::app;
use roce_collector::cli;
use roce_collector::cli::collector::{Collector, PROGRAM};

fn main() -> ExitCode {
    match Collector::from_command_line(std::env::args_os()) {
        Ok(collector) => cli::exit_code(PROGRAM, app::run(&collector)),
        Err(code) => code,
    }
}
