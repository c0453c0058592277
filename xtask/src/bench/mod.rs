//! `cargo xtask bench`: what one packet costs, as a ratio.
//!
//! A nanosecond here says little about another machine, and not much about this one a minute later.
//! So the product's XDP program runs in turn with the least that a program with a kernel hash map
//! could do, and the ratio of the two is the result. It is a figure to look at, never a test: the exit
//! code does not depend on it.

mod cpu;
mod machine;
mod measure;
mod report;
mod rotation;
mod statistics;
mod suite;
mod tables;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use roce_ebpf_object::{Object, Repository, build_bench};

use crate::process;
use measure::Plan;
use suite::Suite;

/// Flows that the packets belong to, each packet to another one than the last.
const FLOW_COUNTS: [u32; 4] = [1, 1_000, 10_000, 100_000];

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Product object to measure; give several to compare them in one run [default: the committed one]
    #[arg(long, value_name = "PATH")]
    object: Vec<PathBuf>,
    /// Size of the product's flow table, in flows
    #[arg(long, default_value_t = 131_072, value_parser = clap::value_parser!(u32).range(64..))]
    max_flows: u32,

    /// Recorders of the product, as `--record-qps`; 0 is without a flight recorder
    #[arg(long, default_value_t = 0)]
    recorders: u32,
    /// Rounds; in each, every program runs once
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Packets of one run; half as many with 100000 flows
    #[arg(long, default_value_t = 500_000, value_parser = clap::value_parser!(u32).range(1000..))]
    packets: u32,
    /// CPU to run on [default: the last one]
    #[arg(long)]
    cpu: Option<usize>,
    /// Leave out how long reading the tables takes
    #[arg(long)]
    no_tables: bool,
    /// How to print the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Format {
    Text,
    Json,
}

pub(crate) fn run(repository: &Repository, arguments: &Arguments) -> Result<()> {
    if !process::is_root() {
        bail!("loading eBPF programs needs root: run `sudo $(which cargo) xtask bench`");
    }
    let objects = product_objects(repository, arguments)?;
    let bench = build_bench(repository)?;
    let machine = machine::describe()?;
    cpu::pin(arguments.cpu.unwrap_or(machine.cpus - 1))?;

    let mut suite = Suite::load(&bench, &objects, arguments.max_flows, arguments.recorders)?;
    let mut measured = Vec::new();
    for flows in FLOW_COUNTS {
        ensure!(
            flows <= arguments.max_flows,
            "--max-flows {} has no room for the {flows} flows of the benchmark",
            arguments.max_flows
        );
        let packets = if flows < 100_000 { arguments.packets } else { arguments.packets / 2 };
        eprintln!("measuring {flows} flows ...");
        measured
            .push(measure::run(&mut suite, &Plan { flows, packets, rounds: arguments.rounds })?);
    }
    let tables = if arguments.no_tables { None } else { Some(tables::measure(&mut suite)?) };
    let report = report::Report { machine, measured, tables };
    match arguments.format {
        Format::Text => report.print(),
        Format::Json => println!("{}", serde_json::to_string_pretty(&report.to_json())?),
    }
    Ok(())
}

/// Objects with the names that their rows have.
fn product_objects(
    repository: &Repository,
    arguments: &Arguments,
) -> Result<Vec<(String, Vec<u8>)>> {
    let committed = [repository.prebuilt_object(Object::Datapath)];
    let paths = if arguments.object.is_empty() { &committed[..] } else { &arguments.object };
    let read = |path: &PathBuf| {
        let object = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Ok((name.trim_end_matches(".o").trim_end_matches(".bpf").to_owned(), object))
    };
    paths.iter().map(read).collect()
}
