//! `cargo xtask test`: the tests, tier by tier.

mod cargo;
mod chart;
mod dashboard;
mod peers;
mod rules;
mod systemd;
mod tally;

use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use clap::ValueEnum;
use roce_ebpf_object::Repository;

use crate::setup::peers::{NETWORK, ensure_tools};
use crate::workspace::TestTarget;
use crate::{demo, lint, process, table, workspace};
use tally::Tally;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Tiers to run, in this order [default: all but lint and nightly]
    tiers: Vec<Tier>,
}

/// A group of tests that need the same things.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Tier {
    /// Format, clippy and the repository's rules
    Lint,
    /// Unit and property tests, and tests on files
    Unit,
    /// Frames through the loaded programs (root)
    Datapath,
    /// Interfaces in network namespaces (root)
    Netns,
    /// Other programs as judges: tshark, Prometheus, promtool, helm, systemd (root)
    Peers,
    /// The demo, with every figure compared with what was sent (root)
    Demo,
    /// A million random traces through the PSN engine, a log of 2 GiB; minutes, and not among the default tiers
    Nightly,
}

const DEFAULT_TIERS: [Tier; 5] = [Tier::Unit, Tier::Datapath, Tier::Netns, Tier::Peers, Tier::Demo];

struct Outcome {
    tier: Tier,
    result: Result<Tally>,
    time: Duration,
}

pub(crate) fn run(repository: &Repository, arguments: &Arguments) -> Result<()> {
    let targets = workspace::test_targets(repository)?;
    let chosen = !arguments.tiers.is_empty();
    let tiers = if chosen { arguments.tiers.as_slice() } else { &DEFAULT_TIERS };
    let mut outcomes = Vec::new();
    for &tier in tiers {
        if !chosen && !tier.exists(&targets) {
            continue;
        }
        println!("== {} ==", tier.name());
        let start = Instant::now();
        let result = tier.run(repository, &targets);
        if let Err(error) = &result {
            println!("{}: {error:#}", tier.name());
        }
        outcomes.push(Outcome { tier, result, time: start.elapsed() });
    }
    conclude(&outcomes)
}

impl Tier {
    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Whether an integration test belongs to this tier, by its name.
    fn owns(self, target: &TestTarget) -> bool {
        let name = &target.name;
        match self {
            Self::Datapath => name.starts_with("root_datapath"),
            Self::Netns => name.starts_with("root_") && !name.starts_with("root_datapath"),
            Self::Peers => name.starts_with("peer_"),
            Self::Lint | Self::Unit | Self::Demo | Self::Nightly => false,
        }
    }

    fn exists(self, targets: &[TestTarget]) -> bool {
        !matches!(self, Self::Datapath | Self::Netns)
            || targets.iter().any(|target| self.owns(target))
    }

    fn run(self, repository: &Repository, targets: &[TestTarget]) -> Result<Tally> {
        let own: Vec<_> =
            targets.iter().filter(|target| self.owns(target)).map(|it| it.name.as_str()).collect();
        match self {
            Self::Lint => lint::run(repository).map(|()| Tally::one_passed()),
            Self::Unit => cargo::unit(repository),
            Self::Datapath | Self::Netns => {
                ensure!(!own.is_empty(), "there are no tests of this tier");
                if !process::is_root() {
                    bail!(
                        "this tier needs root: run `sudo $(which cargo) xtask test {}`",
                        self.name()
                    );
                }
                ensure_tools(&NETWORK)?;
                cargo::alone(repository, &own)
            }
            Self::Peers => peers::run(repository, &own),
            Self::Demo => demo::once(repository).map(|()| Tally::one_passed()),
            Self::Nightly => cargo::nightly(repository),
        }
    }
}

/// One table, the totals, and an error when anything failed.
fn conclude(outcomes: &[Outcome]) -> Result<()> {
    let mut total = Tally::default();
    let mut rows = Vec::new();
    for Outcome { tier, result, time } in outcomes {
        let tally = match result {
            Ok(tally) => *tally,
            // What could not run is a failure, and is counted as one.
            Err(_) => Tally::one_failed(),
        };
        total += tally;
        let state = if tally.failed == 0 && tally.passed > 0 { "ok" } else { "FAILED" };
        let counts = [tally.passed, tally.failed].map(|count| count.to_string());
        let [passed, failed] = counts;
        rows.push([
            tier.name(),
            state.to_owned(),
            passed,
            failed,
            format!("{:.1} s", time.as_secs_f64()),
        ]);
    }
    println!();
    table::print(["tier", "result", "passed", "failed", "time"], &rows);
    println!("\n{} passed, {} failed", total.passed, total.failed);
    ensure!(rows.iter().all(|row| row[1] == "ok"), "a tier failed");
    Ok(())
}
