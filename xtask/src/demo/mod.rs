//! `cargo xtask demo`: the product at work on traffic of our own, without RDMA hardware.

pub(crate) mod build;
mod check;
mod flows;
mod forward;
mod interrupt;
mod metrics;
mod once;
mod stage;
mod truth;
mod watch;

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use roce_ebpf_object::Repository;
use roce_testkit::daemon::Daemon;
use roce_testkit::netns;

use crate::process;
use crate::setup::peers::{NETWORK, ensure_tools};
use forward::Forward;
use stage::Stage;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Play everything once, compare every figure with what was sent, exit with 0 or 1
    #[arg(long)]
    once: bool,
    /// Where this host serves the metrics [default: 127.0.0.1:9977; with --once any free port]
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// Seconds after which it ends by itself [default: on Ctrl-C]
    #[arg(long, value_name = "S", conflicts_with = "once")]
    duration: Option<u64>,
}

/// A running collector, and the way to it.
struct Lab<'a> {
    stage: &'a Stage,
    collector: Daemon<'a>,
    /// Where this host reaches the collector.
    address: SocketAddr,
    _forward: Forward,
}

pub(crate) fn run(repository: &Repository, arguments: &Arguments) -> Result<()> {
    if !process::is_root() {
        bail!(
            "the demo makes network namespaces and loads eBPF programs, which needs root: \
             run `sudo $(which cargo) xtask demo`"
        );
    }
    ensure_tools(&NETWORK)?;
    let programs = build::programs(repository)?;
    interrupt::catch()?;
    for name in netns::remove_stale()? {
        println!("removed network namespace {name}, which a killed run left behind");
    }

    let stage = Stage::set()?;
    let collector = stage.start_collector(&programs.collector)?;
    let port = if arguments.once { 0 } else { stage::COLLECTOR.port() };
    let listen = arguments.listen.unwrap_or((Ipv4Addr::LOCALHOST, port).into());
    let forward = Forward::start(stage.tap(), listen, stage::COLLECTOR)?;
    let lab = Lab { stage: &stage, collector, address: forward.address(), _forward: forward };
    lab.introduce();
    let outcome = if arguments.once {
        once::run(&lab)
    } else {
        watch::run(&lab, &programs.trace, arguments.duration.map(Duration::from_secs))
    };
    if outcome.is_err() && !interrupt::is_interrupted() {
        println!("\nlog of the collector:\n{}", lab.collector.output().trim());
    }
    let status = lab.collector.stop();
    outcome?;
    let status = status?;
    ensure!(status.success(), "the collector ended with {status}");
    Ok(())
}

/// The tier `demo` of `cargo xtask test`.
pub(crate) fn once(repository: &Repository) -> Result<()> {
    run(repository, &Arguments { once: true, listen: None, duration: None })
}

impl Lab<'_> {
    fn introduce(&self) {
        println!(
            "\nroce-collector {} looks at one end of a veth pair, as it would at a switch's mirror port.\n\
             metrics   http://{}/metrics\n\
             flows     http://{}/api/v1/flows\n\
             inside    sudo ip netns exec {} curl http://{}/metrics\n",
            self.collector.id(),
            self.address,
            self.address,
            self.stage.tap().name(),
            stage::COLLECTOR,
        );
    }
}
