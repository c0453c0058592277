//! Other programs as judges of what we decode, export and deploy.

use anyhow::Result;
use roce_ebpf_object::Repository;

use super::tally::Tally;
use super::{cargo, chart, dashboard, rules, systemd};
use crate::setup::peers::{JUDGES, ensure_tools};

/// A check and what it shows.
type Check = (&'static str, fn(&Repository) -> Result<()>);

const CHECKS: [Check; 9] = [
    ("alert and recording rules are valid", rules::valid),
    ("alerts fire on faults and not on healthy traffic", rules::fire),
    ("every alert has a runbook", rules::explained),
    ("every query of the dashboard parses", dashboard::queries_parse),
    ("panels are described and free of made-up zeros", dashboard::panels),
    ("the chart renders and lints", chart::renders),
    ("Kubernetes accepts the manifests", chart::accepted),
    ("the chart refuses an empty interface list", chart::refuses_no_interface),
    ("the systemd unit is valid and confined", systemd::unit),
];

pub(super) fn run(repository: &Repository, tests: &[&str]) -> Result<Tally> {
    ensure_tools(&JUDGES)?;
    let mut tally =
        if tests.is_empty() { Tally::default() } else { cargo::alone(repository, tests)? };
    for (name, check) in CHECKS {
        match check(repository) {
            Ok(()) => {
                println!("check {name} ... ok");
                tally.passed += 1;
            }
            Err(error) => {
                println!("check {name} ... FAILED\n{error:#}");
                tally.failed += 1;
            }
        }
    }
    Ok(tally)
}
