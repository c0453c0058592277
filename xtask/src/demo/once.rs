//! `--once`: all traffic, then every figure against what was sent.

use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use roce_testkit::scenario::{Scenario, demo};

use super::metrics::Metrics;
use super::{Lab, check, flows, interrupt, metrics};

/// About 7,000 frames.
const SCALE: u32 = 10;
/// Frames a second.
const RATE: u32 = 5_000;
/// Counters that have not moved for so long have stopped; sweeps come once a second.
const STILL: Duration = Duration::from_secs(3);
/// Time after which they should have.
const PATIENCE: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(200);
/// Differences that are shown.
const MAX_DIFFERENCES: usize = 50;

/// Metrics that are shown: names without `roce_` and `_total`.
const SHOWN: [&str; 8] = [
    "packets",
    "bytes",
    "ecn_packets",
    "dscp_packets",
    "cnp_packets",
    "nak_packets",
    "mismarked_packets",
    "flows",
];

pub(super) fn run(lab: &Lab<'_>) -> Result<()> {
    let scenarios = demo(SCALE);
    for scenario in &scenarios {
        println!("{:>6} frames  {}", scenario.frames.len(), scenario.name);
    }
    let all = Scenario::together("demo", scenarios);
    println!("playing {} frames, {RATE} a second", all.frames.len());
    let sent = lab.stage.play(&all.frames, RATE, || true)?;
    interrupt::check()?;
    ensure!(
        sent.frames == all.frames.len() as u64 && sent.dropped == 0,
        "the veth pair dropped {} of {} frames",
        sent.dropped,
        sent.frames
    );
    wait(lab, sent.frames)?;

    let (flows, metrics) = (flows::fetch(lab.address)?, metrics::fetch(lab.address)?);
    println!(
        "\nA NAK complains about a missing packet, and its receiver sends all from there on again.\n\
         CE is a congested switch's mark, a CNP the receiver's answer to the sender.\n\
         DSCP 0 that is not ECN-capable travels in a class that drops packets under load.\n"
    );
    flows::print(&flows);
    println!();
    print_metrics(&metrics);

    let mut differences = check::flows(&flows, &all.truth);
    differences.extend(check::metrics(&metrics, &all.truth));
    println!();
    if differences.is_empty() {
        println!(
            "demo: {} flows, {} packets, all equal to what was sent",
            all.truth.flows.len(),
            sent.frames
        );
        return Ok(());
    }
    for difference in differences.iter().take(MAX_DIFFERENCES) {
        println!("{difference}");
    }
    bail!("demo: {} figures differ from what was sent", differences.len());
}

/// Waits until all packets are counted, or the counters stand still.
fn wait(lab: &Lab<'_>, sent: u64) -> Result<()> {
    let start = Instant::now();
    let (mut last, mut since) = ((0, 0), Instant::now());
    while start.elapsed() < PATIENCE {
        interrupt::check()?;
        let packets = metrics::fetch(lab.address)?
            .into_iter()
            .filter(|(series, _)| series.name == "roce_packets_total")
            .map(|(_, value)| value as u64)
            .sum::<u64>();
        let now = (packets, flows::packets(&flows::fetch(lab.address)?));
        if now != last {
            (last, since) = (now, Instant::now());
        }
        if now == (sent, sent) || since.elapsed() > STILL {
            return Ok(());
        }
        interrupt::sleep(POLL);
    }
    bail!("the counters still move {PATIENCE:?} after the last frame")
}

fn print_metrics(metrics: &Metrics) {
    for (series, value) in metrics {
        let name = series.name.strip_prefix("roce_").unwrap_or(&series.name);
        let name = name.strip_suffix("_total").unwrap_or(name);
        if SHOWN.contains(&name) && *value != 0.0 {
            println!("{series} {value}");
        }
    }
}
