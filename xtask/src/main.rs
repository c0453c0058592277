//! Developer commands: `cargo xtask COMMAND`.

mod bench;
mod build_ebpf;
mod demo;
mod lab;
mod lint;
mod process;
mod setup;
mod table;
mod test;
mod test_vm;
mod verify_ebpf;
mod vm;
mod vm_guest;
mod workspace;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(name = "cargo xtask", about = "Developer commands of this repository")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Find or install what building the eBPF object needs
    Setup(setup::Arguments),
    /// Build the eBPF objects from source and refresh the committed ones
    BuildEbpf(build_ebpf::Arguments),
    /// Load every eBPF program into this kernel and print what the verifier says
    VerifyEbpf(verify_ebpf::Arguments),
    /// Measure what one packet costs, against the least a program could do
    Bench(bench::Arguments),
    /// Show the product at work on generated traffic; needs root, no RDMA hardware
    Demo(demo::Arguments),
    /// Check format, clippy, and the repository's own rules
    Lint,
    /// Run the tests, tier by tier
    Test(test::Arguments),
    /// Run the collector against real RDMA traffic and failures, in guests with several kernels
    TestVm(test_vm::Arguments),
    /// What runs inside those guests
    #[command(hide = true)]
    VmGuest(vm_guest::Arguments),
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<()> {
    let repository = workspace::repository()?;
    match command {
        Command::Setup(arguments) => setup::run(&repository, &arguments),
        Command::BuildEbpf(arguments) => build_ebpf::run(&repository, &arguments),
        Command::VerifyEbpf(arguments) => verify_ebpf::run(&repository, &arguments),
        Command::Bench(arguments) => bench::run(&repository, &arguments),
        Command::Demo(arguments) => demo::run(&repository, &arguments),
        Command::Lint => lint::run(&repository),
        Command::Test(arguments) => test::run(&repository, &arguments),
        Command::TestVm(arguments) => test_vm::run(&repository, &arguments),
        Command::VmGuest(arguments) => vm_guest::run(&repository, &arguments),
    }
}
