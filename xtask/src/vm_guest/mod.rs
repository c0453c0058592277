//! `xtask vm-guest`: what this program does inside a guest of `cargo xtask test-vm`.

mod boot;

use anyhow::Result;
use roce_ebpf_object::Repository;

use crate::test_vm;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// The first process: mounts, runs what was ordered, powers off
    Boot,
    /// Loads and attaches every program
    Matrix,
    /// Runs scenarios
    Scenarios(test_vm::Order),
}

pub(crate) fn run(repository: &Repository, arguments: &Arguments) -> Result<()> {
    match &arguments.command {
        Command::Boot => boot::run(),
        Command::Matrix => test_vm::matrix(repository),
        Command::Scenarios(order) => test_vm::scenarios(order),
    }
}
