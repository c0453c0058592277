//! `cargo xtask test-vm`: the collector against real RDMA traffic and real failures, in guests.
//!
//! Two parts. The matrix loads and attaches every eBPF program under every kernel. The scenarios make
//! queue pairs die in known ways and ask the collector why.

mod build;
mod matrix;
mod results;
mod scenario;

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use clap::ValueEnum;
use clap::builder::PossibleValue;
use roce_ebpf_object::Repository;

use crate::process;
use crate::setup::peers::{NETWORK, Tool, ensure_tools};
use crate::vm::{self, Kernel, Machine, Release};
use results::Results;

pub(crate) use matrix::run as matrix;
pub(crate) use scenario::{Order, run as scenarios};

/// Programs that the scenarios run, and their packages.
const TOOLS: [Tool; 6] = [
    Tool::new("rdma", "iproute2"),
    Tool::new("nft", "nftables"),
    Tool::new("tcpdump", "tcpdump"),
    Tool::new("ping", "iputils-ping"),
    Tool::new("ib_write_bw", "perftest"),
    Tool::new("cmake", "cmake"),
];

/// Where soft-RoCE works best: it has a socket for each namespace.
const DEFAULT_RELEASE: Release = Release::V7;
const BOOT_LIMIT: Duration = Duration::from_mins(6);
const MATRIX_LIMIT: Duration = Duration::from_mins(10);
/// Longest time that one run of a scenario may take, on a busy machine.
const RUN_LIMIT: Duration = Duration::from_mins(1);

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Runs of each scenario
    #[arg(long, default_value_t = 10)]
    runs: u32,
    /// Scenarios to run, by letter or name [default: all, and the matrix]
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Kernel [default: the matrix on all, the scenarios on 7.3]
    #[arg(long)]
    kernel: Option<Choice>,
    /// Run no scenarios
    #[arg(long, conflicts_with = "only")]
    matrix: bool,
    /// Folder for captures and logs [default: target/vm/out]
    #[arg(long)]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    One(Release),
    All,
}

impl ValueEnum for Choice {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::One(Release::V6_1), Self::One(Release::V6_12), Self::One(Release::V7), Self::All]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Self::One(release) => release.to_possible_value(),
            Self::All => Some(PossibleValue::new("all")),
        }
    }
}

impl Arguments {
    /// Kernels for the matrix and for the scenarios.
    fn kernels(&self) -> [Vec<Release>; 2] {
        let all = Release::value_variants().to_vec();
        let [matrix, scenarios] = match self.kernel {
            None => [all, vec![DEFAULT_RELEASE]],
            Some(Choice::One(release)) => [vec![release], vec![release]],
            Some(Choice::All) => [all.clone(), all],
        };
        [
            if self.only.is_empty() { matrix } else { Vec::new() },
            if self.matrix { Vec::new() } else { scenarios },
        ]
    }
}

pub(crate) fn run(repository: &Repository, arguments: &Arguments) -> Result<()> {
    if !process::is_root() {
        bail!("guests see this host's files as root does: run `sudo $(which cargo) xtask test-vm`");
    }
    scenario::check_names(&arguments.only)?;
    ensure_tools(&vm::TOOLS)?;
    ensure_tools(&NETWORK)?;
    ensure_tools(&TOOLS)?;
    let cache = repository.root().join("target/vm");
    let output = arguments.output.clone().unwrap_or_else(|| cache.join("out"));
    let [matrix, scenarios] = arguments.kernels();
    let programs = build::programs(repository, !scenarios.is_empty())?;

    let mut failed = Vec::new();
    for release in matrix {
        let shared = output.join(format!("matrix-{release}"));
        let machine = prepare(repository, release, shared, &programs)?;
        println!("== matrix on {release} ==");
        let words = ["vm-guest", "matrix"].map(str::to_owned);
        let outcome = machine.run(&words, BOOT_LIMIT + MATRIX_LIMIT);
        if !matches!(outcome, Ok(0)) {
            println!(
                "{}",
                outcome.map_or_else(|error| format!("{error:#}"), |it| format!("exit status {it}"))
            );
            failed.push(format!("matrix on {release}"));
        }
    }
    for release in scenarios {
        let shared = output.join(format!("scenarios-{release}"));
        let machine = prepare(repository, release, shared.clone(), &programs)?;
        println!("== scenarios on {release} ==");
        let words = Order::words(arguments.runs, &arguments.only);
        let runs = scenario::count(&arguments.only) * arguments.runs;
        let outcome = machine.run(&words, BOOT_LIMIT + RUN_LIMIT * runs);
        if let Err(error) = &outcome {
            println!("{error:#}");
        }
        // A guest that died left the results up to then.
        let results = Results::read(&shared)?;
        results.print();
        println!("captures and logs: {}", shared.display());
        let wrong = results.wrong();
        if !matches!(outcome, Ok(0)) || wrong > ALLOWED || results.count() < runs as usize {
            failed.push(format!("scenarios on {release}: {wrong} wrong of {runs}"));
        }
    }
    ensure!(failed.is_empty(), "{}", failed.join("; "));
    Ok(())
}

/// Wrong verdicts in all that are put up with: packets of a real kernel under emulation, not a model.
const ALLOWED: usize = 1;

fn prepare(
    repository: &Repository,
    release: Release,
    shared: PathBuf,
    programs: &[PathBuf],
) -> Result<Machine> {
    let cache = repository.root().join("target/vm");
    let kernel = Kernel::ensure(&cache, release)?;
    match fs::remove_dir_all(&shared) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("cannot empty {}", shared.display()));
        }
        _ => {}
    }
    fs::create_dir_all(&shared).with_context(|| format!("cannot create {}", shared.display()))?;
    Machine::prepare(&cache, kernel, shared, programs)
}
